// Keys of objects that are not as they are to stay, as far as is known: those alone are looked at
// again and again.
#pragma once

#include <set>
#include <string>

namespace flexlocal::provisioner {

class Restless {
 public:
  void insert(const std::string& key) { keys_.insert(key); }

  // look(key) says whether it is so still; it must not insert.
  template <typename Look>
  void scan(Look look) {
    std::erase_if(keys_, [&](const std::string& key) { return !look(key); });
  }

 private:
  std::set<std::string> keys_;
};

}  // namespace flexlocal::provisioner
