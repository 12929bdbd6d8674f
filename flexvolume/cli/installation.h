// Putting the program where kubelet finds it.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/quota/shared_volume.h"
#include "flexvolume/engine/volume/volume_folder.h"

namespace flexlocal::cli {

// Copies the program at `program` to "<plugin folder>/flexlocal.io~flexlocal/flexlocal".
// kubelet watches the folder and runs what it finds at any instant, so it never sees half a
// driver: the first install builds the driver's whole folder under a dot-name, which kubelet
// passes over, and renames it; an update renames a synced dot-file over the program.
// (pkg/volume/flexvolume/probe.go.) Repeatable; does nothing when the very program is there.
Status install(const std::string& program, const std::string& plugin_folder);

// What flexlocal has on a host, beside volumes.
struct InstalledFiles {
  std::string plugin_folder;                              // kubelet's --volume-plugin-dir
  std::string pools{engine::kPoolFolder};                 // shared file systems are mounted in it
  std::vector<std::string> folders{"/var/lib/flexlocal",  // what goes whole; `pools` last
                                   "/run/flexlocal", std::string(engine::kPoolFolder)};
};

// Takes all of it away, the driver last, so that a call that failed can be repeated; node.conf is
// its administrator's, and stays. `volumes`: those that are on this node still, in words. kBusy,
// naming them, while there are some, or one is mounted: without the program kubelet could never
// unmount it, and without its record nobody would know whose it is. Pools' file systems are
// unmounted, and nothing that is mounted is ever gone into.
Status uninstall(const InstalledFiles& files, engine::Mounter& mounter,
                 const std::vector<std::string>& volumes);

}  // namespace flexlocal::cli
