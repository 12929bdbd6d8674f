#include "flexvolume/engine/contract/grant.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/hex.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::size_t kKeyBytes = crypto_auth_hmacsha256_KEYBYTES;
constexpr std::size_t kKeyIdBytes = 4;
constexpr std::size_t kMacBytes = crypto_auth_hmacsha256_BYTES;
constexpr std::string_view kVersion = "1";

// One "key=value" line each, sorted by the map. No value can hold a newline: the spec was parsed.
std::string message_of(const VolumeSpec& spec) {
  std::string message =
      concat("flexlocal grant 1\nname=", spec.name.text(), "\nfsType=", to_string(spec.fs_type));
  for (const auto& [key, value] : to_options(spec)) message += concat('\n', key, '=', value);
  return message;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// HMAC-SHA256 of libsodium, which needs no start: libcrypto's providers cost each mount sixty
// pages.
std::string hmac(const std::string& key, std::string_view message) {
  std::array<unsigned char, kMacBytes> mac{};
  ::crypto_auth_hmacsha256(mac.data(), bytes_of(message), message.size(), bytes_of(key));
  return {mac.begin(), mac.end()};
}

// Tells which key signed, and nothing about the key.
std::string key_id(const std::string& key) {
  return to_hex(hmac(key, "flexlocal key id").substr(0, kKeyIdBytes));
}

// The proof in a grant, or nothing when it has not the shape of one. The key's id is for people and
// is not looked at: to compare it would cost each mount a second HMAC and prove nothing.
std::optional<std::string> mac_of(std::string_view grant) {
  const auto parts = split(grant, '-');
  if (parts.size() != 3 || parts[0] != kVersion || parts[1].size() != 2 * kKeyIdBytes)
    return std::nullopt;
  auto mac = from_hex(parts[2]);
  return mac && mac->size() == kMacBytes ? mac : std::nullopt;
}

std::string grant_of(const std::string& key, const std::string& message) {
  return concat(kVersion, '-', key_id(key), '-', to_hex(hmac(key, message)));
}

}  // namespace

Result<GrantKeys> GrantKeys::parse(std::string_view text) {
  std::vector<std::string> keys;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view digits = trim(line);
    if (digits.empty()) continue;
    auto key = from_hex(digits);
    if (!key || key->size() != kKeyBytes || keys.size() == kMostKeys)
      return Error(ErrorCode::kInvalid,
                   concat("a grant key file has 1 to ", kMostKeys,
                          " lines of 64 hexadecimal digits, the present key first; make one with "
                          "`openssl rand -hex 32`"));
    keys.push_back(std::move(*key));
  }
  if (keys.empty()) return Error(ErrorCode::kInvalid, "the grant key file is empty");
  return GrantKeys(std::move(keys));
}

Result<GrantKeys> GrantKeys::load(const std::string& path) {
  const auto fd = open_file(path, O_RDONLY);
  if (!fd && fd.error().code() == ErrorCode::kNotFound)
    return Error(ErrorCode::kNotFound,
                 concat(path,
                        " is missing; the node daemon writes it from the Secret "
                        "flexlocal-grant: see whether it runs"));
  if (!fd) return fd.error();
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return Error::from_errno(errno, path);
  if ((status.st_uid != 0 && status.st_uid != ::geteuid()) || (status.st_mode & 077U) != 0)
    return Error(ErrorCode::kDenied,
                 concat(path, " can be read by others than root; its mode must be 0600"));
  const auto text = read_file(descriptor_path(*fd), Bytes(4 * kKiB.count()));
  if (!text) return text.error();
  auto keys = parse(*text);
  if (!keys) return keys.error().context(path);
  return keys;
}

std::string GrantKeys::sign(const VolumeSpec& spec) const {
  return grant_of(keys_.front(), message_of(spec));
}

Status GrantKeys::verify(const VolumeSpec& spec, std::string_view grant) const {
  const std::string message = message_of(spec);
  const auto mac = mac_of(grant);
  for (const std::string& key : keys_) {
    if (!mac) break;
    // Compares in constant time. Keys and the proof have their lengths: parse() and mac_of().
    if (::crypto_auth_hmacsha256_verify(bytes_of(*mac), bytes_of(message), message.size(),
                                        bytes_of(key)) == 0)
      return {};
  }
  return Error(ErrorCode::kDenied,
               grant.empty() ? "the volume carries no grant: only volumes that flexlocal "
                               "provisioned for a claim can be mounted"
                             : "the volume's grant is not valid for its options: only volumes that "
                               "flexlocal provisioned for a claim can be mounted");
}

}  // namespace flexlocal::engine
