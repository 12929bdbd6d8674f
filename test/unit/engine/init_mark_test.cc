#include "flexvolume/engine/volume/init_mark.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::engine {
namespace {

namespace fs = std::filesystem;

struct Fixture : TemporaryFolder {
  const std::string folder = path("run/flexlocal");
  const std::string file = folder + "/kubelet-init";

  void put(std::string_view content) {
    REQUIRE(make_folders(folder).ok());
    REQUIRE(write_file_atomically(file, content, 0644).ok());
  }
  bool is_no_mark() const {
    const auto mark = read_init_mark(folder);
    return !mark && mark.error().code() == ErrorCode::kCorrupt &&
           mark.error().message().starts_with(file);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the mark says the version, and nothing is left beside it") {
  CHECK(*read_init_mark(folder) == std::nullopt);
  for (int call = 0; call < 2; ++call) {
    REQUIRE(leave_init_mark(folder).ok());
    CHECK(*read_init_mark(folder) == InitMark(version()));
    CHECK(*read_file(file) == concat(version(), '\n'));
    CHECK(files() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "the mark of another version is read, and replaced") {
  put("v0.1.0-3-gabcdef0\n");
  CHECK(*read_init_mark(folder) == InitMark("v0.1.0-3-gabcdef0"));
  REQUIRE(leave_init_mark(folder).ok());
  CHECK(*read_init_mark(folder) == InitMark(version()));
}

TEST_CASE_FIXTURE(Fixture, "what is no mark is called so, and the next call replaces it") {
  for (const std::string& content :
       {std::string(), std::string("\n \n"), std::string("v1\0v2\n", 6), std::string("v1\nv2\n"),
        std::string("\xff\xfe"), std::string(129, 'x'), std::string(1 << 20, 'x')}) {
    put(content);
    CHECK(is_no_mark());
    REQUIRE(leave_init_mark(folder).ok());
    CHECK(*read_init_mark(folder) == InitMark(version()));
  }
}

TEST_CASE_FIXTURE(Fixture, "a link is neither read nor written through") {
  REQUIRE(make_folders(folder).ok());
  const std::string other = path("other");
  REQUIRE(write_file_atomically(other, "precious\n", 0644).ok());
  for (const std::string& link : {file, concat(file, '.', ::getpid())}) {
    REQUIRE(::symlink(other.c_str(), link.c_str()) == 0);
    if (link == file) CHECK(is_no_mark());
    REQUIRE(leave_init_mark(folder).ok());
    CHECK(*read_init_mark(folder) == InitMark(version()));
    CHECK(*read_file(other) == "precious\n");
    CHECK(files() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "a pipe is not waited for, and a folder in the mark's place stays") {
  REQUIRE(make_folders(folder).ok());
  for (const std::string& pipe : {file, concat(file, '.', ::getpid())}) {
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    if (pipe == file) CHECK(is_no_mark());
    REQUIRE(leave_init_mark(folder).ok());
    CHECK(*read_init_mark(folder) == InitMark(version()));
  }
  REQUIRE(fs::remove(file));
  REQUIRE(make_folders(file).ok());
  CHECK(is_no_mark());
  CHECK_FALSE(leave_init_mark(folder).ok());
  CHECK(files() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a folder that cannot be made is a failure in words") {
  REQUIRE(write_file_atomically(path("run"), "", 0644).ok());
  const Status left = leave_init_mark(folder);
  REQUIRE_FALSE(left.ok());
  CHECK(left.error().message().find(folder) != std::string::npos);
  CHECK_FALSE(read_init_mark(folder).ok());
}

}  // namespace flexlocal::engine
