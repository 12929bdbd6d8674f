#include "provisioner/agent/grant_signer.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr Bytes kMostText(4 * kKiB.count());

constexpr std::string_view kHowToMake =
    "no grant key: create the Secret flexlocal-grant: kubectl -n flexlocal-system create secret "
    "generic flexlocal-grant --from-literal=grant.key=$(openssl rand -hex 32)";

struct Secret {
  std::string text;
  engine::GrantKeys keys;
};

Result<Secret> read_secret(const std::string& path) {
  // For owner and mode; what is signed with, and copied, is one reading.
  const auto loaded = engine::GrantKeys::load(path);
  if (!loaded && loaded.error().code() == ErrorCode::kNotFound)
    return Error(ErrorCode::kNotFound, std::string(kHowToMake));
  if (!loaded) return loaded.error().context("no grant key that can be used");
  auto text = read_file(path, kMostText);
  if (!text) return text.error();
  auto keys = engine::GrantKeys::parse(*text);
  if (!keys) return keys.error().context("no grant key that can be used");
  return Secret{std::move(*text), std::move(*keys)};
}

}  // namespace

Status GrantSigner::refresh() {
  auto taken = take_over();
  if (!taken) keys_.reset();
  const std::string now = taken ? std::string() : taken.error().message();
  if (now != told_) {
    if (taken)
      log_.info("there is a grant key: volumes are provisioned");
    else
      log_.warning("nothing is provisioned", {{"why", now}});
    told_ = now;
  }
  return taken;
}

Result<std::string> GrantSigner::sign(const engine::VolumeSpec& spec) {
  if (auto refreshed = refresh(); !refreshed) return refreshed.error();
  return keys_->sign(spec);
}

GrantSigner::Stamps GrantSigner::stamps() const {
  return {kube::FileStamp::of(files_.secret), kube::FileStamp::of(files_.host)};
}

Status GrantSigner::take_over() {
  // Taken before the files are read: what changes in between is seen the next time.
  const Stamps now = stamps();
  const bool both_exist = now[0].exists() && now[1].exists();
  if (keys_ && both_exist && now == taken_) return {};
  auto secret = read_secret(files_.secret);
  if (!secret) return secret.error();
  if (files_.host != files_.secret)
    if (auto updated = update_host(secret->keys, secret->text); !updated) return updated;
  keys_ = std::move(secret->keys);
  taken_ = now;
  return {};
}

Status GrantSigner::update_host(const engine::GrantKeys& keys, const std::string& text) {
  // What is malformed, or readable by others, is no key to the plugin: there is nothing to keep.
  if (const auto old_keys = engine::GrantKeys::load(files_.host)) {
    const auto old_text = read_file(files_.host, kMostText);
    if (old_text && *old_text == text) return {};
    if (auto valid = check_still_valid(*old_keys, keys); !valid) return valid;
  }
  if (auto written = write_file_atomically(files_.host, text, 0600); !written)
    return written.error().context("the host's copy of the grant key");
  log_.info("grant key copied to the host", {{"file", files_.host}});
  return {};
}

Status GrantSigner::check_still_valid(const engine::GrantKeys& old_keys,
                                      const engine::GrantKeys& keys) const {
  std::string lost;
  std::size_t count = 0;
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    const auto grant = volume.options.find(std::string(engine::kGrantKey));
    const auto spec = spec_of(volume);
    if (!spec || grant == volume.options.end()) return;
    if (!old_keys.verify(*spec, grant->second) || keys.verify(*spec, grant->second)) return;
    ++count;
    if (lost.empty() || name < lost) lost = name;
  });
  if (count == 0) return {};
  return Error(ErrorCode::kDenied,
               concat("the Secret flexlocal-grant has lost a key: ", count,
                      " volume(s) of this "
                      "node, ",
                      lost, " among them, could no longer be mounted, so the host keeps ",
                      files_.host, "; add its lines to the Secret's grant.key, below the new one"));
}

}  // namespace flexlocal::provisioner
