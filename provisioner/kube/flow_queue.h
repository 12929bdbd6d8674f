// Keys in line, shared out between flows: those of a flow come in the order of their addition, and
// flows take turns. So ten thousand keys of one flow do not hold up another's first. Keys are of
// one flow that are the same up to their last slash: a namespace's objects.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace flexlocal::kube {

class FlowQueue {
  using Keys = std::list<std::string>;
  struct Flow {
    std::string name;
    Keys keys;  // never empty
  };
  using Flows = std::list<Flow>;

 public:
  // Where a key stands, until it is taken or erased.
  struct Place {
    Flows::iterator flow;
    Keys::iterator key;
  };

  Place add(const std::string& key) {
    const std::string name(flow_of(key));
    auto found = flows_.find(name);
    if (found == flows_.end())
      found = flows_.emplace(name, turns_.insert(turns_.end(), Flow{name, {}})).first;
    Keys& keys = found->second->keys;
    ++size_;
    return {found->second, keys.insert(keys.end(), key)};
  }

  void erase(const Place& place) {
    place.flow->keys.erase(place.key);
    --size_;
    if (place.flow->keys.empty()) end(place.flow);
  }

  // The next key, which must be there: the first of the flow whose turn it is.
  std::string take() {
    const auto flow = turns_.begin();
    std::string key = std::move(flow->keys.front());
    flow->keys.pop_front();
    --size_;
    if (flow->keys.empty())
      end(flow);
    else
      turns_.splice(turns_.end(), turns_, flow);
    return key;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  // Without a slash: "".
  static std::string_view flow_of(std::string_view key) {
    const auto slash = key.rfind('/');
    return key.substr(0, slash == std::string_view::npos ? 0 : slash);
  }

  void end(Flows::iterator flow) {
    flows_.erase(flow->name);
    turns_.erase(flow);
  }

  Flows turns_;
  std::unordered_map<std::string, Flows::iterator> flows_;
  std::size_t size_ = 0;
};

}  // namespace flexlocal::kube
