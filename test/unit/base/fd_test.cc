#include "flexvolume/base/fd.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

namespace flexlocal {
namespace {

struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "flexlocal-unit-XXXXXX").string();
  Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return path + '/' + name; }
};

TEST_CASE_FIXTURE(Folder, "what was written is read back, and replaces what was there") {
  const std::string file = *this / "file";
  REQUIRE(write_file_atomically(file, "one", 0600).ok());
  REQUIRE(write_file_atomically(file, "two", 0600).ok());
  CHECK(*read_file(file) == "two");
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
}

// Opening a pipe waits for somebody at its other end, for ever if nobody comes.
TEST_CASE_FIXTURE(Folder, "a pipe in a file's place is refused at once") {
  const std::string pipe = *this / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto content = read_file(pipe);
  REQUIRE_FALSE(content.ok());
  CHECK(content.error().code() == ErrorCode::kDenied);
  CHECK(content.error().message().find("is not a plain file") != std::string::npos);
  REQUIRE(::mkfifo((*this / "file.new").c_str(), 0600) == 0);
  CHECK_FALSE(write_file_atomically(*this / "file", "x", 0600).ok());
  CHECK_FALSE(std::filesystem::exists(*this / "file"));
}

TEST_CASE_FIXTURE(Folder, "a folder or a device in a file's place is refused, too") {
  CHECK(read_file(path).error().code() == ErrorCode::kDenied);
  CHECK(read_file("/dev/zero").error().code() == ErrorCode::kDenied);
}

TEST_CASE("files of /proc are plain ones") {
  CHECK(read_file("/proc/self/mountinfo").ok());
  CHECK(read_file("/proc/self/stat").ok());
}

}  // namespace
}  // namespace flexlocal
