#include "provisioner/agent/host_id.h"

#include <doctest/doctest.h>

#include "flexvolume/base/fd.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::provisioner::test {

using std::chrono::milliseconds;

TEST_CASE("a host's id is drawn once and kept") {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("state/flexlocal");
  const auto first = host_id(folder);
  REQUIRE(first);
  CHECK(first->size() == 32);
  CHECK(first->find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(*host_id(folder) == *first);
}

TEST_CASE("two hosts have different ids, and one that is set up anew is another host") {
  const TemporaryFolder one, other;
  const auto first = host_id(one.path());
  const auto second = host_id(other.path());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first != *second);
  REQUIRE(remove_file(one.path("host-id")));
  CHECK(*host_id(one.path()) != *first);
}

TEST_CASE("an id that is damaged is told, and not drawn anew over it") {
  const TemporaryFolder temporary;
  const std::string path = temporary.path("host-id");
  for (const std::string text : {"", "x", "0123456789abcdef", "0123456789abcdef0123456789abcdeg",
                                 "0123456789abcdef0123456789abcdef00"}) {
    REQUIRE(write_file_atomically(path, text, 0600));
    const auto id = host_id(temporary.path());
    CAPTURE(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().code() == ErrorCode::kCorrupt);
    CHECK(id.error().message() == path + " is damaged; remove it, and this host gets another id");
    CHECK(*read_file(path, Bytes(64)) == text);
  }
}

TEST_CASE("a folder that no id can be kept in is an error") {
  const TemporaryFolder temporary;
  REQUIRE(write_file_atomically(temporary.path("file"), "", 0600));
  CHECK_FALSE(host_id(temporary.path("file")));
}

TEST_CASE("of two daemons on one host the second is told that it is busy") {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path("locks");
  {
    const auto first = lock_host(folder, milliseconds(0));
    REQUIRE(first);
    const auto second = lock_host(folder, milliseconds(1));
    REQUIRE_FALSE(second);
    CHECK(second.error().code() == ErrorCode::kBusy);
    CHECK(second.error().message().find(
              "another node daemon works on this host; end that one first (") == 0);
    CHECK(second.error().message().find(folder + "/node-daemon") != std::string::npos);
  }
  CHECK(lock_host(folder, milliseconds(0)));
}

}  // namespace flexlocal::provisioner::test
