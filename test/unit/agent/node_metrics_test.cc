#include "provisioner/agent/node_metrics.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/version.h"
#include "flexvolume/engine/volume/durable_counter.h"
#include "provisioner/daemon/process_metrics.h"
#include "provisioner/work/priority.h"
#include "test/unit/agent/node_lab.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  kube::WorkQueue queue{manual, {}};
  TemporaryFolder counts;
  kube::Metrics metrics;

  Fixture() { show_node(metrics, parts, queue, config, counts.path("counters")); }

  bool shows(const std::string& line) const {
    return concat('\n', metrics.text()).find(concat('\n', line, '\n')) != std::string::npos;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "pools are shown as the last look at the disks had them") {
  CHECK(metrics.text().find("flexlocal_pool_size_bytes{") == std::string::npos);
  config.pools["default"].thin_pool = "thin";
  storage.present.spaces.push_back(
      {"thin:vg/thin", kGiB, kMiB, Bytes(1), {}, engine::Space::ThinUse{70, 5}});
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  for (int look = 0; look < 2; ++look) {
    CHECK(shows(R"(flexlocal_pool_size_bytes{pool="default",backend="lvm"} 2147483648)"));
    CHECK(shows(R"(flexlocal_pool_free_bytes{pool="default",backend="thin"} 1048576)"));
    CHECK(shows(R"(flexlocal_thin_pool_data_percent{pool="default",backend="thin"} 70)"));
    CHECK(shows(R"(flexlocal_thin_pool_metadata_percent{pool="default",backend="thin"} 5)"));
    CHECK(metrics.text().find(R"(percent{pool="default",backend="lvm"})") == std::string::npos);
    ledger.forget();  // something was removed: there is nothing newer to show yet
  }
}

TEST_CASE_FIXTURE(Fixture, "the budget of each pool is shown, and what of it is given") {
  CHECK(metrics.text().find("flexlocal_pool_given_bytes{") == std::string::npos);
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  parts.budget.memory = kGiB;
  know_volume(volume_text(sample_spec(), "Bound"));
  CHECK(shows(R"(flexlocal_pool_ram_budget_bytes{pool="default"} 29205777612)"));
  CHECK(shows(R"(flexlocal_pool_given_bytes{pool="default"} 1073741824)"));
  parts.budget.disk_per_ram = Ratio();
  CHECK(metrics.text().find("flexlocal_pool_ram_budget_bytes{") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "ready is when all lists are complete and the disks were looked at") {
  const auto said = [&] {
    const Status ready = node_readiness(parts);
    return ready ? std::string("ready") : ready.error().message();
  };
  CHECK(said() == "the list of claims is not complete yet");
  CHECK(shows("flexlocal_ready 0"));
  http.answer = [](const kube::HttpRequest&) -> Result<kube::HttpResponse> {
    return kube::HttpResponse{
        .status = 200, .body = R"({"metadata":{"resourceVersion":"1"}})", .retry_after = {}};
  };
  tasks.spawn(claims.run());
  tasks.spawn(volumes.run());
  tasks.spawn(classes.run());
  REQUIRE(run_until([&] { return said() == "this node's disks have not been looked at yet"; }));
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(said() == "ready");
  CHECK(shows("flexlocal_ready 1"));
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs: disk on fire");
  CHECK_FALSE(wait_for(ledger.refresh(true)).ok());
  CHECK(said() == "the last look at this node's disks failed: vgs: disk on fire");
  storage.inventory_status = Status();
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(said() == "ready");
  storage.mark = engine::InitMark();
  CHECK(said() == "ready");
  manual.advance(kInitPatience);
  CHECK(said().starts_with("kubelet has not called the plugin's init"));
  CHECK(shows("flexlocal_ready 0"));
  storage.mark = engine::InitMark(version());
  CHECK(said() == "ready");
}

TEST_CASE_FIXTURE(Fixture, "work is counted by class, failures beside it") {
  parts.work.provision.succeeded({"fast", ""}, std::chrono::milliseconds(20));
  parts.work.provision.failed({"fast", ""});
  parts.work.provision.failed({"slow", ""});
  parts.work.remove.succeeded({"fast"}, std::chrono::hours(2));
  parts.work.grow.failed({"fast"});
  parts.work.orphans.with({}).set(3);
  CHECK(shows(R"(controller_persistentvolumeclaim_provision_total{class="fast",source=""} 1)"));
  CHECK(shows(
      R"(controller_persistentvolumeclaim_provision_failed_total{class="slow",source=""} 1)"));
  CHECK(
      shows("controller_persistentvolumeclaim_provision_duration_seconds_bucket{class=\"fast\","
            "source=\"\",le=\"0.025\"} 1"));
  CHECK(shows(R"(controller_persistentvolume_delete_total{class="fast"} 1)"));
  CHECK(shows(R"(flexlocal_volume_grow_failed_total{class="fast"} 1)"));
  CHECK(shows("flexlocal_orphans 3"));
}

TEST_CASE_FIXTURE(Fixture, "what the plugin counted is shown, and what is damaged is not") {
  CHECK(shows("flexlocal_mounts_without_io_limits_total 0"));
  const engine::DurableCounter counter(counts.path("counters"), counts.path("locks"),
                                       engine::kIoLimitsNotApplied);
  REQUIRE(counter.add_one().ok());
  REQUIRE(counter.add_one().ok());
  CHECK(shows("flexlocal_mounts_without_io_limits_total 2"));
  const engine::DurableCounter refused(counts.path("counters"), counts.path("locks"),
                                       engine::kMountsRefused);
  REQUIRE(refused.note_one().ok());
  CHECK(shows("flexlocal_mounts_refused_total 1"));
  const std::string file = concat(counts.path("counters"), '/', engine::kIoLimitsNotApplied);
  REQUIRE(write_file_atomically(file, "many\n", 0644).ok());
  CHECK(metrics.text().find("flexlocal_mounts_without_io_limits_total") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "volumes are shown by phase, and those whose wiping has begun") {
  know_volume(volume_text(sample_spec(), "Bound"));
  CHECK(shows(R"(flexlocal_volumes{phase="Bound"} 1)"));
  engine::LogicalVolume wiped{};
  wiped.ownership.emplace();
  wiped.ownership->wiping = true;
  storage.present.volumes = {wiped, engine::LogicalVolume{}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(shows("flexlocal_wiping_volumes 1"));
  // One has a PersistentVolume again, and one is another cluster's.
  storage.present.retained = {
      {sample_spec().name.text(), kCluster}, {"pvc-kept", kCluster}, {"pvc-other", kOtherUid}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(shows("flexlocal_retained_volumes 1"));
}

TEST_CASE_FIXTURE(Fixture, "the client's requests, lists and queue are shown") {
  answers["GET /nothing"] = {{404, refused("NotFound")}};
  const std::string path = "/nothing";
  CHECK_FALSE(wait_for(api.get(path)).ok());
  broken["GET /nothing"] = ErrorCode::kUnavailable;
  CHECK_FALSE(wait_for(api.get(path)).ok());
  queue.add("a", kube::Priority::kAwaited);
  CHECK(shows(R"(rest_client_requests_total{code="404",method="GET"} 1)"));
  CHECK(shows(R"(rest_client_requests_total{code="<error>",method="GET"} 1)"));
  CHECK(shows(R"(rest_client_request_duration_seconds_count{verb="GET"} 2)"));
  CHECK(shows(R"(workqueue_depth{name="node",priority="awaited"} 1)"));
  CHECK(shows(R"(workqueue_adds_total{name="node",priority="background"} 0)"));
  CHECK(shows(R"(flexlocal_reflector_lists_total{kind="claims"} 0)"));
  CHECK(shows(R"(flexlocal_informer_objects{kind="volumes"} 0)"));
}

TEST_CASE("the process is shown, and what cannot be read is left out") {
  kube::Metrics metrics;
  show_process(metrics);
  bool leads = false;
  show_leader(metrics, [&] { return leads; });
  CHECK(metrics.text().find("\nflexlocal_leader 0\n") != std::string::npos);
  leads = true;
  CHECK(metrics.text().find("\nflexlocal_leader 1\n") != std::string::npos);
  for (const char* const name :
       {"\nprocess_cpu_seconds_total ", "\nprocess_open_fds ", "\nprocess_resident_memory_bytes ",
        "\nprocess_start_time_seconds ", "\nflexlocal_build_info{version=\""})
    CHECK(metrics.text().find(name) != std::string::npos);
  TemporaryFolder folder;
  kube::Metrics none;
  show_process(none, folder.path("proc"));
  CHECK(none.text().find("process_") == std::string::npos);
}

TEST_CASE("a program's name in /proc cannot move the figures behind it") {
  TemporaryFolder folder;
  REQUIRE(make_folders(folder.path("self/fd")).ok());
  // Fields 14 and 15 are processor time, 22 the start, 24 resident pages (proc(5)).
  REQUIRE(write_file_atomically(folder.path("self/stat"),
                                "7 (a) b 1 2) S 4 5 6 7 8 9 10 11 12 13 100 50 16 17 18 19 20 21 "
                                "300 23 2 25\n",
                                0644)
              .ok());
  REQUIRE(write_file_atomically(folder.path("stat"), "cpu 1\nbtime 1000\n", 0644).ok());
  kube::Metrics metrics;
  show_process(metrics, folder.path(""));
  const std::string text = metrics.text();
  CHECK(text.find("\nprocess_cpu_seconds_total 1.5\n") != std::string::npos);
  CHECK(text.find("\nprocess_resident_memory_bytes 8192\n") != std::string::npos);
  CHECK(text.find("\nprocess_start_time_seconds 1003\n") != std::string::npos);
  CHECK(text.find("\nprocess_open_fds 0\n") != std::string::npos);
}

TEST_CASE("a pod waits for what is to be made here or to be grown, and for nothing else") {
  constexpr auto kAwaited = kube::Priority::kAwaited;
  constexpr auto kBackground = kube::Priority::kBackground;
  Claim claim;
  claim.uid = "u";
  claim.requested = "2Gi";
  claim.selected_node = "here";
  CHECK(priority_of(&claim, nullptr, "here") == kAwaited);
  CHECK(priority_of(&claim, nullptr, "elsewhere") == kBackground);
  CHECK(priority_of(nullptr, nullptr, "here") == kBackground);
  claim.volume_name = "pvc-u";
  Volume volume;
  volume.claim_uid = "u";
  volume.capacity = "2Gi";
  CHECK(priority_of(&claim, &volume, "here") == kBackground);
  claim.requested = "2049Mi";
  CHECK(priority_of(&claim, &volume, "here") == kAwaited);
  claim.requested = "a lot";
  CHECK(priority_of(&claim, &volume, "here") == kBackground);
  claim.requested = "3Gi";
  volume.claim_uid = "another";
  CHECK(priority_of(&claim, &volume, "here") == kBackground);
  volume.claim_uid = "u";
  claim.deleting = true;
  CHECK(priority_of(&claim, &volume, "here") == kBackground);
}

}  // namespace flexlocal::provisioner::test
