#include "flexvolume/base/fd.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "test/unit/temporary_folder.h"

namespace flexlocal {
namespace {

TEST_CASE_FIXTURE(TemporaryFolder, "what was written is read back, and replaces what was there") {
  const std::string file = path("file");
  REQUIRE(write_file_atomically(file, "one", 0600).ok());
  REQUIRE(write_file_atomically(file, "two", 0600).ok());
  CHECK(*read_file(file) == "two");
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
}

// Opening a pipe waits for somebody at its other end, for ever if nobody comes.
TEST_CASE_FIXTURE(TemporaryFolder, "a pipe in a file's place is refused at once") {
  const std::string pipe = path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto content = read_file(pipe);
  REQUIRE_FALSE(content.ok());
  CHECK(content.error().code() == ErrorCode::kDenied);
  CHECK(content.error().message().find("is not a plain file") != std::string::npos);
  REQUIRE(::mkfifo(path("file.new").c_str(), 0600) == 0);
  CHECK_FALSE(write_file_atomically(path("file"), "x", 0600).ok());
  CHECK_FALSE(std::filesystem::exists(path("file")));
}

TEST_CASE_FIXTURE(TemporaryFolder, "a folder or a device in a file's place is refused, too") {
  CHECK(read_file(path()).error().code() == ErrorCode::kDenied);
  CHECK(read_file("/dev/zero").error().code() == ErrorCode::kDenied);
}

TEST_CASE("files of /proc are plain ones") {
  CHECK(read_file("/proc/self/mountinfo").ok());
  CHECK(read_file("/proc/self/stat").ok());
}

}  // namespace
}  // namespace flexlocal
