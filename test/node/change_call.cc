// Tells whether the node daemon would notice what a program does to the host's volumes, for the
// tests of the node tier:
//
//   change-call [--root=DIR] after PROGRAM ARGUMENT...    looks once it has ended
//   change-call [--root=DIR] during PROGRAM ARGUMENT...   waits for the first change, 60 s at most
//   change-call [--root=DIR] twice PROGRAM ARGUMENT...    as after; and armed anew, then looks
//   again
//
// The program is found by PATH. --root: as the node daemon's view of its host. Prints "changed",
// "unchanged", or why no change can be noticed; `twice`, two words. Exit status: 0; 1 where the
// program failed, or on wrong usage. " late" behind a word: it took half a minute and more.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "provisioner/agent/device_events.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kRoot = "--root=";
constexpr auto kAtOnce = std::chrono::milliseconds(200);
constexpr auto kLong = std::chrono::seconds(60);
// Whoever is not woken by a change finds it only when the time is over.
constexpr auto kLate = std::chrono::seconds(30);

// 0: it was not started.
pid_t start(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int failed = ::posix_spawnp(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ);
  return failed == 0 ? pid : 0;
}

bool has_succeeded(pid_t pid) {
  int status = 0;
  return pid != 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

Task<void> look(DeviceEvents& events, std::chrono::milliseconds most) {
  const auto begun = std::chrono::steady_clock::now();
  const auto changed = co_await events.wait(most);
  const bool late = std::chrono::steady_clock::now() - begun >= kLate;
  std::cout << (changed && *changed ? "changed" : "unchanged") << (late ? " late" : "");
}

void print_look(boost::asio::io_context& io, DeviceEvents& events, std::chrono::milliseconds most) {
  boost::asio::co_spawn(io, look(events, most), boost::asio::detached);
  io.restart();
  io.run();
}

bool run(const std::string& root, const std::string& when, const std::vector<std::string>& words) {
  boost::asio::io_context io;
  KernelDeviceEvents events(io, root);
  if (const Status armed = events.arm(); !armed) std::cout << armed.error().message() << '\n';
  const pid_t pid = start(words);
  bool ended = when != "during" && has_succeeded(pid);
  print_look(io, events, when == "during" ? kLong : kAtOnce);
  if (when == "during") ended = has_succeeded(pid);
  if (when == "twice") {
    std::cout << ' ';
    const Status armed = events.arm();
    print_look(io, events, kAtOnce);
    ended = ended && armed;
  }
  std::cout << '\n';
  return ended;
}

}  // namespace
}  // namespace flexlocal::provisioner

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string root;
  if (!words.empty() && words.front().starts_with(flexlocal::provisioner::kRoot)) {
    root = words.front().substr(flexlocal::provisioner::kRoot.size());
    words.erase(words.begin());
  }
  if (words.size() < 2) return 1;
  const std::string when = words.front();
  if (when != "after" && when != "during" && when != "twice") return 1;
  return flexlocal::provisioner::run(root, when, {words.begin() + 1, words.end()}) ? 0 : 1;
}
