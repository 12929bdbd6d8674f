#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mount_users.h"
#include "flexvolume/engine/quota/folder_removal.h"
#include "flexvolume/engine/quota/project_ids.h"
#include "flexvolume/engine/quota/quota_mark.h"
#include "flexvolume/engine/quota/quota_room.h"
#include "flexvolume/engine/quota/shared_file_system.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

namespace fs = std::filesystem;

ProjectQuota line(std::uint32_t id, Bytes limit, Bytes used) {
  return {.id = id, .limit = limit, .used = used};
}

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

TEST_CASE("limits count whole, unlimited data as it is, and the file system's own as well") {
  const std::vector<ProjectQuota> quotas = {line(0, {}, mib(10)),          // no project
                                            line(5, {}, mib(20)),          // no limit
                                            line(7, mib(100), mib(30)),    // a promise
                                            line(8, mib(100), mib(120))};  // limited too late
  const Capacity capacity{mib(1000), mib(1000 - 10 - 20 - 30 - 120 - 40), Bytes(4096)};
  const QuotaRoom room = quota_room(capacity, quotas, 100);
  CHECK(room.size == mib(1000));
  CHECK(room.taken == mib(10 + 20 + 100 + 120 + 40));
  CHECK(room.free() == mib(710));
  CHECK(quota_room(capacity, quotas, 250).size == mib(2500));
  CHECK(quota_room({mib(50), mib(50), {}}, quotas, 100).free() == Bytes(0));  // never below
}

TEST_CASE("limits are whole blocks; files are limited in proportion, with a least number") {
  CHECK(block_limit(Bytes(1), Bytes(4096)) == Bytes(4096));
  CHECK(block_limit(Bytes(8192), Bytes(4096)) == Bytes(8192));
  CHECK(inode_limit(mib(1)) == 4096);
  CHECK(inode_limit(Bytes(16 * kGiB.count())) == 1U << 20U);
}

TEST_CASE("project ids only go up, and skip what anyone uses") {
  struct Row {
    std::optional<std::uint32_t> counter;
    std::vector<ProjectQuota> quotas;
    std::uint32_t id;
  };
  const std::uint32_t first = kFirstProjectId;
  const ProjectQuota inodes_only{.id = first + 1, .limit = {}, .used = {}, .inodes = 1};
  const std::vector<Row> rows = {
      {{}, {}, first},                                             // a new file system
      {{}, {line(42, mib(1), {})}, first},                         // below our range
      {{}, {line(first + 9, {}, mib(1))}, first + 10},             // a lost counter
      {{}, {line(UINT32_MAX - 1, mib(1), {})}, first},             // a stranger at the top
      {3, {}, first},                                              // a counter that is wrong
      {first, {line(first, mib(1), {}), inodes_only}, first + 2},  // in use
      {first, {line(first, {}, {})}, first},                       // a line of nothing
      {first + 5, {line(first, mib(1), {})}, first + 5},           // never back
      {UINT32_MAX - 1, {}, UINT32_MAX - 1}};                       // the last
  for (const Row& row : rows) {
    const auto id = next_project_id(row.counter, row.quotas);
    REQUIRE(id.ok());
    CHECK(*id == row.id);
  }
  CHECK(next_project_id(UINT32_MAX, {}).error().code() == ErrorCode::kNoSpace);
  CHECK(next_project_id(UINT32_MAX - 1, {line(UINT32_MAX - 1, mib(1), {})}).error().code() ==
        ErrorCode::kNoSpace);
}

TEST_CASE("the counter gives no id twice, and a damaged one is begun anew") {
  FakeHost fake;
  const ProjectIdCounter counter(fake.folder + "/next");
  CHECK(*counter.take({}) == kFirstProjectId);
  CHECK(*counter.take({}) == kFirstProjectId + 1);
  REQUIRE(write_file_atomically(fake.folder + "/next", "12x", 0600).ok());
  CHECK(*counter.take({line(kFirstProjectId + 1, mib(1), {})}) == kFirstProjectId + 2);
}

TEST_CASE("a mark says whose a folder is, and nothing less than a whole one does") {
  const VolumeSpec spec = example_spec();
  const std::string text = to_mark(spec, 1048577);
  CHECK(text.size() < 256);  // it stays in an inode
  const auto mark = parse_mark(text);
  REQUIRE(mark.has_value());
  CHECK(owns(mark->owner, spec));
  CHECK(mark->owner.size == spec.size);
  CHECK(mark->project_id == 1048577);
  CHECK_FALSE(parse_mark("").has_value());
  CHECK_FALSE(parse_mark(to_mark(spec, 0)).has_value());
  CHECK_FALSE(parse_mark(text.substr(text.find(',') + 1)).has_value());
}

TEST_CASE("a shared file system is the whole of an XFS whose project quotas are enforced") {
  const auto code = [](const std::string& mount_line) {
    std::vector<MountEntry> table = {*parse_mount_line("17 1 7:0 / /srv rw - xfs /dev/sda rw")};
    if (!mount_line.empty()) table.push_back(*parse_mount_line(mount_line));
    const auto found = find_shared_mount(table, "/srv/fast");
    return found ? std::string("fit ") + found->source
                 : std::string(to_string(found.error().code()));
  };
  CHECK(code("18 1 7:1 / /srv/fast rw - xfs /dev/sdb rw,attr2,prjquota") == "fit /dev/sdb");
  CHECK(code("") == "unavailable");
  CHECK(code("18 1 7:1 / /srv/fast rw - ext4 /dev/sdb rw,prjquota") == "invalid");
  CHECK(code("18 1 7:1 /sub /srv/fast rw - xfs /dev/sdb rw,prjquota") == "invalid");
  CHECK(code("18 1 7:1 / /srv/fast rw - xfs /dev/sdb rw,noquota") == "invalid");
  CHECK(code("18 1 7:1 / /srv/fast rw - xfs /dev/sdb rw,pqnoenforce") == "invalid");
  CHECK(code("18 1 7:1 / /srv/fast rw - xfs /dev/sdb rw,prjquota\n"
             "19 18 0:9 / /srv/fast rw - tmpfs none rw") == "invalid");
}

TEST_CASE("a folder is in use where it, or something in it, is mounted") {
  const MountedFolder folder{"253:4", "/.flexlocal/volumes/a", "/srv/.flexlocal/volumes/a"};
  const auto used = [&](const std::string& mount_line) {
    return is_user(*parse_mount_line(mount_line), folder);
  };
  CHECK(used("18 1 253:4 /.flexlocal/volumes/a /pods/x rw - xfs /dev/sdb rw"));
  CHECK(used("18 1 253:4 /.flexlocal/volumes/a/sub /pods/x rw - xfs /dev/sdb rw"));
  CHECK(used("18 1 0:9 / /srv/.flexlocal/volumes/a/sub rw - tmpfs none rw"));
  CHECK_FALSE(used("18 1 253:4 / /srv rw - xfs /dev/sdb rw"));
  CHECK_FALSE(used("18 1 253:4 /.flexlocal/volumes/ab /pods/x rw - xfs /dev/sdb rw"));
  CHECK_FALSE(used("18 1 253:5 /.flexlocal/volumes/a /pods/x rw - xfs /dev/sdc rw"));
}

TEST_CASE("all processes' tables are looked at, and a table that cannot be read is no proof") {
  FakeHost fake;
  const std::string proc = fake.folder + "/proc";
  const auto add_process = [&](const std::string& number, const std::string& table) {
    fs::create_directories(concat(proc, '/', number, "/ns"));
    std::ofstream(concat(proc, '/', number, "/ns/mnt"));
    std::ofstream(concat(proc, '/', number, "/mountinfo")) << table;
  };
  const MountedFolder folder{"253:4", "/v", "/srv/v"};
  add_process("1", "18 1 253:4 / /srv rw - xfs /dev/sdb rw\n");
  fs::create_directories(proc + "/self/ns");
  fs::create_directories(proc + "/99");  // it has ended: no namespace
  CHECK(find_user_anywhere(proc, folder)->has_value() == false);
  add_process("17", "18 1 253:4 /v/sub /mnt rw - xfs /dev/sdb rw\n");
  CHECK(**find_user_anywhere(proc, folder) == "/mnt of process 17");
  fs::remove(proc + "/17/mountinfo");
  CHECK_FALSE(find_user_anywhere(proc, folder).ok());
  CHECK_FALSE(find_user_anywhere(fake.folder + "/nothing", folder).ok());
}

// On the real /proc: a child whose first thread has ended, while another one goes on.
TEST_CASE("a process whose first thread has ended is a user like others") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    pthread_t thread;
    if (::pthread_create(
            &thread, nullptr,
            [](void*) -> void* {
              for (;;) ::pause();
            },
            nullptr) != 0)
      ::_exit(1);
    ::syscall(SYS_exit, 0);  // this thread alone
  }
  const std::string number = concat(child);
  const auto is_zombie = [&] {
    const auto status = read_file(concat("/proc/", number, "/status"));
    return status && status->find("State:\tZ") != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_zombie() && std::chrono::steady_clock::now() < end) ::sched_yield();
  CHECK(is_zombie());
  int visits = 0;
  const auto visited = visit_users(
      "/proc", [&](const std::string& process) { return process == number; },
      [](const MountEntry& entry) { return entry.mount_point == "/"; },
      [&](const std::string&, const std::string&) {
        ++visits;
        return Visit::kGoOn;
      });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(visited.ok());
  CHECK(visits == 1);
}

struct Heap {
  Heap() { fs::create_directories(path); }
  UniqueFd open() const {
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  FakeHost fake;
  std::string path = fake.folder + "/heap";
};

TEST_CASE_FIXTURE(Heap, "a heap is emptied: wide, deeper than paths are long, links not followed") {
  const std::string outside = fake.folder + "/outside";
  std::ofstream(outside) << "precious";
  fs::create_directories(path + "/volume/sub/sub");
  fs::create_symlink(outside, path + "/volume/link");
  fs::create_directory_symlink(fake.folder, path + "/volume/sub/up");
  for (int i = 0; i < 2000; ++i) std::ofstream(concat(path, "/volume/file", i));
  UniqueFd at(::open((path + "/volume").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 5000; ++i) {
    REQUIRE(::mkdirat(at.get(), "deep", 0700) == 0);
    at = UniqueFd(::openat(at.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const auto emptied = empty_heap(open(), [] { return false; });
  REQUIRE(emptied.ok());
  CHECK(*emptied);
  CHECK(fs::is_empty(path));
  CHECK(fs::exists(outside));
}

// Its folders are named by whoever filled it, also as those that are moved up could be.
TEST_CASE_FIXTURE(Heap, "what lies in the heap itself is removed, whatever it is called") {
  std::ofstream(path + "/file") << "x";
  fs::create_directories(path + "/a/b/c");
  fs::create_directories(path + "/d/e/f");
  const auto inode = [&](const char* name) {
    struct stat status {};
    REQUIRE(::stat((path + name).c_str(), &status) == 0);
    return concat(status.st_ino);
  };
  // Each bears the name of the other's folder.
  const std::string first = inode("/a/b");
  const std::string second = inode("/d/e");
  fs::rename(path + "/a", concat(path, '/', second));
  fs::rename(path + "/d", concat(path, '/', first));
  const auto emptied = empty_heap(open(), [] { return false; });
  REQUIRE(emptied.ok());
  CHECK(*emptied);
  CHECK(fs::is_empty(path));
}

TEST_CASE_FIXTURE(Heap, "emptying a heap stops when it is late, and goes on later") {
  for (int i = 0; i < 50; ++i) fs::create_directories(concat(path, "/volume/", i, "/sub"));
  int rounds = 0;
  for (bool done = false; !done; ++rounds) {
    int steps = 0;
    const auto emptied = empty_heap(open(), [&] { return ++steps > 7; });
    REQUIRE(emptied.ok());
    REQUIRE(rounds < 1000);
    done = *emptied;
  }
  CHECK(rounds > 10);
  CHECK(fs::is_empty(path));
}

}  // namespace
}  // namespace flexlocal::engine
