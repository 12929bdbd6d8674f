// A healthy node, and volumes on it, for the tests of what people are told.
#pragma once

#include "flexvolume/cli/node_facts.h"
#include "flexvolume/cli/volume_view.h"

namespace flexlocal::cli {

// One pool "default" on the group "data", and nothing to complain about.
NodeFacts healthy_node();

inline constexpr std::string_view kClaim = "0b1c2d3e-0000-4000-8000-00000000000a";
inline constexpr std::string_view kVolume = "pvc-0b1c2d3e-0000-4000-8000-00000000000a";
inline constexpr std::string_view kCluster = "11111111-2222-4333-8444-555555555555";

// A ready volume of 1 GiB on "data", of the claim above.
engine::Record example_record();
engine::LogicalVolume example_lv();
engine::MountEntry example_mount(std::string_view pod_uid = "77aa");

}  // namespace flexlocal::cli
