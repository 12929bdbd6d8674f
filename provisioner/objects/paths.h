// Where the API server has the objects that the daemon reads and writes. All but
// CSIStorageCapacities, whose version differs: see capacity_object.h.
#pragma once

#include <string>
#include <string_view>

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// `namespace_name` empty: those of all namespaces.
std::string claims_path(const std::string& namespace_name = {});
std::string claim_path(const Claim& claim);
std::string claim_status_path(const Claim& claim);
std::string volumes_path();
std::string volume_path(const std::string& name);
std::string classes_path();
std::string nodes_path();
std::string node_path(const std::string& name);
std::string pods_path(const std::string& namespace_name);
std::string namespace_path(const std::string& name);
std::string daemon_set_path(const std::string& namespace_name, const std::string& name);
// The Leases of the node daemons, and that of the one on `node`.
std::string heartbeats_path(const std::string& namespace_name);
std::string heartbeat_path(const std::string& namespace_name, const std::string& node);
std::string copies_path();
std::string copy_path(const std::string& name);
std::string copy_status_path(const std::string& name);
std::string drivers_path();

// The field selector that leaves the one object of that name.
std::string by_name(std::string_view name);

}  // namespace flexlocal::provisioner
