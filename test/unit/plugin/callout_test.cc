#include "flexvolume/callout.h"

#include <doctest/doctest.h>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"
#include "test/unit/plugin/kubelet_call.h"

namespace flexlocal::plugin {
namespace {

using Fixture = KubeletCall;

TEST_CASE_FIXTURE(
    Fixture, "init leaves its mark and touches nothing else; kubelet can read its capabilities") {
  const Answer answer = call({"init"});
  CHECK(answer.exit_code == 0);
  CHECK(marks == 1);
  const auto document = JsonDocument::parse(answer.json);
  REQUIRE(document.ok());
  CHECK(document->root()["capabilities"].is_object());
  CHECK(document->root()["capabilities"]["attach"].boolean() == false);
  CHECK(asked == 0);
}

TEST_CASE_FIXTURE(Fixture, "a mark that cannot be left is logged, and init answers the same") {
  const Answer before = call({"init"});
  CHECK(fake.log_lines.empty());
  mark_left = Error(ErrorCode::kNoSpace, "writing the mark: no space left on device");
  const Answer answer = call({"init"});
  CHECK(answer.exit_code == 0);
  CHECK(answer.json == before.json);
  REQUIRE(fake.log_lines.size() == 1);
  CHECK(fake.log_lines.back().find("no space left") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "mount and unmount succeed with one JSON object") {
  CHECK(status_of(call({"mount", folder(), options_json()})) == "Success");
  CHECK(fake.mounts.size() == 1);
  CHECK(status_of(call({"unmount", folder()})) == "Success");
  CHECK(fake.mounts.empty());
}

// A typing error that is made while pods run must not keep them from their end.
struct WithoutConfig : KubeletCall {
  bool broken = false;
  Result<engine::Engine*> engine() override {
    if (broken) return Error(ErrorCode::kInvalid, "node.conf: key typo: not known");
    return KubeletCall::engine();
  }
};

TEST_CASE_FIXTURE(WithoutConfig, "unmount does its work where node.conf cannot be used") {
  REQUIRE(status_of(call({"mount", folder(), options_json()})) == "Success");
  broken = true;
  CHECK(status_of(call({"unmount", folder()})) == "Success");
  CHECK(fake.mounts.empty());
  CHECK(status_of(call({"mount", folder(), options_json()})) == "Failure");
}

TEST_CASE_FIXTURE(Fixture, "unmount goes by the folder, whatever node.conf calls kubelet's") {
  REQUIRE(status_of(call({"mount", folder(), options_json()})) == "Success");
  config.kubelet_dir = "/somewhere/else";
  CHECK(status_of(call({"unmount", folder()})) == "Success");
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(Fixture, "every other call is Not supported, to the letter") {
  for (const auto* name :
       {"attach", "detach", "waitforattach", "isattached", "getvolumename", "mountdevice",
        "unmountdevice", "expandvolume", "", "--mount", "mount\n"}) {
    const Answer answer = call({name, folder(), "{}"});
    CHECK(status_of(answer) == "Not supported");
    CHECK(answer.exit_code != 0);
  }
  CHECK(untouched());
}

TEST_CASE_FIXTURE(Fixture, "a wrong number of arguments is Failure with the usage") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"mount"},
                                                    {"mount", folder()},
                                                    {"mount", folder(), "{}", "x"},
                                                    {"unmount"},
                                                    {"unmount", "a", "b"}})
    CHECK(status_of(call(arguments)) == "Failure");
  CHECK(untouched());
}

// A log line without the figure that differs from call to call.
std::string without_duration(const std::string& line) {
  const std::size_t at = line.find("duration_ms=");
  REQUIRE(at != std::string::npos);
  const std::size_t end = line.find(' ', at);
  return line.substr(0, at + 12) + (end == std::string::npos ? "" : line.substr(end));
}

TEST_CASE_FIXTURE(Fixture, "each call leaves one line that says for whom, what and how long") {
  const std::string volume = engine::example_spec().name.text();
  const std::string mounted =
      options_json({{"kubernetes.io/pod.name", "web-0"}, {"kubernetes.io/pod.uid", "77aa"}});
  call({"mount", folder(), mounted});
  CHECK(without_duration(fake.log_lines.back()) ==
        concat("level=info msg=\"call done\" volume=", volume,
               " pod=web-0 pod_uid=77aa namespace=shop callout=mount duration_ms="));
  call({"unmount", folder()});
  CHECK(without_duration(fake.log_lines.back()) ==
        concat("level=info msg=\"call done\" volume=", volume,
               " pod=\"\" pod_uid=4f0e namespace=\"\" callout=unmount duration_ms="));
}

TEST_CASE_FIXTURE(Fixture, "what the engine does along the way is logged with the volume") {
  call({"mount", folder(), options_json()});
  REQUIRE(fake.log_lines.size() > 1);
  for (const std::string& line : fake.log_lines)
    CHECK_MESSAGE(
        line.find(concat(" volume=", engine::example_spec().name.text())) != std::string::npos,
        line);
}

TEST_CASE_FIXTURE(Fixture, "refusals are logged with what the caller claims, on one short line") {
  const std::string evil = "pvc-1\nlevel=info" + std::string(5000, 'x');
  struct Refusal {
    std::vector<std::string> arguments;
    std::string said;
  };
  for (const Refusal& refusal :
       {Refusal{{"mount", folder()}, "pod_uid=4f0e"},
        {{"mount", folder(), "{"}, "pod_uid=4f0e"},
        {{"mount", folder(), options_json({{"kubernetes.io/pod.namespace", "thief"}})},
         "namespace=thief"},
        {{"mount", folder(), options_json({{"kubernetes.io/pvOrVolumeName", evil}})},
         "volume=\"pvc-1?level=info"},
        {{"mount", folder(), options_json({{"flexlocal.io/copy", "0000000000000000"}})},
         "code=denied"},
        {{"unmount"}, "code=invalid"},
        {{"expandfs", options_json({{"kubernetes.io/pod.name", "web-7"}}), "", folder(), "x", "1"},
         "pod=web-7 pod_uid=4f0e namespace=shop callout=expandfs"},
        {{"unmount", "/etc"}, "volume=etc"}}) {
    fake.log_lines.clear();
    call(refusal.arguments);
    REQUIRE(fake.log_lines.size() == 1);
    const std::string& line = fake.log_lines.front();
    CHECK_MESSAGE(line.find(refusal.said) != std::string::npos, line);
    CHECK(line.starts_with("level=error msg=\"call failed\" volume="));
    CHECK(line.find(concat("callout=", refusal.arguments[0], " duration_ms=")) !=
          std::string::npos);
    CHECK(line.size() < 2000);
    CHECK(line.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace flexlocal::plugin
