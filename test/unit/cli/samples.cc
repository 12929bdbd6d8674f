#include "test/unit/cli/samples.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/tools.h"

namespace flexlocal::cli {

NodeFacts healthy_node() {
  engine::NodeConfig config;
  config.pools["default"].volume_group = "data";
  std::vector<ToolFact> tools;
  for (const engine::Tool& tool : engine::all_tools())
    tools.push_back(
        {std::string(tool.name), std::string(tool.package), concat("/usr/sbin/", tool.name), true});
  return NodeFacts{
      .root = true,
      .config = config,
      .tools = tools,
      .versions = {{"lvm2", "2.03.16(2)"}, {"xfsprogs", "6.1.0"}},
      .kernel = {{"xfs", true, false}, {"ext4", true, false}, {"dm-thin-pool", false, false}},
      .device_mapper = true,
      .lvm_locks = {"/run/lock/lvm", true},
      .groups = std::vector<GroupFact>{{"data", Bytes(10 * kGiB.count()), Bytes(3 * kGiB.count()),
                                        Bytes(4 * kMiB.count()), 2, 0}},
      .volumes = std::vector<LogicalVolumeFact>{},
      .mounts = std::vector<engine::MountEntry>{},
      .kubelet_dir = {"/var/lib/kubelet", true},
      .plugin_dir = {"/exec", true},
      .installed_version = std::string("v1"),
      .own_version = "v1",
      .init_mark = engine::InitMark("v1"),
      .cgroups = CgroupFacts{{engine::CgroupVersion::kV1, "/sys/fs/cgroup/blkio"}},
      .records = RecordFacts{3, {}}};
}

engine::Record example_record() {
  return engine::Record{.spec = {.name = *engine::VolumeName::parse(kVolume),
                                 .copy = "c0c1c2c3c4c5c6c7",
                                 .cluster_id = std::string(kCluster),
                                 .claim_namespace = "shop",
                                 .pool = "default",
                                 .size = kGiB},
                        .state = engine::RecordState::kReady,
                        .attempt = "a1",
                        .device_uuid = "LVM-xy",
                        .volume_group = "data",
                        .claim_uid = std::string(kClaim)};
}

engine::LogicalVolume example_lv() {
  engine::LogicalVolume lv;
  lv.group = "data";
  lv.name = kVolume;
  lv.uuid = "x-y";
  lv.device_uuid = "LVM-xy";
  lv.size = kGiB;
  lv.active = true;
  engine::Ownership tags;
  tags.copy = "c0c1c2c3c4c5c6c7";
  tags.cluster_id = kCluster;
  tags.claim_uid = kClaim;
  tags.claim_namespace = "shop";
  tags.pool = "default";
  tags.size = kGiB;
  tags.ready = true;
  lv.ownership = tags;
  return lv;
}

engine::MountEntry example_mount(std::string_view pod_uid) {
  return {"253:0",
          "/",
          concat("/var/lib/kubelet/pods/", pod_uid, "/volumes/flexlocal.io~flexlocal/", kVolume),
          "xfs",
          engine::device_path("data", kVolume),
          "rw"};
}

}  // namespace flexlocal::cli
