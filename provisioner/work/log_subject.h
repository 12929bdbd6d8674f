// Whom a log line is about: every line about a claim or its volume names all three.
#pragma once

#include <string>

#include "provisioner/kube/informer.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Keys of log lines: namespace, claim, volume. Empty: not known.
struct LogSubject {
  std::string namespace_name;
  std::string claim;
  std::string volume;
};

// The volume is the one that is, or would be, provisioned for it.
LogSubject subject_of(const Claim& claim);
LogSubject subject_of(const Volume& volume);

// Of what may be gone: then its key says what it can, "namespace/name" or a volume's name.
LogSubject subject_of_claim(const std::string& key, const kube::Informer<Claim>& claims);
LogSubject subject_of_volume(const std::string& name, const kube::Informer<Volume>& volumes);

}  // namespace flexlocal::provisioner
