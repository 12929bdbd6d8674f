#include "flexvolume/engine/contract/pod_names.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {

std::string PodNames::path_of(const VolumeName& volume) const {
  return concat(folder_, '/', volume.text());
}

Status PodNames::keep(const VolumeName& volume, const NamedPod& pod) const {
  if (auto made = make_folders(folder_); !made) return made;
  return write_file_atomically(path_of(volume), concat(pod.uid, '\n', pod.name, '\n'), 0600);
}

std::vector<std::string> PodNames::lines_of(const VolumeName& volume) const {
  const auto text = read_file(path_of(volume), Bytes(4 * kKiB.count()));
  if (!text) return {};
  const auto lines = split(*text, '\n');
  return {lines.begin(), lines.end()};
}

std::string PodNames::last_uid(const VolumeName& volume) const {
  const auto lines = lines_of(volume);
  return lines.empty() ? std::string() : lines[0];
}

std::string PodNames::of(const VolumeName& volume, const std::string& pod_uid) const {
  const auto lines = lines_of(volume);
  return lines.size() > 1 && lines[0] == pod_uid ? printable(lines[1], 320) : std::string();
}

void PodNames::forget(const VolumeName& volume) const {
  static_cast<void>(remove_file(path_of(volume)));  // a few bytes until the next reboot
}

}  // namespace flexlocal::engine
