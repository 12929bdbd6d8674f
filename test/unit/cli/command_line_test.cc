#include "flexvolume/cli/command_line.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/node_config.h"

namespace flexlocal::cli {
namespace {

struct Answer {
  int status;
  std::string out;
  std::string err;
};

Answer ask(const std::vector<std::string>& arguments) {
  REQUIRE(is_cli_call(arguments));
  std::ostringstream out;
  std::ostringstream err;
  const int status = run_cli(arguments, out, err);
  return {status, out.str(), err.str()};
}

TEST_CASE("no call that kubelet makes or may make is taken for a person's") {
  // pkg/volume/flexvolume/driver-call.go
  for (const auto* call :
       {"init", "getvolumename", "isattached", "attach", "waitforattach", "detach", "mountdevice",
        "unmountdevice", "mount", "unmount", "expandvolume", "expandfs", "", "doctor\n", "Doctor"})
    CHECK_MESSAGE(!is_cli_call({call}), call);
  CHECK_FALSE(is_cli_call({}));
}

TEST_CASE("every command says its own usage, and the whole lists them all") {
  const Answer all = ask({"--help"});
  CHECK(all.status == 0);
  for (const std::string_view word : cli_words()) {
    CHECK(all.out.find(concat("flexlocal ", word)) != std::string::npos);
    const Answer one = ask({std::string(word), "--help"});
    CHECK(one.status == 0);
    CHECK(one.out.starts_with(concat("usage: flexlocal ", word)));
    CHECK(one.err.empty());
  }
}

TEST_CASE("wrong usage is 2, with the usage on standard error and nothing on standard output") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list", "extra"},
                                                    {"list", "--output", "yaml"},
                                                    {"list", "--outp", "json"},
                                                    {"list", "--plugin-dir", "/x"},
                                                    {"doctor", "--output"},
                                                    {"doctor", "--no\n-such"},
                                                    {"status"},
                                                    {"status", "a", "b"},
                                                    {"status", "../../etc"},
                                                    {"install"},
                                                    {"install", "relative/folder"},
                                                    {"uninstall", "relative"}}) {
    const Answer answer = ask(arguments);
    CHECK_MESSAGE(answer.status == 2, arguments.front());
    CHECK(answer.out.empty());
    CHECK(answer.err.starts_with("flexlocal: "));
    CHECK(answer.err.find('\n') == answer.err.size() - 1);
  }
}

// Beside this file's own folder, as the compiler was given it: make runs in the top folder.
std::string manual() {
  const std::string here = __FILE__;
  std::ifstream file(here.substr(0, here.rfind("test/")) + "flexvolume/flexlocal.8");
  return {std::istreambuf_iterator<char>(file), {}};
}

// "-" is "\-" there.
std::string in_manual(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
  return out;
}

TEST_CASE("the manual has every command") {
  const std::string page = manual();
  REQUIRE_FALSE(page.empty());
  for (const std::string_view word : cli_words())
    CHECK_MESSAGE(page.find(concat("flexlocal ", word)) != std::string::npos, word);
}

TEST_CASE("the manual has every key of node.conf") {
  const std::string page = manual();
  // The refusal of an unknown key lists those that are accepted.
  const auto refused = engine::parse_node_config("no-such-key = 1\n", "node.conf");
  REQUIRE_FALSE(refused.ok());
  const std::string& message = refused.error().message();
  const std::size_t list = message.find("accepted are ");
  REQUIRE(list != std::string::npos);
  int keys = 0;
  for (std::string_view key : split(std::string_view(message).substr(list + 13), ',')) {
    key = trim(key);
    if (const std::size_t bracket = key.find("] "); bracket != std::string_view::npos)
      key.remove_prefix(bracket + 2);
    if (key == "NAME = PATH") key = "tool";
    CHECK_MESSAGE(page.find(in_manual(key)) != std::string::npos, key);
    ++keys;
  }
  CHECK(keys >= 9);
}

TEST_CASE("the manual has every state of a volume and every member of the list") {
  const std::string page = manual();
  for (const std::string_view word :
       {"intent",     "new",        "ready",       "wiping",         "no-record", "no-volume",
        "bad-record", "foreign",    "mount-only",  "claimNamespace", "claimUID",  "clusterID",
        "backend",    "pool",       "volumeGroup", "fsType",         "device",    "sizeBytes",
        "usedBytes",  "wipedBytes", "mounts",      "podUID",         "notices"})
    CHECK_MESSAGE(page.find(in_manual(word)) != std::string::npos, word);
}

}  // namespace
}  // namespace flexlocal::cli
