// A folder that is gone after the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace flexlocal::kube::test {

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "kube-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace flexlocal::kube::test
