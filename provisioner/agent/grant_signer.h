// Signs what is provisioned, by the key that only the installation has.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/contract/grant.h"
#include "provisioner/kube/file_stamp.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

struct GrantFiles {
  // As kubelet mounts the Secret "flexlocal-grant": a link that moves when the Secret changes.
  std::string secret = "/etc/flexlocal-grant/grant.key";
  // The host's copy, by which the plugin verifies. The same path as `secret`: nothing is copied.
  std::string host{engine::kGrantKeyPath};
};

// The plugin must know a key before anything is signed by it, and as long as a volume that it
// signed is there: so the host's copy is written first, and is never replaced by keys that would
// make a volume of this node impossible to mount.
//
// The files are small and the one is memory (a Secret is a tmpfs), so they are read by the event
// loop; the host's is written once for each change of the Secret.
class GrantSigner {
 public:
  GrantSigner(GrantFiles files, const kube::Informer<Volume>& volumes, Log& log)
      : files_(std::move(files)), volumes_(volumes), log_(log) {}

  // Takes the Secret's file as it is now, and makes the host's copy the same. Files that are as
  // they were when that was done last are not read again. The error is a sentence that says what to
  // do; it is logged once for each cause. To be called when the list of volumes is complete.
  Status refresh();

  // After a refresh() of its own, since the Secret may have changed at any time. There is no volume
  // without a grant: an error means that nothing may be provisioned.
  Result<std::string> sign(const engine::VolumeSpec& spec);

 private:
  // Of the Secret's file and the host's.
  using Stamps = std::array<kube::FileStamp, 2>;

  Status take_over();
  Stamps stamps() const;
  Status update_host(const engine::GrantKeys& keys, const std::string& text);
  Status check_still_valid(const engine::GrantKeys& old_keys, const engine::GrantKeys& keys) const;

  GrantFiles files_;
  const kube::Informer<Volume>& volumes_;
  Log& log_;
  std::optional<engine::GrantKeys> keys_;  // nothing: none that may be used
  Stamps taken_;                           // of the files that keys_ is from
  std::string told_;                       // the error that was logged last
};

}  // namespace flexlocal::provisioner
