#include "provisioner/kube/credentials.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/credential_text.h"

namespace flexlocal::kube {

Result<Credentials> Credentials::load(const ClusterConfig& config, const Clock& clock, Log& log,
                                      std::chrono::nanoseconds interval, LatestIssue latest) {
  Credentials credentials(config, clock, log, interval, std::move(latest));
  credentials.looked_ = clock.now();
  credentials.stamps_ = credentials.stamps();
  auto set = credentials.read();
  if (!set) return set.error();
  credentials.set_ = std::make_shared<const CredentialSet>(std::move(*set));
  return credentials;
}

std::shared_ptr<const CredentialSet> Credentials::current() {
  const auto now = clock_->now();
  if (now - looked_ >= interval_) {
    looked_ = now;
    read_changed_files();
  }
  if (latest_) take_issue();
  return set_;
}

void Credentials::read_changed_files() {
  // Taken before the files are read: what changes in between is seen the next time.
  const Stamps seen = stamps();
  if (seen == stamps_) return;
  stamps_ = seen;
  auto set = read();
  if (set) {
    set_ = std::make_shared<const CredentialSet>(std::move(*set));
    issue_ = nullptr;
  } else {
    log_->warning("credentials changed but cannot be read; the old ones stay",
                  {{"error", set.error().message()}});
  }
}

void Credentials::take_issue() {
  const auto latest = latest_();
  if (latest == issue_) return;
  set_ = std::make_shared<const CredentialSet>(
      CredentialSet{set_->ca, latest->certificate, latest->key, latest->token});
  issue_ = latest;
}

Credentials::Stamps Credentials::stamps() const {
  const auto stamp = [](const FileOrData& source) {
    return source.file.empty() ? FileStamp() : FileStamp::of(source.file);
  };
  return {stamp(config_.ca), stamp(config_.token), stamp(config_.client_certificate),
          stamp(config_.client_key)};
}

Result<CredentialSet> Credentials::read() const {
  auto ca = content_of(config_.ca, "reading the CA");
  if (!ca) return ca.error();
  auto certificate = content_of(config_.client_certificate, "reading the client certificate");
  if (!certificate) return certificate.error();
  auto key = content_of(config_.client_key, "reading the client key");
  if (!key) return key.error();
  auto token = content_of(config_.token, "reading the token");
  if (!token) return token.error();
  CredentialSet set{std::move(*ca), std::move(*certificate), std::move(*key),
                    std::string(trim(*token))};
  if (!fits_header(set.token))
    return Error(ErrorCode::kInvalid, "the token has characters that no token has");
  return set;
}

}  // namespace flexlocal::kube
