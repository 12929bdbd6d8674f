#include "flexvolume/base/program.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/lock.h"
#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The program under test runs programs without a shell; the tests use one as the program.
Command shell(const std::string& script, milliseconds deadline = seconds(20)) {
  return {"/bin/sh", {"-c", script}, deadline, {}};
}

// Ends what a test left on purpose; `line` is the process id as a shell printed it.
void end_process(const std::string& line) {
  const int pid = std::stoi(line);
  REQUIRE(pid > 1);
  ::kill(pid, SIGKILL);
}

TEST_CASE("exit code, stdout and stderr come back apart") {
  const auto output = ProcessRunner().run(shell("echo out; echo err >&2; exit 3"));
  REQUIRE(output.ok());
  CHECK(output->exit_code == 3);
  CHECK(output->out == "out\n");
  CHECK(output->err == "err\n");
}

TEST_CASE("arguments are handed over as they are") {
  const auto output =
      ProcessRunner().run({"/bin/echo", {"a b", "$HOME", "; rm -rf /"}, seconds(20), {}});
  REQUIRE(output.ok());
  CHECK(output->out == "a b $HOME ; rm -rf /\n");
}

TEST_CASE("variables that are asked for are beside the fixed ones, and instead of them") {
  Command command = shell("echo \"$LC_ALL,$PLACE,${LVM_SUPPRESS_FD_WARNINGS}\"");
  command.environment = {"PLACE=a b=c", "LC_ALL=de"};
  const auto output = ProcessRunner().run(command);
  REQUIRE(output.ok());
  CHECK(output->out == "de,a b=c,1\n");
}

TEST_CASE("a program that is no longer wanted is killed at once") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  writing.reset();
  Command command = shell("sleep 1000", seconds(1000));
  command.stop = reading.get();
  const auto output = ProcessRunner().run(command);
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code() == ErrorCode::kCancelled);
}

TEST_CASE("a program that is not there is named") {
  const auto output = ProcessRunner().run({"/nowhere/lvs", {}, seconds(20), {}});
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code() == ErrorCode::kNotFound);
  CHECK(output.error().message().find("/nowhere/lvs") != std::string::npos);
}

TEST_CASE("a program that hangs is killed with all that it started, and reaped") {
  const auto start = std::chrono::steady_clock::now();
  const auto output = ProcessRunner().run(shell("sleep 1000 & sleep 1000", milliseconds(100)));
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code() == ErrorCode::kDeadline);
  CHECK(std::chrono::steady_clock::now() - start < seconds(10));
}

TEST_CASE("a program that closes its streams and goes on is still waited for") {
  const auto output = ProcessRunner().run(shell("exec >&- 2>&-; sleep 0.1; exit 7"));
  REQUIRE(output.ok());
  CHECK(output->exit_code == 7);
}

TEST_CASE("a grandchild that keeps stdout open does not hold the caller") {
  const auto start = std::chrono::steady_clock::now();
  const auto output = ProcessRunner().run(shell("sleep 15 & echo $!"));
  REQUIRE(output.ok());
  CHECK(std::chrono::steady_clock::now() - start < seconds(10));
  end_process(output->out);
}

TEST_CASE("too much stdout is an error, too much stderr is dropped") {
  const ProcessLimits limits{.out = Bytes(1000), .err = Bytes(1000)};
  const auto flood = ProcessRunner({}, limits).run(shell("head -c 100000 /dev/zero"));
  CHECK_FALSE(flood.ok());
  const auto noise = ProcessRunner({}, limits).run(shell("head -c 1000000 /dev/zero >&2; echo ok"));
  REQUIRE(noise.ok());
  CHECK(noise->out == "ok\n");
  CHECK(noise->err.size() == 1000);
}

TEST_CASE("death by a signal is an error that says which") {
  const auto output = ProcessRunner().run(shell("kill -SEGV $$"));
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().message().find("signal 11") != std::string::npos);
}

TEST_CASE("the environment is fixed and stdin is empty") {
  ::setenv("FLEXLOCAL_LEAK", "1", 1);
  const auto output = ProcessRunner().run(shell("cat; env | grep -c LEAK; echo $LC_ALL"));
  ::unsetenv("FLEXLOCAL_LEAK");
  REQUIRE(output.ok());
  CHECK(output->out == "0\nC\n");
}

TEST_CASE("only the descriptors that are meant to be kept are inherited") {
  const int leak = ::open("/dev/null", O_RDONLY);  // on purpose without O_CLOEXEC
  const int kept = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  Command command = shell("ls -l /proc/$$/fd");
  command.keep = {kept};
  const auto output = ProcessRunner().run(command);
  ::close(leak);
  ::close(kept);
  REQUIRE(output.ok());
  CHECK(output->out.find("/dev/zero") != std::string::npos);
  CHECK(output->out.find(concat(' ', leak, " ->")) == std::string::npos);
}

TEST_CASE(
    "a lock outlives the caller in a program that keeps it, and waiting for it has a deadline") {
  const std::string path =
      std::filesystem::temp_directory_path() / concat("flexlocal-lock-", ::getpid());
  std::string grandchild;
  {
    const auto lock = FileLock::acquire(path, seconds(1));
    REQUIRE(lock.ok());
    const auto second = FileLock::acquire(path, milliseconds(20));
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code() == ErrorCode::kDeadline);
    Command command = shell("sleep 15 >&- 2>&- & echo $!");
    command.keep = {lock->fd()};
    const auto started = ProcessRunner().run(command);
    REQUIRE(started.ok());
    grandchild = started->out;
  }
  CHECK_FALSE(FileLock::acquire(path, milliseconds(20)).ok());
  end_process(grandchild);
  CHECK(FileLock::acquire(path, seconds(10)).ok());
  std::filesystem::remove(path);
}

// How often this process has the file open.
long open_count(const std::string& path) {
  long count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) == path) ++count;
  }
  return count;
}

TEST_CASE(
    "who waits for a lock whose file is taken away holds its successor, and nobody beside it") {
  const std::string path =
      std::filesystem::temp_directory_path() / concat("flexlocal-removed-lock-", ::getpid());
  std::optional<FileLock> first = *FileLock::acquire(path, seconds(1));
  Result<FileLock> second = Error(ErrorCode::kFailed, "not tried");
  std::thread waiting([&] { second = FileLock::acquire(path, seconds(10)); });
  while (open_count(path) < 2) std::this_thread::yield();
  first->remove_file();
  first.reset();
  waiting.join();
  REQUIRE(second.ok());
  CHECK(std::filesystem::exists(path));
  CHECK_FALSE(FileLock::acquire(path, milliseconds(20)).ok());
  second->remove_file();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("files are written whole or not at all") {
  const std::string path =
      std::filesystem::temp_directory_path() / concat("flexlocal-file-", ::getpid());
  REQUIRE(write_file_atomically(path, "one", 0600).ok());
  std::ofstream(path + ".new") << "left by a kill, and longer than what comes";
  std::filesystem::permissions(path + ".new", std::filesystem::perms(0666));
  REQUIRE(write_file_atomically(path, "two", 0600).ok());
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0600));
  CHECK(*read_file(path) == "two");
  CHECK_FALSE(std::filesystem::exists(path + ".new"));
  CHECK_FALSE(read_file(path, Bytes(2)).ok());
  CHECK(remove_file(path).ok());
  CHECK(remove_file(path).ok());
}

}  // namespace
}  // namespace flexlocal
