// What the cluster role keeps of objects that the node role does not look at.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "flexvolume/base/json.h"

namespace flexlocal::provisioner {

struct Node {
  std::string name;
  bool ready = false;     // its condition Ready is True
  bool cordoned = false;  // spec.unschedulable
  std::string uid{};
  std::optional<std::string> ready_label{};  // see node_label.h
  std::map<std::string, std::string> labels{};
};

// nullopt when it has no name.
std::optional<Node> decode_node(JsonView object);

// The Secret of the grant keys.
struct GrantSecret {
  std::string uid;
  std::string resource_version;
  std::optional<std::string> keys;  // the text of grant.key, decoded; nullopt: there is none
  std::string rotation_asked;       // annotation flexlocal.io/rotate
  std::string rotation_done;        // the request that was carried out last
};

GrantSecret decode_grant_secret(JsonView object);

}  // namespace flexlocal::provisioner
