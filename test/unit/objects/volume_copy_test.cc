#include "provisioner/objects/volume_copy.h"

#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <functional>

#include "flexvolume/base/text.h"
#include "provisioner/objects/kept.h"
#include "provisioner/objects/objects.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

CopyOrder plain_order() {
  CopyOrder order = sample_order();
  order.node_uid = kOtherUid;
  order.hostname = "Host_A.example";
  order.term = 7;
  return order;
}

CopyOrder full_order() {
  CopyOrder order = plain_order();
  order.volume.limits = {1000, 2000, kGiB, kMiB, true};
  order.volume.mount_options = {"noatime"};
  order.volume.backend = engine::Backend::kThin;
  order.volume.fs_type = engine::FsType::kExt4;
  order.volume.on_delete = engine::OnDelete::kNone;
  order.volume.access_mode = engine::AccessMode::kReadWriteOncePod;
  order.disk_per_ram = Ratio::of_millionths(1'500'000);
  order.origin = Origin::kReceived;
  order.desired = DesiredState::kRetained;
  order.reclaim_policy = "Retain";
  order.term = INT64_MAX;
  return order;
}

VolumeCopy decoded(const std::string& text) {
  const auto document = JsonDocument::parse(text);
  REQUIRE(document);
  auto copy = decode_copy(document->root());
  REQUIRE(copy);
  return *copy;
}

std::string why_not(const std::string& text) {
  const VolumeCopy copy = decoded(text);
  return copy.order ? "understood" : copy.order.error().message();
}

// What a merge patch makes of the object's spec or status, which is all that these patches touch.
std::string check_of(const std::string& sent, const std::string& kept) {
  const auto first = JsonDocument::parse(sent);
  const auto second = JsonDocument::parse(kept);
  REQUIRE(first);
  REQUIRE(second);
  const auto checked = check_kept(first->root(), second->root());
  return checked ? "kept" : checked.error().message();
}

TEST_CASE("an order is read as it was written") {
  for (const CopyOrder& order : {plain_order(), full_order()}) {
    const std::string text = copy_json(order);
    const VolumeCopy copy = decoded(text);
    REQUIRE(copy.order);
    CHECK(copy_json(*copy.order) == text);
    CHECK(copy.name == concat("pvc-", kUid, '-', kCopy));
    CHECK(copy.status == CopyStatus());
  }
  const VolumeCopy copy = decoded(copy_json(full_order()));
  CHECK(copy.order->volume.limits == full_order().volume.limits);
  CHECK(copy.order->origin == Origin::kReceived);
  CHECK(copy.order->desired == DesiredState::kRetained);
  CHECK(copy.order->term == INT64_MAX);
  CHECK(copy.order->disk_per_ram == Ratio::of_millionths(1'500'000));
  CHECK(copy.order->volume.access_mode == engine::AccessMode::kReadWriteOncePod);
}

TEST_CASE("what is not set is not sent: an API server takes no null in a new object") {
  const std::string text = copy_json(plain_order());
  CHECK(text.find("null") == std::string::npos);
  CHECK(text.find("limits") == std::string::npos);
}

// Else an older definition could drop what no trial has in it.
TEST_CASE("an order with every field has each that the definition knows") {
  CopyOrder order = sample_order();
  order.volume.mount_options.clear();
  order.volume.limits = {};
  order.disk_per_ram.reset();
  JsonWriter json;
  write_order(json, with_every_field(order));
  const auto written = JsonDocument::parse(json.take());
  REQUIRE(written);
  const YAML::Node definition = YAML::LoadFile("examples/install/core/volumecopy.yaml");
  const YAML::Node spec =
      definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  std::size_t known = 0;
  const std::function<void(const YAML::Node&, JsonView)> look = [&](const YAML::Node& schema,
                                                                    JsonView value) {
    for (const auto& property : schema["properties"]) {
      const std::string name = property.first.as<std::string>();
      CHECK_MESSAGE(value[name].exists(), name);
      ++known;
      look(property.second, value[name]);
    }
  };
  look(spec, written->root());
  CHECK(known == 29);
  CHECK(parse_order(written->root()));
}

TEST_CASE("an order that is missing something, or makes no sense, is not understood, in words") {
  struct Row {
    std::string from, to, why;
  };
  const std::vector<Row> rows = {
      {R"("copy":")" + kCopy + '"', R"("copy":"0123456789ABCDEF")", "spec.copy is \"0123456789"},
      {R"("copy":")" + kCopy + "\",", "", "spec.copy is missing"},
      {R"("volume":"pvc-)", R"("volume":"x-)", "spec.volume "},
      {R"("origin":"New")", R"("origin":"Stolen")",
       "spec.origin is \"Stolen\"; this version knows New, Existing, Received"},
      {R"("desiredState":"Serving")", R"("desiredState":"Sealed")",
       "spec.desiredState is \"Sealed\"; this version knows Serving, Retained, Removed"},
      {R"("desiredState":"Serving")", R"("desiredState":null)", "spec.desiredState is \"\""},
      {R"("nodeName":"node-a")", R"("nodeName":"../a")", "spec.nodeName is \"../a\""},
      {R"("hostname":"Host_A.example")", R"("hostname":"a b")", "spec.hostname is \"a b\""},
      {R"("clusterID":"aaaa)", R"("clusterID":"xaaa)", "spec.clusterID is "},
      {R"("namespace":"shop")", R"("namespace":"a/b")", "spec.claim.namespace is \"a/b\""},
      {R"("namespace":"shop",)", "", "spec.claim.namespace is missing"},
      {R"("name":"data",)", "", "spec.claim.name is missing"},
      {R"("hostname":"Host_A.example",)", "", "spec.hostname is missing"},
      {R"("nodeName":"node-a")", R"("nodeName":"-a")", "spec.nodeName is \"-a\""},
      {R"("nodeName":"node-a")", concat(R"("nodeName":")", std::string(64, 'a'), '"'),
       "spec.nodeName is "},
      {R"("hostname":"Host_A.example")", R"("hostname":".")", "spec.hostname is \".\""},
      {R"("pool":"default")", R"("pool":"/dev/sda")", "spec.pool is \"/dev/sda\""},
      {R"("backend":"lvm")", R"("backend":"zfs")", "spec.backend "},
      {R"("fsType":"xfs")", R"("fsType":"btrfs")", "spec.fsType "},
      {R"("size":"1Gi")", R"("size":"0")", "spec.size is nothing"},
      {R"("size":"1Gi")", R"("size":"-1Gi")", "spec.size "},
      {R"("size":"1Gi")", R"("size":1073741824)", "spec.size "},
      {R"("size":"1Gi")", R"("size":"1Mi")", "spec.size"},
      {R"("size":"1Gi")", R"("size":"9Ei")", "spec.size "},
      {R"("onDelete":"discard")", R"("onDelete":"shred")", "spec.onDelete "},
      {R"("accessMode":"ReadWriteOnce")", R"("accessMode":"ReadWriteMany")", "spec.accessMode "},
      {R"("reclaimPolicy":"Delete")", R"("reclaimPolicy":"Recycle")", "spec.reclaimPolicy is "},
      {R"("term":7)", R"("term":-1)", "spec.term is no leader's term"},
      {R"("term":7)", R"("term":"7")", "spec.term is no leader's term"},
      {R"("term":7)", R"("term":7,"seal":"x")",
       "spec.seal is not known to this version of flexlocal"},
      {R"("term":7)", R"("term":7,"limits":{"readIOPS":0})", "spec.limits.readIOPS is not"},
      {R"("term":7)", R"("term":7,"limits":{"burst":1})",
       "spec.limits.burst is not known to this version of flexlocal"},
      {R"("term":7)", R"("term":7,"mountOptions":["dev"])", "spec.mountOptions"},
      {R"("term":7)", R"("term":7,"mountOptions":"noatime")", "spec.mountOptions is no list"},
      {R"("term":7)", R"("term":7,"diskPerRam":"many")", "spec.diskPerRam "},
      {R"("backend":"lvm")", R"("backend":"quota","fsType":"ext4")", "spec."},
      {R"("flexlocal.io/node":"node-a")", R"("flexlocal.io/node":"node-b")",
       "its label flexlocal.io/node is not node-a, the node of its spec"},
      {R"("name":"pvc-)", R"("name":"pvx-)", "its name is not pvc-"}};
  const std::string good = copy_json(plain_order());
  CHECK(why_not(good) == "understood");
  for (const Row& row : rows) {
    const std::string why = why_not(with(good, row.from, row.to));
    CAPTURE(row.to);
    CAPTURE(why);
    CHECK(why.find(row.why) != std::string::npos);
  }
}

TEST_CASE("of a copy that was found the order may say what its disk says alone") {
  CopyOrder order = plain_order();
  order.origin = Origin::kExisting;
  for (std::string* text : {&order.node_uid, &order.hostname, &order.claim_name,
                            &order.storage_class, &order.reclaim_policy})
    text->clear();
  CHECK(why_not(copy_json(order)) == "spec.nodeUID is missing");
  for (const DesiredState desired : {DesiredState::kRetained, DesiredState::kRemoved}) {
    order.desired = desired;
    CHECK(why_not(copy_json(order)) == "understood");
  }
  order.origin = Origin::kNew;
  CHECK(why_not(copy_json(order)) == "spec.nodeUID is missing");
}

TEST_CASE("an order anew says the version that it was decided on, and all of it") {
  VolumeCopy known = decoded(copy_json(full_order()));
  known.uid = kOtherUid;
  known.resource_version = "42";
  CopyOrder next = *known.order;
  next.volume.size = Bytes(2 * kGiB.count());
  next.desired = DesiredState::kRemoved;
  const auto patch = JsonDocument::parse(order_patch(known, next));
  REQUIRE(patch);
  CHECK(patch->root()["metadata"].dump() ==
        R"({"uid":")" + kOtherUid + R"(","resourceVersion":"42"})");
  const auto read = parse_order(patch->root()["spec"]);
  REQUIRE(read);
  CHECK(copy_json(*read) == copy_json(next));
}

TEST_CASE("a status is read as it was written, and what it no longer says is taken away") {
  VolumeCopy known = decoded(copy_json(plain_order()));
  known.uid = kOtherUid;
  known.resource_version = "42";
  CopyStatus status;
  status.state = CopyState::kRemoving;
  status.promised = true;
  status.made = true;
  status.size = kGiB;
  status.wiped = kMiB;
  status.mounted = true;
  status.host = kUid;
  status.observed_generation = 3;
  set_condition(status, {"Trouble", true, "Busy", "a pod has it"},
                Clock::Wall(std::chrono::milliseconds(1'700'000'000'999)));
  const auto document = JsonDocument::parse(status_patch(known, status));
  REQUIRE(document);
  CHECK(document->root()["metadata"]["uid"].text() == kOtherUid);
  CHECK(document->root()["metadata"]["resourceVersion"].text() == "42");
  CHECK(parse_status(document->root()["status"]) == status);
  CHECK(
      status_patch(known, {}) ==
      R"({"metadata":{"uid":")" + kOtherUid +
          R"(","resourceVersion":"42"},"status":{"state":null,"size":null,"mounted":false,"wiped":null,)"
          R"("host":null,"observedGeneration":0,"conditions":[]}})");
}

TEST_CASE(
    "every state is a word that is read as the same, and one that is not known is not absent") {
  const VolumeCopy known = decoded(copy_json(plain_order()));
  for (int i = 0; i < static_cast<int>(CopyState::kUnknown); ++i) {
    CopyStatus status;
    status.state = static_cast<CopyState>(i);
    const auto document = JsonDocument::parse(status_patch(known, status));
    REQUIRE(document);
    CHECK(parse_status(document->root()["status"]).state == status.state);
    CHECK(parse_status(document->root()["status"]).promised == is_of_promised(status.state));
  }
  const auto sealed = JsonDocument::parse(R"({"state":"Sealed"})");
  REQUIRE(sealed);
  CHECK(parse_status(sealed->root()).state == CopyState::kUnknown);
  // Nor is it written over.
  CHECK(status_patch(known, parse_status(sealed->root())).find("state") == std::string::npos);
}

TEST_CASE("a message that is too long for the schema does not cost the status") {
  CopyStatus status;
  set_condition(status, {"Trouble", true, "Busy", std::string(100'000, 'x')}, Clock::Wall());
  CHECK(status_patch(decoded(copy_json(plain_order())), status).size() < 2000);
}

TEST_CASE("no empty message is sent, for Kubernetes 1.20 takes it for null") {
  CopyStatus status;
  status.conditions = {{std::string(kAsOrdered), true, "AsOrdered", "", {}}};
  JsonWriter json;
  write_status(json, status);
  const std::string text = json.take();
  CHECK(text.find(R"("message":"AsOrdered")") != std::string::npos);
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  CHECK(parse_status(document->root()).conditions == status.conditions);
}

TEST_CASE("a condition keeps its time until it turns") {
  const Clock::Wall first{std::chrono::seconds(100)};
  const Clock::Wall later{std::chrono::seconds(200)};
  CopyStatus status;
  set_condition(status, {"Trouble", true, "Busy", "a pod has it"}, first);
  set_condition(status, {"Trouble", true, "Busy", "two pods have it"}, later);
  REQUIRE(status.conditions.size() == 1);
  CHECK(status.conditions[0].message == "two pods have it");
  CHECK(status.conditions[0].since == first);
  set_condition(status, {"Trouble", false, "Free", ""}, later);
  CHECK(status.conditions[0].since == later);
  set_condition(status, {"Other", true, "X", ""}, later);
  CHECK(status.conditions.size() == 2);
}

TEST_CASE("what the API server did not keep is named") {
  const std::string sent = R"({"metadata":{"uid":"1"},"spec":{"a":1,"b":{"c":["x",{"d":true}]}}})";
  CHECK(check_of(sent, sent) == "kept");
  CHECK(check_of(sent,
                 R"({"metadata":{"uid":"2","more":1},"spec":{"z":0,"b":{"c":["x",{"d":true}],)"
                 R"("e":1},"a":1}})") == "kept");
  struct Row {
    std::string kept, field;
  };
  for (const Row& row :
       std::vector<Row>{{R"({"spec":{"a":1,"b":{"c":["x",{}]}}})", "spec.b.c[1].d"},
                        {R"({"spec":{"a":1,"b":{"c":["x"]}}})", "spec.b.c"},
                        {R"({"spec":{"a":1,"b":{}}})", "spec.b.c"},
                        {R"({"spec":{"a":2,"b":{"c":["x",{"d":true}]}}})", "spec.a"},
                        {R"({"spec":{"a":"1","b":{"c":["x",{"d":true}]}}})", "spec.a"},
                        {R"({"metadata":{}})", "spec.a"}})
    CHECK(check_of(sent, row.kept).find("did not keep " + row.field + " as") != std::string::npos);
  CHECK(check_of(R"({"spec":{"a":null}})", R"({"spec":{}})") == "kept");
  CHECK(check_of(R"({"spec":{"a":null}})", R"({"spec":{"a":1}})").find("spec.a") !=
        std::string::npos);
  CHECK(check_of(R"({"spec":{"a":{}}})", R"({"spec":{}})").find("spec.a") != std::string::npos);
}

}  // namespace
}  // namespace flexlocal::provisioner::test
