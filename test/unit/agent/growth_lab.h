// A growth to watch step by step: what the claim's worker asks of disks and API server.
#pragma once

#include "provisioner/agent/growth_worker.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {

using Calls = std::vector<std::string>;

inline const std::string kGrow = "grow pvc-" + kUid + " to 2048";
inline const std::string kRaise = "PATCH " + kVolumePath;
inline const std::string kTell = "PATCH " + kClaimPath + "/status";
inline constexpr Bytes kTwo = kGiB + kGiB;

// A volume of 1 GiB that is made and mounted, on a group with 2 GiB more; its claim asks for 2 GiB.
struct GrowthLab : NodeLab {
  GrowthWorker worker{parts};
  const std::string key = "shop/data";
  const std::string name = "pvc-" + kUid;

  GrowthLab() {
    know_volume(volume_text(sample_spec(), "Bound"));
    know_claim(bound_claim("2Gi"));
    storage.present.holdings = {{name, "group:vg", kGiB}};
    set_open(true);
    answers[kRaise] = {{200, grown_volume()}};
    answers[kTell] = {{200, claim_text(bound_claim("2Gi", "2Gi"))}};
  }
  static std::string grown_volume() {
    return with(raised_volume(), R"("annotations":{)",
                R"("annotations":{"flexlocal.io/granted":"2Gi",)");
  }
  // By the expand controller, which asks nobody.
  static std::string raised_volume() {
    return with(volume_text(sample_spec(), "Bound"), R"("storage":"1Gi")", R"("storage":"2Gi")");
  }
  void set_open(bool open) {
    engine::LogicalVolume volume;
    volume.name = name;
    volume.open = open;
    storage.present.volumes = {volume};
  }
  // As the expand controller of Kubernetes 1.37 leaves the claim, here of 2 GiB asked for.
  static Claim marked_claim(const std::string& requested, const std::string& allocated = "2Gi") {
    Claim claim = bound_claim(requested);
    claim.allocated = allocated;
    claim.resize_status = "NodeResizePending";
    claim.file_system_pending = true;
    return claim;
  }
  std::string status_written() { return body_of(kube::Method::kPatch, kClaimPath + "/status"); }
  bool wrote(const std::string& text) { return status_written().find(text) != std::string::npos; }
  Status work() { return wait_for(worker.work(key)); }
  ErrorCode failure() {
    const Status worked = work();
    REQUIRE_FALSE(worked.ok());
    return worked.error().code();
  }
  Bytes free_for_others() {
    REQUIRE(wait_for(ledger.refresh(true)).ok());
    const auto room =
        ledger.room({"pvc-other", engine::Backend::kLvm, "default", kGiB}, "shop/other");
    REQUIRE(room.ok());
    return room->free;
  }
};

}  // namespace flexlocal::provisioner::test
