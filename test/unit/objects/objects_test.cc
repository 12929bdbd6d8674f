#include "provisioner/objects/objects.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

// As a 1.20 API server answers, shortened by what nobody here reads.
const std::string kClaim = R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{
  "annotations":{"volume.beta.kubernetes.io/storage-provisioner":"flexlocal.io",
    "volume.kubernetes.io/selected-node":"node-a"},
  "creationTimestamp":"2021-03-01T10:00:00Z","finalizers":["kubernetes.io/pvc-protection"],
  "managedFields":[{"manager":"kube-scheduler","fieldsV1":{"f:metadata":{}}}],
  "name":"data","namespace":"shop","resourceVersion":"412",
  "uid":"11111111-2222-3333-4444-555555555555"},
  "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},
    "storageClassName":"local","volumeMode":"Filesystem"},"status":{"phase":"Pending"}})";

template <typename T>
std::optional<T> decode(std::optional<T> (*decoder)(JsonView), const std::string& text) {
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  return decoder(document->root());
}

}  // namespace

TEST_CASE("a claim is read with all that a decision needs") {
  const auto claim = decode(decode_claim, kClaim);
  REQUIRE(claim.has_value());
  CHECK(claim->key() == "shop/data");
  CHECK(claim->uid == kUid);
  CHECK(claim->resource_version == "412");
  CHECK(claim->storage_class == "local");
  CHECK(claim->selected_node == "node-a");
  CHECK(claim->volume_name.empty());
  CHECK(claim->volume_mode == "Filesystem");
  CHECK(claim->requested == "1Gi");
  CHECK(claim->access_modes == std::vector<std::string>{"ReadWriteOnce"});
  CHECK_FALSE(claim->has_data_source);
  CHECK_FALSE(claim->has_selector);
  CHECK_FALSE(claim->deleting);
}

TEST_CASE("of texts that are too long no more is kept than shows it") {
  const std::string many(250'000, 'x');
  const auto named = decode(decode_claim, with(kClaim, R"("node-a")", concat('"', many, '"')));
  CHECK(named->selected_node == std::string(254, 'x'));  // which is no name
  const auto of_class = decode(decode_claim, with(kClaim, R"("local")", concat('"', many, '"')));
  CHECK(of_class->storage_class.size() == 254);
  const auto bound = decode(
      decode_claim,
      with(kClaim, R"("volumeMode")", concat(R"("volumeName":")", many, R"(","volumeMode")")));
  CHECK(bound->volume_name.size() == 254);
  const auto large = decode(decode_claim, with(kClaim, "1Gi", std::string(65, '9')));
  CHECK_FALSE(parse_quantity(large->requested).ok());
  const auto longest =
      decode(decode_claim, with(kClaim, R"("node-a")", concat('"', std::string(253, 'x'), '"')));
  CHECK(longest->selected_node.size() == 253);
}

TEST_CASE("a claim is ours by the annotation's old name and by its new one, and by nothing else") {
  CHECK(decode(decode_claim, with(kClaim, "volume.beta.kubernetes.io/storage-provisioner",
                                  "volume.kubernetes.io/storage-provisioner")));
  CHECK_FALSE(decode(decode_claim, with(kClaim, "storage-provisioner", "other")));
  CHECK_FALSE(decode(decode_claim, with(kClaim, "\"flexlocal.io\"", "\"flexlocal.io/x\"")));
  CHECK_FALSE(decode(decode_claim, R"({"metadata":{"name":"x"}})"));
  CHECK_FALSE(decode(decode_claim, "[]"));
}

TEST_CASE("a claim that is not marked is ours by its class, if that is one of ours") {
  const auto document = JsonDocument::parse(with(kClaim, "storage-provisioner", "other"));
  REQUIRE(document.ok());
  CHECK_FALSE(decode_claim_of(document->root(), {"other", "loca", "locals", ""}));
  const auto claim = decode_claim_of(document->root(), {"local", "other"});
  REQUIRE(claim.has_value());
  CHECK_FALSE(claim->marked);
  CHECK(claim->uid == kUid);
  const auto old_way = JsonDocument::parse(
      with(kClaim, "volume.beta.kubernetes.io/storage-provisioner",
           R"(volume.beta.kubernetes.io/storage-class":"x","volume.beta.kubernetes.io/other)"));
  REQUIRE(old_way.ok());
  CHECK_FALSE(decode_claim_of(old_way->root(), {"local"}));
  const auto marked = decode(decode_claim, kClaim);
  REQUIRE(marked.has_value());
  CHECK(marked->marked);
}

TEST_CASE("a claim without a volume is open, whatever its class; a bound one must be marked") {
  const std::string unmarked = with(kClaim, "storage-provisioner", "other");
  const auto open = decode(decode_open_claim, unmarked);
  REQUIRE(open.has_value());
  CHECK_FALSE(open->marked);
  const auto bound = [](const std::string& text) {
    return with(text, R"("spec":{)", R"("spec":{"volumeName":"pv",)");
  };
  CHECK_FALSE(decode(decode_open_claim, bound(unmarked)).has_value());
  CHECK(decode(decode_open_claim, bound(kClaim)).has_value());
  CHECK_FALSE(decode(decode_open_claim, with(unmarked, "volume.beta.kubernetes.io/other",
                                             R"(volume.beta.kubernetes.io/storage-class":"x","a)"))
                  .has_value());
}

TEST_CASE("sources, selectors, a bound volume and deletion are noticed") {
  const auto changed = [](const std::string& from, const std::string& to) {
    return *decode(decode_claim, with(kClaim, from, to));
  };
  const std::string spec = R"("spec":{)";
  CHECK(changed(spec, spec + R"("dataSource":{"kind":"VolumeSnapshot","name":"s"},)")
            .has_data_source);
  CHECK(changed(spec, spec + R"("dataSourceRef":{"kind":"X","name":"s"},)").has_data_source);
  CHECK(changed(spec, spec + R"("dataSourceRef":{"kind":"X","name":"s","namespace":"other"},)")
            .has_data_source);
  CHECK(changed(spec, spec + R"("volumeAttributesClassName":"gold",)").attributes_class == "gold");
  CHECK(changed(spec, spec + R"("selector":{},)").has_selector);
  CHECK(changed(spec, spec + R"("volumeName":"pvc-1",)").volume_name == "pvc-1");
  CHECK(changed(R"("creationTimestamp")",
                R"("deletionTimestamp":"2021-03-01T11:00:00Z","creationTimestamp")")
            .deleting);
}

TEST_CASE("what a claim has, and what of its growth is pending, is read from its status") {
  const auto status = [](const std::string& text) {
    return *decode(decode_claim, with(kClaim, R"("status":{"phase":"Pending"})", text));
  };
  const Claim bound = status(
      R"("status":{"phase":"Bound","capacity":{"storage":"2Gi"},"conditions":[
        {"type":"FileSystemResizePending","status":"True"},{"type":"Resizing","status":"True"},
        {"type":"ControllerResizeError","status":"True","message":"no room"},
        {"type":"NodeResizeError","status":"True"},
        {"type":"Other","status":"False","message":"m"}],
        "allocatedResources":{"storage":"3Gi"},
        "allocatedResourceStatuses":{"storage":"NodeResizePending"}})");
  CHECK(bound.phase == "Bound");
  CHECK(bound.resize_error == "no room");
  CHECK(bound.allocated == "3Gi");
  CHECK(bound.resize_status == "NodeResizePending");
  CHECK(bound.capacity == "2Gi");
  CHECK(bound.file_system_pending);
  CHECK(bound.other_conditions ==
        std::vector<std::string>{R"({"type":"Other","status":"False","message":"m"})"});
  const Claim done =
      status(R"("status":{"conditions":[{"type":"FileSystemResizePending","status":"False"}]})");
  CHECK_FALSE(done.file_system_pending);
  CHECK(done.other_conditions.empty());
}

TEST_CASE("a volume is ours by who provisioned it") {
  const std::string text = volume_text(sample_spec(), "Bound");
  const auto volume = decode(decode_volume, text);
  REQUIRE(volume.has_value());
  CHECK(volume->phase == "Bound");
  CHECK(volume->node == kNode);
  CHECK(volume->claim_uid == kUid);
  CHECK(volume->claim_namespace == "shop");
  CHECK(volume->claim_name == "data");
  CHECK(volume->node_uid == kUidOfNode);
  CHECK(volume->copy == kCopy);
  CHECK(order_text(*volume->order) == order_text(sample_order()));
  CHECK(volume->reclaim_policy == "Delete");
  CHECK(volume->finalizers == std::vector<std::string>{std::string(kFinalizer)});
  CHECK_FALSE(volume->deleting);
  CHECK_FALSE(volume->migrated);
  CHECK_FALSE(
      decode(decode_volume, with(text, R"("pv.kubernetes.io/provisioned-by":"flexlocal.io")",
                                 R"("pv.kubernetes.io/provisioned-by":"other.io")")));
  CHECK_FALSE(decode(decode_volume, R"({"metadata":{"name":"by-hand"}})"));
}

TEST_CASE("a volume's node is its order's, whatever its label says") {
  const std::string text = volume_text(sample_spec(), "Bound");
  const std::string label = concat(R"("flexlocal.io/node":")", kNode, '"');
  CHECK(decode(decode_volume, with(text, label, R"("flexlocal.io/node":"other")"))->node == kNode);
  CHECK(decode(decode_volume, with(text, label, R"("other":"label")"))->node == kNode);
  const std::string orderless = with(text, "flexlocal.io/order", "flexlocal.io/disorder");
  CHECK(decode(decode_volume, with(orderless, label, R"("flexlocal.io/node":"other")"))->node ==
        "other");
}

TEST_CASE("a volume that was handed to another driver is noticed") {
  const auto volume =
      decode(decode_volume, with(volume_text(sample_spec(), "Released"), R"("annotations":{)",
                                 R"("annotations":{"pv.kubernetes.io/migrated-to":"csi.x",)"));
  REQUIRE(volume.has_value());
  CHECK(volume->migrated);
}

TEST_CASE("a class is ours by its provisioner, and what it asks for beyond us is noticed") {
  const std::string text = class_text();
  const auto found = decode(decode_storage_class, text);
  REQUIRE(found.has_value());
  CHECK(found->name == "local");
  CHECK(found->reclaim_policy == "Delete");
  CHECK(found->mount_options.empty());
  CHECK(decode(decode_storage_class, with(text, "{", R"({"mountOptions":["noatime",7],)"))
            ->mount_options == std::vector<std::string>{"noatime", ""});
  CHECK(decode(decode_storage_class, with(text, "{", R"({"parameters":{"pool":"fast"},)"))
            ->parameters.at("pool") == "fast");
  CHECK_FALSE(decode(decode_storage_class, with(text, "flexlocal.io", "flexlocal.io.evil")));
}

TEST_CASE("events name the object that they are about") {
  const kube::ObjectReference claim = reference_to(sample_claim());
  CHECK(claim.kind == "PersistentVolumeClaim");
  CHECK(claim.namespace_name == "shop");
  CHECK(claim.uid == kUid);
  const auto volume = reference_to(decoded_volume(volume_text(sample_spec(), "Bound")));
  CHECK(volume.kind == "PersistentVolume");
  CHECK(volume.namespace_name.empty());
  CHECK(volume.name == "pvc-" + kUid);
  const auto theirs = reference_to_claim_of(decoded_volume(volume_text(sample_spec(), "Bound")));
  CHECK(theirs.kind == "PersistentVolumeClaim");
  CHECK(theirs.namespace_name == "shop");
  CHECK(theirs.name == "data");
  CHECK(theirs.uid == kUid);
}

TEST_CASE("a volume whose name and claim do not fit each other has no spec") {
  const std::string text = volume_text(sample_spec(), "Released");
  REQUIRE(spec_of(decoded_volume(text)).ok());
  for (const std::string& uid : {kOtherUid, std::string(), kUid + "0"}) {
    Volume volume = decoded_volume(text);
    volume.claim_uid = uid;
    const auto spec = spec_of(volume);
    REQUIRE_FALSE(spec.ok());
    CHECK(spec.error().code() == ErrorCode::kInvalid);
    CHECK(spec.error().message() ==
          "PersistentVolume pvc-" + kUid + " is for another claim than its name says");
  }
}

TEST_CASE("a volume without a whole order of its own has no spec, and what to do is said") {
  const Volume whole = decoded_volume(volume_text(sample_spec(), "Released"));
  const auto why = [&](auto change) {
    Volume volume = whole;
    change(volume);
    const auto spec = stated_spec(volume);
    REQUIRE_FALSE(spec.ok());
    CHECK(spec.error().code() == ErrorCode::kInvalid);
    const std::string message = spec.error().message();
    const std::string begin =
        "PersistentVolume " + volume.name + ": annotation flexlocal.io/order ";
    const std::string end =
        ": put back what it said when the volume was made; until then the volume is neither "
        "removed nor grown, nor mounted if its record was lost";
    REQUIRE(message.starts_with(begin));
    REQUIRE(message.ends_with(end));
    return message.substr(begin.size(), message.size() - begin.size() - end.size());
  };
  REQUIRE(stated_spec(whole).ok());
  const std::string text = order_text(*whole.order);
  const auto why_of = [&](const std::string& edited) {
    return why([&](Volume& v) { v.order = order_of_annotation(edited); });
  };
  CHECK(why_of("") == "is missing, or has more than 16384 bytes");
  CHECK(why_of(text.substr(0, text.size() - 1)).starts_with("is damaged: "));
  CHECK(why_of(R"({"volume":[[]]})") == "is damaged: JSON nested deeper than 2");
  CHECK(why_of(with(text, R"("pool":"default")", R"("pool":"../..")")) ==
        "is damaged: spec.pool is \"../..\", which cannot be one");
  CHECK(why_of(with(text, "{", R"({"of-the-future":"x",)")) ==
        "is damaged: spec.of-the-future is not known to this version of flexlocal");
  CHECK(why_of(order_text(sample_order(sample_spec(kOtherUid)))) == "is that of pvc-" + kOtherUid);
  CHECK(why([](Volume& v) { v.name = "by-hand"; }) == "is that of pvc-" + kUid);
  CHECK(why([](Volume& v) { v.copy = "fedcba9876543210"; }) ==
        "is that of copy \"0123456789abcdef\", and option flexlocal.io/copy says "
        "\"fedcba9876543210\"");
  CHECK(why([](Volume& v) { v.copy.clear(); }).ends_with("option flexlocal.io/copy says \"\""));
}

TEST_CASE("an order without one of its fields is damaged") {
  const Volume whole = decoded_volume(volume_text(sample_spec(), "Released"));
  const auto order = JsonDocument::parse(order_text(*whole.order));
  REQUIRE(order.ok());
  for (const std::string_view missing : {"copy", "backend", "pool", "size", "clusterID", "claim",
                                         "fsType", "onDelete", "nodeUID", "hostname"}) {
    JsonWriter rest;
    rest.begin_object();
    order->root().for_each_member([&](std::string_view key, JsonView value) {
      if (key != missing) rest.key(key).value(value);
    });
    rest.end_object();
    Volume volume = whole;
    volume.order = order_of_annotation(rest.take());
    const auto spec = spec_of(volume);
    REQUIRE_FALSE(spec.ok());
    CHECK(spec.error().message().find(concat("damaged: spec.", missing, " is missing")) !=
          std::string::npos);
  }
}

TEST_CASE("an order is kept up to 16 KiB, and a longer one is none") {
  const std::string key = R"("flexlocal.io/order":")";
  const std::size_t room = 16 * 1024 - order_text(sample_order()).size();
  const auto padded = [&](std::size_t spaces) {
    return decoded_volume(
        with(volume_text(sample_spec(), "Bound"), key, key + std::string(spaces, ' ')));
  };
  CHECK(stated_spec(padded(room)).ok());
  CHECK(padded(room + 1).order.error().code() == ErrorCode::kNotFound);
  CHECK_FALSE(stated_spec(padded(room + 1)).ok());
}

TEST_CASE("a class binds late unless it says Immediate, and is allowed where its terms say") {
  const std::string text = R"({"metadata":{"name":"c"},"provisioner":"flexlocal.io")";
  const auto late =
      decode(decode_storage_class, text + R"(,"volumeBindingMode":"WaitForFirstConsumer"})");
  REQUIRE(late.has_value());
  CHECK_FALSE(late->immediate);
  CHECK(late->allowed_topologies.empty());
  const auto immediate = decode(
      decode_storage_class,
      text + R"(,"volumeBindingMode":"Immediate","allowedTopologies":[{"matchLabelExpressions":[)" +
          R"({"key":"zone","values":["a","b"]},{"key":"disk","values":["nvme"]}]},{}]})");
  REQUIRE(immediate.has_value());
  CHECK(immediate->immediate);
  CHECK(immediate->allowed_topologies ==
        std::vector<TopologyTerm>{{{"zone", {"a", "b"}}, {"disk", {"nvme"}}}, {}});
}

TEST_CASE("ReadWriteOncePod is the mode that binds, alone or beside another") {
  using engine::AccessMode;
  CHECK(access_mode_of({}) == AccessMode::kReadWriteOnce);
  CHECK(access_mode_of({"ReadWriteOnce", "ReadWriteMany"}) == AccessMode::kReadWriteOnce);
  CHECK(access_mode_of({"ReadWriteOncePod"}) == AccessMode::kReadWriteOncePod);
  CHECK(access_mode_of({"ReadWriteOnce", "ReadWriteOncePod"}) == AccessMode::kReadWriteOncePod);
  const std::string text = volume_text(sample_spec(), "Bound");
  CHECK(stated_spec(decoded_volume(text))->access_mode == AccessMode::kReadWriteOnce);
  const std::string one_pod = with(text, R"(["ReadWriteOnce"])", R"(["ReadWriteOncePod"])");
  CHECK(stated_spec(decoded_volume(one_pod))->access_mode == AccessMode::kReadWriteOncePod);
}

}  // namespace flexlocal::provisioner::test
