#include "flexvolume/callout.h"

#include <doctest/doctest.h>

#include <fstream>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "flexvolume/installation.h"
#include "test/unit/engine/fake_host.h"
#include "test/unit/plugin/kubelet_call.h"

namespace flexlocal::plugin {
namespace {

using Fixture = KubeletCall;

TEST_CASE_FIXTURE(
    Fixture, "init answers without touching anything, with capabilities that kubelet can read") {
  const Answer answer = call({"init"});
  CHECK(answer.exit_code == 0);
  const auto document = JsonDocument::parse(answer.json);
  REQUIRE(document.ok());
  CHECK(document->root()["capabilities"].is_object());
  CHECK(document->root()["capabilities"]["attach"].boolean() == false);
  CHECK(asked == 0);
}

TEST_CASE_FIXTURE(Fixture, "mount and unmount succeed with one JSON object") {
  CHECK(status_of(call({"mount", folder(), options_json()})) == "Success");
  CHECK(fake.mounts.size() == 1);
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

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE(
    "installing makes, updates and keeps the one program, with no leftovers for kubelet to run") {
  engine::FakeHost fake;
  std::ofstream(fake.folder + "/v1") << "one";
  std::ofstream(fake.folder + "/v2") << "two";
  const std::string driver = fake.folder + "/exec/flexlocal.io~flexlocal";
  for (const auto* program : {"/v1", "/v1", "/v2"}) {
    REQUIRE(install(fake.folder + program, fake.folder + "/exec").ok());
    CHECK(content_of(driver + "/flexlocal") == content_of(fake.folder + program));
    int files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::recursive_directory_iterator(fake.folder + "/exec"))
      ++files;
    CHECK(files == 2);  // the driver's folder and the program
  }
  CHECK((std::filesystem::status(driver + "/flexlocal").permissions() &
         std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
}

TEST_CASE("an install that was killed before its rename is repeated") {
  engine::FakeHost fake;
  std::ofstream(fake.folder + "/v1") << "one";
  std::filesystem::create_directories(fake.folder + "/exec/.flexlocal.io~flexlocal");
  std::ofstream(fake.folder + "/exec/.flexlocal.io~flexlocal/flexlocal.new") << "o";
  REQUIRE(install(fake.folder + "/v1", fake.folder + "/exec").ok());
  CHECK(content_of(fake.folder + "/exec/flexlocal.io~flexlocal/flexlocal") == "one");
}

TEST_CASE("uninstalling refuses while volumes are mounted, and names them") {
  engine::FakeHost fake;
  std::ofstream(fake.folder + "/v1") << "one";
  REQUIRE(install(fake.folder + "/v1", fake.folder + "/exec").ok());
  const std::string mounted = "/var/lib/kubelet/pods/1/volumes/flexlocal.io~flexlocal/pvc-1";
  const auto refused =
      uninstall(fake.folder + "/exec", {{"253:0", "/", mounted, "xfs", "/dev/mapper/x", "rw"}});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kBusy);
  CHECK(refused.error().message().find(mounted) != std::string::npos);
  CHECK(uninstall(fake.folder + "/exec", {}).ok());
  CHECK(std::filesystem::is_empty(fake.folder + "/exec"));
}

}  // namespace
}  // namespace flexlocal::plugin
