// Keys in line, shared out: kinds take turns, and within a kind its flows do, whose keys come in
// the order of their addition. So ten thousand keys of one flow do not hold up another's first, nor
// many flows another kind. A key is KIND:FLOW/REST; one without a colon is of the kind "", one
// without a slash of its kind's flow "". Flows are namespaces.
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
    Keys keys{};  // never empty
  };
  struct Kind {
    std::string name;
    std::list<Flow> turns{};  // never empty
    std::unordered_map<std::string, std::list<Flow>::iterator> flows{};
  };
  using Kinds = std::list<Kind>;

 public:
  // Where a key stands, until it is taken or erased.
  struct Place {
    Kinds::iterator kind;
    std::list<Flow>::iterator flow;
    Keys::iterator key;
  };

  Place add(const std::string& key) {
    const auto kind = find_or_add(kinds_, turns_, kind_of(key));
    const auto flow = find_or_add(kind->flows, kind->turns, flow_of(key));
    ++size_;
    return {kind, flow, flow->keys.insert(flow->keys.end(), key)};
  }

  void erase(const Place& place) {
    place.flow->keys.erase(place.key);
    --size_;
    if (place.flow->keys.empty()) end(*place.kind, place.flow);
    if (place.kind->turns.empty()) end(place.kind);
  }

  // The next key, which must be there.
  std::string take() {
    const auto kind = turns_.begin();
    const auto flow = kind->turns.begin();
    std::string key = std::move(flow->keys.front());
    flow->keys.pop_front();
    --size_;
    if (flow->keys.empty())
      end(*kind, flow);
    else
      kind->turns.splice(kind->turns.end(), kind->turns, flow);
    if (kind->turns.empty())
      end(kind);
    else
      turns_.splice(turns_.end(), turns_, kind);
    return key;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  static std::string kind_of(std::string_view key) {
    const auto colon = key.find(':');
    return std::string(key.substr(0, colon == std::string_view::npos ? 0 : colon));
  }
  static std::string flow_of(std::string_view key) {
    const auto slash = key.rfind('/');
    return std::string(key.substr(0, slash == std::string_view::npos ? 0 : slash));
  }

  // A new one comes last.
  template <typename Index, typename Turns>
  static typename Turns::iterator find_or_add(Index& index, Turns& turns, std::string name) {
    const auto found = index.find(name);
    if (found != index.end()) return found->second;
    const auto added = turns.insert(turns.end(), {name});
    index.emplace(std::move(name), added);
    return added;
  }

  static void end(Kind& kind, std::list<Flow>::iterator flow) {
    kind.flows.erase(flow->name);
    kind.turns.erase(flow);
  }
  void end(Kinds::iterator kind) {
    kinds_.erase(kind->name);
    turns_.erase(kind);
  }

  Kinds turns_;
  std::unordered_map<std::string, Kinds::iterator> kinds_;
  std::size_t size_ = 0;
};

}  // namespace flexlocal::kube
