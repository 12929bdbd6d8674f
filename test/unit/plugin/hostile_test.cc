// Input of somebody who means harm: any pod's author writes options, and a name for the volume.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "test/unit/plugin/kubelet_call.h"

namespace flexlocal::plugin {
namespace {

using Strings = std::vector<std::string>;

struct Hostile : KubeletCall {
  // A Failure in one short line of JSON (so: UTF-8 as well), and nothing done for it.
  void refuses(const Strings& arguments) {
    const Answer answer = call(arguments);
    std::string shown = "call:";
    for (const std::string& argument : arguments) shown += ' ' + printable(argument, 60);
    CAPTURE(shown);
    CAPTURE(answer.json);
    CHECK(answer.exit_code == 1);
    CHECK(answer.json.size() < 4096);
    CHECK(answer.json.find('\n') == std::string::npos);
    const auto document = JsonDocument::parse(answer.json, {.bytes = 4096, .depth = 1});
    REQUIRE(document.ok());
    CHECK(document->root()["status"].text() == "Failure");
    CHECK_FALSE(document->root()["message"].text().empty());
    CHECK(untouched());
    // The promise, and nothing else.
    CHECK_FALSE(engine::was_begun(fake, engine::example_spec()));
    CHECK(engine::RecordStore(fake.folder + "/records").names()->size() == 1);
  }
  void refuses_options(const std::string& json) { refuses({"mount", folder(), json}); }
  void refuses_option(const std::string& key, const std::string& value) {
    refuses_options(options_json({{key, value}}));
  }
};

// The options with `more` members behind them, which may be there already.
std::string with_members(const std::string& more) {
  std::string json = options_json();
  json.pop_back();
  return concat(json, ',', more, '}');
}

TEST_CASE_FIXTURE(Hostile, "what is not one flat JSON object of strings is refused") {
  const std::string deep(10'000, '[');
  for (const std::string& json :
       Strings{"", " ", "{", "}", options_json().substr(0, 100), options_json() + "x",
               options_json() + options_json(), "[]", "null", "true", "1e400", "\"text\"",
               "{'a':'b'}", "{\"a\":\"b\",}", "{a:\"b\"}", "{\"a\":\"b\"/**/}", deep,
               deep + std::string(10'000, ']'), "{\"a\":" + deep})
    refuses_options(json);
  for (const auto* value : {"1", "0x10", "1e400", "null", "true", "{}", "[]", "[\"a\"]",
                            "{\"a\":1}", "NaN", "-Infinity", "\"\\x41\"", "\"\\ud834\"", "\"\n\""})
    refuses_options(with_members(concat("\"more\":", value)));
}

TEST_CASE_FIXTURE(Hostile, "keys that stand twice are refused, also those that shadow kubelet's") {
  for (const auto* key :
       {"flexlocal.io/copy", "kubernetes.io/pod.namespace", "kubernetes.io/pvOrVolumeName",
        "kubernetes.io/readwrite", "kubernetes.io/fsType"}) {
    refuses_options(with_members(concat('"', key, "\":\"1\"")));
    // The same key in other letters of JSON.
    refuses_options(
        with_members(concat("\"\\u00", key[0] == 'f' ? "66" : "6b", key + 1, "\":\"1\"")));
  }
}

TEST_CASE_FIXTURE(Hostile, "too much is refused: keys, bytes, length") {
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += concat(i == 0 ? "" : ",", "\"k", i, "\":\"\"");
  refuses_options(with_members(many));
  refuses_options(with_members("\"a\":\"" + std::string(128U << 10U, 'x') + '"'));
  refuses_options(with_members('"' + std::string(1U << 20U, 'k') + "\":\"\""));
  refuses_options(std::string(16U << 20U, ' '));
  refuses_options(std::string(1U << 20U, '\xff'));
  refuses_option("kubernetes.io/pvOrVolumeName", std::string(100'000, 'a'));
  refuses_option("flexlocal.io/copy", std::string(100'000, 'c'));
  refuses_option("flexlocal.io/" + std::string(100'000, 'z'), "");
}

TEST_CASE_FIXTURE(Hostile, "a NUL or what is not UTF-8 is refused, and no answer repeats it") {
  for (const auto* bytes :
       {"\xff", "\xc3", "\xc3(", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf"}) {
    refuses_options(with_members(concat("\"a\":\"", bytes, '"')));
    refuses_options(with_members(concat('"', bytes, "\":\"\"")));
    refuses({"mount", concat(folder(), bytes), options_json()});
    refuses({"unmount", concat("/", bytes)});
  }
  refuses_options(with_members(R"("a":"\u0000")"));
  refuses_options(with_members(R"("a\u0000":"")"));
  refuses_options(options_json() + std::string(1, '\0'));
  refuses({"mount", folder() + std::string("\0x", 2), options_json()});
  // Messages are cut after so many bytes: wherever that is, no character is split.
  for (int n = 0; n < 4; ++n) {
    std::string long_name(static_cast<std::size_t>(n), 'x');
    for (int i = 0; i < 1000; ++i) long_name += "\xf0\x9d\x84\x9e";
    refuses_option("kubernetes.io/pvOrVolumeName", long_name);
    refuses_option("flexlocal.io/" + long_name, "");
    refuses({"unmount", "/" + long_name});
  }
}

TEST_CASE_FIXTURE(Hostile, "a copy's id is 16 lower-case hexadecimal digits, and the record's") {
  const std::string copy = engine::example_spec().copy;
  for (const std::string& other :
       Strings{"", "0", copy.substr(1), copy + "0", copy + "\n", " " + copy.substr(1), "-" + copy,
               "C0C1C2C3C4C5C6C7", "../../../../etc/", "0000000000000000", "c0c1c2c3c4c5c6cg"})
    refuses_option("flexlocal.io/copy", other);
}

TEST_CASE_FIXTURE(Hostile, "a name that is a path, an argument or another line is refused") {
  const std::string name = engine::example_spec().name.text();
  for (const std::string& other : Strings{"",
                                          ".",
                                          "..",
                                          "/",
                                          "../../etc",
                                          "../" + name,
                                          name + "/..",
                                          name + "/",
                                          "/" + name,
                                          "-rf",
                                          "--force",
                                          "pvc-",
                                          "pvc-1",
                                          name + "\n",
                                          name + "x",
                                          name.substr(0, 39),
                                          "pvc-0B1C2D3E-0000-4000-8000-00000000000A",
                                          "pvc-$(reboot)",
                                          "pvc-`id`",
                                          "root"})
    refuses_option("kubernetes.io/pvOrVolumeName", other);
}

TEST_CASE_FIXTURE(Hostile, "a pod's author says nothing of the volume but which copy it is") {
  for (const auto* key :
       {"size", "pool", "backend", "claimNamespace", "clusterID", "onDelete", "mountOptions",
        "readIOPS", "grant", "volumeGroup", "device", "future", ""})
    refuses_option(concat("flexlocal.io/", key), "1");
  refuses_option("kubernetes.io/readwrite", "maybe");
  refuses_option("kubernetes.io/pod.namespace", "thief");
  refuses_option("kubernetes.io/pod.namespace", "");
  refuses_option("kubernetes.io/pvOrVolumeName", "pvc-0b1c2d3e-0000-4000-8000-00000000000b");
}

TEST_CASE_FIXTURE(Hostile, "a folder that is not kubelet's, or leads elsewhere, is refused") {
  const std::string good = folder();
  const std::string parent = good.substr(0, good.rfind('/'));
  for (const std::string& other :
       Strings{"", "/", ".", "relative", "/etc", good + "/", good + "/sub", good + "/../x",
               parent + "/..", parent + "/.", parent + "//" + good.substr(good.rfind('/') + 1),
               fake.folder + "/kubelet/pods/../../etc/volumes/flexlocal.io~flexlocal/x",
               fake.folder + "/kubelet/pods/1/volumes/other~driver/x", std::string(5000, '/'),
               parent + '/' + std::string(300, 'x')}) {
    refuses({"mount", other, options_json()});
    refuses({"unmount", other});
  }
}

TEST_CASE("a link anywhere below kubelet's folder is not followed") {
  for (int up = 0; up < 5; ++up) {  // the volume itself, the driver's, volumes, the pod's, pods
    Hostile hostile;
    const std::string path = hostile.folder();
    std::filesystem::path link = path;
    for (int i = 0; i < up; ++i) link = link.parent_path();
    const std::string real = link.string() + ".real";
    std::filesystem::rename(link, real);
    std::filesystem::create_directory_symlink(real, link);
    for (const Strings& arguments :
         {Strings{"mount", path, options_json()}, Strings{"unmount", path}}) {
      const Answer answer = hostile.call(arguments);
      CHECK_MESSAGE(status_of(answer) == "Failure", link);
      CHECK_MESSAGE(answer.json.find("is a link or no folder") != std::string::npos, answer.json);
      CHECK(hostile.untouched());
    }
  }
}

TEST_CASE_FIXTURE(Hostile, "calls with wrong arguments are refused") {
  for (const Strings& arguments :
       {Strings{}, Strings{"mount"}, Strings{"mount", folder()},
        Strings{"mount", folder(), "{}", "x"}, Strings{"mount", folder(), options_json(), ""},
        Strings{"unmount"}, Strings{"unmount", "a", "b"}, Strings{"unmount", "--", "/"},
        Strings{"unmount", ""}, Strings{"mount", options_json(), folder()}})
    refuses(arguments);
  Strings thousands(10'000, "x");
  thousands[0] = "mount";
  refuses(thousands);
}

// A tool's own words end in the answer.
TEST_CASE_FIXTURE(Hostile, "what a failing tool writes makes no answer that is not JSON") {
  for (const std::string& words :
       {std::string(1U << 16U, '\xff'), std::string("\"}\n{\"status\":\"Success\"}"),
        std::string(498, 'x') + "\xf0\x9d\x84\x9e", std::string("a\0b\x1b[2J", 7)}) {
    fake.failing = "mkfs.xfs";
    fake.words = words;
    const Answer answer = call({"mount", folder(), options_json()});
    CHECK(status_of(answer) == "Failure");
    CHECK(answer.json.size() < 4096);
    CHECK(answer.json.find('\n') == std::string::npos);
    CHECK(fake.volumes.empty());
    CHECK(fake.mounts.empty());
  }
}

}  // namespace
}  // namespace flexlocal::plugin
