#include "provisioner/agent/claim_worker.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using Calls = std::vector<std::string>;

const std::string kCreate = "POST " + kVolumes;
const std::string kHandBack = "PATCH " + kClaimPath;

struct Fixture : NodeLab {
  ClaimWorker worker{parts};
  const std::string key = "shop/data";

  Fixture() {
    know_class();
    know_claim(sample_claim());
    answers[kCreate] = {{201, volume_text(sample_spec(), "Pending")}};
    answers["GET " + kVolumePath] = {{404, refused("NotFound")}};
  }
  Status work() { return wait_for(worker.work(key)); }
  Bytes free_for_others() {
    const Promise wanted{"pvc-other", engine::Backend::kLvm, "default", kGiB};
    const auto room = ledger.room(wanted, "shop/other");
    REQUIRE(room.ok());
    return room->free;
  }
  Volume written() const { return decoded_volume(body_of(kube::Method::kPost, kVolumes)); }
  // The spec that was written.
  engine::VolumeSpec provisioned() const {
    const auto spec = spec_of(written());
    REQUIRE(spec.ok());
    return *spec;
  }
  ErrorCode failure() {
    const Status worked = work();
    REQUIRE_FALSE(worked.ok());
    return worked.error().code();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim gets its volume with one write, and an event says so") {
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate});
  engine::VolumeSpec ordered = sample_spec();
  ordered.copy = "1111111122223333";  // of the claim's uid
  CHECK(provisioned() == ordered);
  CHECK(storage.last_promise == ordered);
  CHECK(events_written().find("ProvisioningSucceeded") != std::string::npos);
}

// The scheduler has chosen the node, and kube-controller-manager has not come to the claim yet.
struct Unmarked : Fixture {
  Unmarked() { set_marked(false); }
  void set_marked(bool marked) {
    Claim claim = sample_claim();
    claim.marked = marked;
    know_claim(claim);
  }
};

TEST_CASE_FIXTURE(Fixture, "the access mode is promised with the volume") {
  Claim claim = sample_claim();
  claim.access_modes = {"ReadWriteOncePod"};
  know_claim(claim);
  CHECK(work().ok());
  REQUIRE(storage.last_promise.has_value());
  CHECK(storage.last_promise->access_mode == engine::AccessMode::kReadWriteOncePod);
  const auto body = JsonDocument::parse(body_of(kube::Method::kPost, kVolumes));
  REQUIRE(body.ok());
  CHECK(body->root()["spec"]["accessModes"].dump() == R"(["ReadWriteOncePod"])");
}

TEST_CASE_FIXTURE(Unmarked, "a claim is provisioned before it is marked, and once only") {
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate});
  set_marked(true);
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate});
}

TEST_CASE_FIXTURE(Unmarked, "what cannot be done before the mark is said when it is there") {
  const auto quiet_then = [&](const std::string& words) {
    CHECK(work().ok());
    CHECK(journal.empty());
    set_marked(true);
    CHECK((!work().ok() || journal == Calls{kHandBack}));
    const std::string written = events_written();
    CHECK(written.find(words) != std::string::npos);
    CHECK(written.find("ProvisioningFailed") == written.rfind("ProvisioningFailed"));
  };
  SUBCASE("room") {
    storage.free() = kMiB;
    quiet_then("no room on node");
  }
  SUBCASE("the node's uid") {
    parts.node.uid.clear();
    quiet_then("its Node had no uid");
  }
}

TEST_CASE_FIXTURE(Unmarked, "a volume that a person has meant for the claim is not doubled") {
  engine::VolumeSpec kept = sample_spec("11111111-2222-4333-8444-555555555555");
  const std::string uid = concat("\"uid\":\"", kept.name.claim_uid());
  know_volume(with(volume_text(kept, "Available"), uid, "\"uid\":\""));
  CHECK(work().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a volume just made is known at once, so that the claim is left alone") {
  CHECK(work().ok());
  CHECK(volumes.get("pvc-" + kUid) != nullptr);
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate});
}

TEST_CASE_FIXTURE(Fixture, "a claim that is gone, or another node's, causes no call at all") {
  CHECK(wait_for(worker.work("shop/none")).ok());
  Claim elsewhere = sample_claim();
  elsewhere.name = "elsewhere";
  elsewhere.selected_node = "node-b";
  know_claim(elsewhere);
  CHECK(wait_for(worker.work("shop/elsewhere")).ok());
  CHECK(journal.empty());
  CHECK(storage.looks == 0);
}

TEST_CASE_FIXTURE(Fixture, "a refused claim gets an event and no write, and is tried again") {
  Claim small = sample_claim();
  small.requested = "1Mi";
  know_claim(small);
  CHECK(failure() == ErrorCode::kInvalid);
  CHECK(journal.empty());
  CHECK(events_written().find("is too small") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "without room the claim is handed back by clearing the annotation only") {
  storage.free() = kMiB;
  CHECK(work().ok());
  CHECK(journal == Calls{kHandBack});
  CHECK(storage.looks == 2);
  const std::string version = claims.get(key)->resource_version;
  CHECK(body_of(kube::Method::kPatch, kClaimPath) ==
        R"({"metadata":{"resourceVersion":")" + version +
            R"(","annotations":{"volume.kubernetes.io/selected-node":null}}})");
  CHECK(http.seen.front().content_type == "application/merge-patch+json");
  CHECK(events_written().find("no room on node node-a") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a pool that this node has not got hands the claim back, too") {
  config.pools.clear();
  config.pools["fast"].volume_group = "vg";
  CHECK(work().ok());
  CHECK(journal == Calls{kHandBack});
}

TEST_CASE_FIXTURE(Fixture, "disks that cannot be looked at hand nothing back: it is tried again") {
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  CHECK(failure() == ErrorCode::kFailed);
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "room that was freed since the last look is found by a second look") {
  storage.free() = kMiB;
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  storage.free() = kGiB;
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate});
}

TEST_CASE_FIXTURE(Fixture, "a hand-back that somebody was faster than is a conflict, no success") {
  storage.free() = kMiB;
  answers[kHandBack] = {{409, refused("Conflict")}};
  CHECK(failure() == ErrorCode::kConflict);
}

TEST_CASE_FIXTURE(Fixture, "a hand-back of a claim that is gone is success") {
  storage.free() = kMiB;
  answers[kHandBack] = {{404, refused("NotFound")}};
  CHECK(work().ok());
}

TEST_CASE_FIXTURE(Fixture, "a refused write is an event and an error, and gives the room back") {
  answers[kCreate] = {{403, refused("Forbidden")}};
  CHECK(failure() == ErrorCode::kDenied);
  CHECK(volumes.size() == 0);
  CHECK(free_for_others() == kGiB + kGiB);
  CHECK(events_written().find("creating the PersistentVolume") != std::string::npos);
}

// Waits in the middle of its create, so that another claim can come in between.
struct SlowHttp final : kube::Http {
  kube::Http& inner;
  kube::Condition go;
  int waiting = 0;

  explicit SlowHttp(kube::Http& real) : inner(real) {}
  kube::Task<Result<kube::HttpResponse>> send(const kube::HttpRequest& request) override {
    ++waiting;
    const Status waited = co_await go.wait();
    if (!waited) co_return waited.error();
    auto answered = co_await inner.send(request);
    co_return answered;
  }
  kube::Task<Result<kube::HttpResponse>> stream(const kube::HttpRequest& request,
                                                kube::ByteSink& sink) override {
    auto answered = co_await inner.stream(request, sink);
    co_return answered;
  }
};

TEST_CASE_FIXTURE(Fixture, "two claims at once never both get the last room") {
  storage.free() = kGiB;
  Claim second = sample_claim();
  second.name = "second";
  second.uid = kOtherUid;
  know_claim(second);
  SlowHttp slow(http);
  kube::ApiClient slow_api(slow, clock, kube::ApiOptions{.limit = {}});
  NodeParts slow_parts{slow_api,     events, claims, volumes,    classes,  storage,     ledger,
                       kubelet_init, manual, log,    parts.node, kCluster, parts.budget};
  ClaimWorker both(slow_parts);
  const std::string other_key = second.key();
  std::optional<Status> one, two;
  tasks.spawn(kube::test::store(both.work(key), one));
  tasks.spawn(kube::test::store(both.work(other_key), two));
  REQUIRE(run_until([&] { return slow.waiting == 2; }));
  slow.go.notify_all();
  REQUIRE(run_until([&] { return one && two; }));
  CHECK(one->ok());
  CHECK(two->ok());
  CHECK(journal == Calls{kCreate, "PATCH /api/v1/namespaces/shop/persistentvolumeclaims/second"});
}

// Disks that answer when they are told to: a claim may change meanwhile.
struct SlowStorage final : FakeStorage {
  using FakeStorage::FakeStorage;
  bool waiting = false;

  Task<Result<engine::Inventory>> inventory() override {
    waiting = true;
    const Status waited = co_await go.wait();
    if (!waited) co_return waited.error();
    co_return present;
  }
};

TEST_CASE_FIXTURE(Fixture,
                  "a claim that changes while the disks are looked at gets no volume of before") {
  Claim resized = sample_claim(), elsewhere = sample_claim(), again = sample_claim();
  resized.requested = "1536Mi";
  elsewhere.selected_node = "";
  again.uid = kOtherUid;
  for (const Claim& changed : {resized, elsewhere, again}) {
    SlowStorage slow(journal);
    Ledger slow_ledger(slow, config, volumes, manual, kNode);
    NodeParts slow_parts{api,        events,      claims,       volumes, classes,
                         slow,       slow_ledger, kubelet_init, manual,  log,
                         parts.node, kCluster,    parts.budget};
    ClaimWorker slow_worker(slow_parts);
    know_claim(sample_claim());
    std::optional<Status> worked;
    tasks.spawn(kube::test::store(slow_worker.work(key), worked));
    REQUIRE(run_until([&] { return slow.waiting; }));
    know_claim(changed);
    slow.go.notify_all();
    REQUIRE(run_until([&] { return worked.has_value(); }));
    CHECK(worked->ok());
    CHECK(journal.empty());
    CHECK(slow_ledger.room({"w", engine::Backend::kLvm, "default", kGiB}, "w")->free ==
          kGiB + kGiB);
  }
}

TEST_CASE_FIXTURE(Fixture, "an earlier try of ours whose answer was lost is found and taken in") {
  answers[kCreate] = {{409, refused("AlreadyExists")}};
  answers["GET " + kVolumePath] = {{200, volume_text(sample_spec(), "Pending")}};
  CHECK(work().ok());
  CHECK(journal == Calls{kCreate, "GET " + kVolumePath});
  CHECK(volumes.get("pvc-" + kUid) != nullptr);
  CHECK(events_written().empty());
}

TEST_CASE_FIXTURE(Fixture, "a volume of that name that is not ours is told, and tried again") {
  answers[kCreate] = {{409, refused("AlreadyExists")}};
  for (const std::string& other :
       {with(volume_text(sample_spec(), "Bound"), R"("flexlocal.io/node":"node-a")",
             R"("flexlocal.io/node":"node-b")"),
        with(volume_text(sample_spec(), "Bound"), R"("uid":")" + kUid, R"("uid":")" + kOtherUid)}) {
    answers["GET " + kVolumePath] = {{200, other}};
    CHECK(failure() == ErrorCode::kExists);
  }
  CHECK(events_written().find("exists already and is not this claim's") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "a create without an answer may have been carried out: its room stays taken") {
  broken[kCreate] = ErrorCode::kDeadline;
  CHECK(failure() == ErrorCode::kDeadline);
  CHECK(free_for_others() == kGiB);
  // It is not in its own way when it is tried again.
  broken.clear();
  CHECK(work().ok());
  CHECK(free_for_others() == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "what the class says is promised, and the volume's order is all of it") {
  put(classes, with(class_text(), "{",
                    R"({"mountOptions":["noatime","noexec"],"parameters":)"
                    R"({"fsType":"ext4","onDelete":"zero","readIOPS":"100","diskPerRam":"2",)"
                    R"("writeBandwidth":"1Mi","ioLimits":"required"},)"));
  CHECK(work().ok());
  const engine::VolumeSpec spec = provisioned();
  CHECK(spec.fs_type == engine::FsType::kExt4);
  CHECK(spec.on_delete == engine::OnDelete::kZero);
  CHECK(spec.limits == engine::IoLimits{100, 0, Bytes(0), kMiB, true});
  CHECK(spec.mount_options == std::vector<std::string>{"noatime", "noexec"});
  CHECK(storage.last_promise == spec);
  const auto order = written().order;
  REQUIRE(order.ok());
  CHECK(order->node == kNode);
  CHECK(order->node_uid == kUidOfNode);
  CHECK(order->disk_per_ram == Ratio::of_millionths(2 * Ratio::kOne));
  CHECK(order->term == 0);
}

TEST_CASE_FIXTURE(Fixture, "a class that names no policy has its volumes deleted") {
  put(classes, with(class_text(), R"("reclaimPolicy":"Delete",)", ""));
  CHECK(work().ok());
  CHECK(written().reclaim_policy == "Delete");
}

TEST_CASE_FIXTURE(Fixture, "a claim that is tried again gets the same copy") {
  answers[kCreate] = {{503, refused("ServiceUnavailable")}};
  CHECK(failure() == ErrorCode::kUnavailable);
  const auto first = storage.last_promise;
  REQUIRE(first.has_value());
  storage.last_promise.reset();
  CHECK(failure() == ErrorCode::kUnavailable);
  CHECK(storage.last_promise == first);
}

TEST_CASE_FIXTURE(Fixture, "what could not be read back is neither promised nor made, in words") {
  std::string words;
  SUBCASE("without the Node's uid") {
    parts.node.uid.clear();
    words = "no volume is made on node node-a: its Node had no uid when this daemon read it";
  }
  SUBCASE("without the Node's hostname") {
    parts.node.hostname.clear();
    words = "its Node had no label kubernetes.io/hostname when";
  }
  SUBCASE("with more mount options than an order has") {
    const std::string option = R"("noatime",)";
    std::string many;
    for (int i = 0; i < 16; ++i) many += option;
    put(classes, with(class_text(), "{", concat(R"({"mountOptions":[)", many, R"("noexec"],)")));
    words = "its order could not be read again: spec.mountOptions";
  }
  CHECK(failure() == ErrorCode::kInvalid);
  CHECK(journal.empty());
  CHECK_FALSE(storage.last_promise.has_value());
  CHECK(free_for_others() == kGiB + kGiB);
  CHECK(events_written().find(words) != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "a thin class without a thin pool hands the claim back, with the reason") {
  put(classes, with(class_text(), "{", R"({"parameters":{"backend":"thin"},)"));
  CHECK(work().ok());
  CHECK(journal == Calls{kHandBack});
  CHECK(events_written().find("has no thin-pool in this node's node.conf") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
