// Putting the program where kubelet finds it.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/mount_table.h"

namespace flexlocal::plugin {

// Copies the program at `program` to "<plugin folder>/flexlocal.io~flexlocal/flexlocal".
// kubelet watches the folder and runs what it finds at any instant, so it never sees half a
// driver: the first install builds the driver's whole folder under a dot-name, which kubelet
// passes over, and renames it; an update renames a synced dot-file over the program.
// (pkg/volume/flexvolume/probe.go.) Repeatable; does nothing when the very program is there.
Status install(const std::string& program, const std::string& plugin_folder);

// Removes the driver's folder. kBusy, naming them, while volumes are mounted: without the program
// kubelet could never unmount them.
Status uninstall(const std::string& plugin_folder, const std::vector<engine::MountEntry>& table);

}  // namespace flexlocal::plugin
