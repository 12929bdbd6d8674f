// Texts that many objects have in common, such as the names of namespaces, classes and nodes: each
// is kept once, for as long as an object has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace flexlocal::kube {

class Symbols {
 public:
  using Id = std::uint32_t;

  Symbols() = default;
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // The text's number. Each is to be given back once by release(); then another text may get it.
  Id take(std::string_view text);
  void release(Id id);

  // Until it is released.
  const std::string& text(Id id) const { return *entries_[id].text; }
  // How many there are.
  std::size_t size() const { return ids_.size(); }

 private:
  struct Entry {
    const std::string* text;  // the key in ids_, which never moves
    std::uint64_t uses;
  };

  std::unordered_map<std::string, Id> ids_;
  std::vector<Entry> entries_;
  std::vector<Id> free_;
};

}  // namespace flexlocal::kube
