#include "flexvolume/engine/contract/volume_kinds.h"

#include <optional>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

template <typename Kind>
struct Word {
  Kind kind;
  std::string_view text;
};

constexpr std::array<Word<Backend>, 3> kBackends = {
    {{Backend::kLvm, "lvm"}, {Backend::kThin, "thin"}, {Backend::kQuota, "quota"}}};
constexpr std::array<Word<FsType>, 2> kFsTypes = {{{FsType::kXfs, "xfs"}, {FsType::kExt4, "ext4"}}};
constexpr std::array<Word<OnDelete>, 3> kWipes = {
    {{OnDelete::kDiscard, "discard"}, {OnDelete::kZero, "zero"}, {OnDelete::kNone, "none"}}};
constexpr std::array<Word<AccessMode>, 2> kAccessModes = {
    {{AccessMode::kReadWriteOnce, "ReadWriteOnce"},
     {AccessMode::kReadWriteOncePod, "ReadWriteOncePod"}}};
constexpr std::array<std::string_view, 6> kMountOptions = {"noatime",     "nodiratime", "relatime",
                                                           "strictatime", "noexec",     "discard"};

template <typename Kind, std::size_t N>
std::string_view word_of(const std::array<Word<Kind>, N>& words, Kind kind) {
  for (const auto& word : words)
    if (word.kind == kind) return word.text;
  return {};
}

template <typename Kind, std::size_t N>
Result<Kind> kind_of(const std::array<Word<Kind>, N>& words, std::string_view what,
                     std::string_view text) {
  std::vector<std::string> accepted;
  for (const auto& word : words) {
    if (word.text == text) return word.kind;
    accepted.emplace_back(word.text);
  }
  return Error(ErrorCode::kInvalid, concat(what, " \"", printable(text, 40),
                                           "\" is not known; accepted: ", join(accepted, ", ")));
}

}  // namespace

std::string_view to_string(Backend backend) { return word_of(kBackends, backend); }
std::string_view to_string(FsType type) { return word_of(kFsTypes, type); }
std::string_view to_string(OnDelete wipe) { return word_of(kWipes, wipe); }
std::string_view to_string(AccessMode mode) { return word_of(kAccessModes, mode); }

Result<Backend> parse_backend(std::string_view text) { return kind_of(kBackends, "backend", text); }
Result<FsType> parse_fs_type(std::string_view text) {
  return kind_of(kFsTypes, "file system", text);
}
Result<OnDelete> parse_on_delete(std::string_view text) {
  return kind_of(kWipes, "onDelete", text);
}

Result<AccessMode> parse_access_mode(std::string_view text) {
  return kind_of(kAccessModes, "access mode", text);
}

Bytes smallest(Backend backend, FsType type) {
  if (backend == Backend::kQuota) return kMiB;
  return type == FsType::kXfs ? Bytes(300 * kMiB.count()) : Bytes(16 * kMiB.count());
}

Status check_size(Backend backend, FsType type, Bytes size) {
  const Bytes least = smallest(backend, type);
  if (size >= least) return {};
  const std::string_view advice = backend != Backend::kQuota && type == FsType::kXfs
                                      ? "; for less take backend quota or file system ext4"
                                      : "";
  const std::string what = backend == Backend::kQuota
                               ? std::string("a quota folder")
                               : concat("an ", to_string(type), " file system");
  return Error(ErrorCode::kInvalid, concat(to_string(size), " is too small: ", what,
                                           " needs at least ", to_string(least), advice));
}

Status check_mount_option(Backend backend, std::string_view option) {
  std::vector<std::string> accepted;
  for (const std::string_view known : kMountOptions) {
    if (known == "discard" && backend == Backend::kQuota) continue;
    if (known == option) return {};
    accepted.emplace_back(known);
  }
  return Error(ErrorCode::kInvalid,
               concat("mount option \"", printable(option, 40),
                      "\" is not possible here; accepted: ", join(accepted, ", ")));
}

}  // namespace flexlocal::engine
