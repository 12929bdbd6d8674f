#include "provisioner/controller/grant_keeper.h"

#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

Task<Status> GrantKeeper::look() {
  const std::string path = grant_secret_path(parts_.options.namespace_name);
  const auto answer = co_await parts_.api.get(path);
  if (!answer && answer.error().code() != ErrorCode::kNotFound)
    co_return answer.error().context("reading the Secret of the grant keys");
  std::optional<GrantSecret> secret;
  if (answer) secret = decode_grant_secret(answer->root());
  const GrantSecretPlan plan = plan_grant_secret(secret, signed_volumes());
  const auto* trouble = std::get_if<SecretTrouble>(&plan);
  tell(secret, trouble != nullptr ? trouble->why : std::string());
  Status done;
  if (std::holds_alternative<MakeSecret>(plan)) done = co_await make();
  if (std::holds_alternative<RotateSecret>(plan)) done = co_await rotate(*secret);
  co_return done;
}

Task<Status> GrantKeeper::make() {
  const std::string& namespace_name = parts_.options.namespace_name;
  const std::string path = secrets_path(namespace_name);
  const std::string body = grant_secret_json(namespace_name, make_grant_key());
  const auto made = co_await parts_.api.create(path, body);
  // Somebody made it meanwhile: theirs it is.
  if (!made && made.error().code() == ErrorCode::kExists) co_return Status();
  if (!made) co_return made.error().context("making the Secret of the grant keys");
  parts_.work.grant_keys_made.with({"first"}).add();
  parts_.log.info("grant key made", {{"secret", kGrantSecretName}});
  co_return Status();
}

Task<Status> GrantKeeper::rotate(const GrantSecret& secret) {
  const std::string path = grant_secret_path(parts_.options.namespace_name);
  const std::string body = rotation_patch(secret, make_grant_key());
  const auto done = co_await parts_.api.merge_patch(path, body);
  if (!done) co_return done.error().context("putting a new grant key on top");
  parts_.work.grant_keys_made.with({"rotation"}).add();
  parts_.log.info("grant key rotated",
                  {{"secret", kGrantSecretName}, {"request", secret.rotation_asked}});
  co_return Status();
}

// The same trouble once in the log; the event's recorder counts.
void GrantKeeper::tell(const std::optional<GrantSecret>& secret, const std::string& trouble) {
  if (trouble == told_) return;
  told_ = trouble;
  if (trouble.empty()) return;
  parts_.log.warning("grant key", {{"trouble", trouble}});
  kube::ObjectReference reference{.kind = "Secret",
                                  .namespace_name = parts_.options.namespace_name,
                                  .name = std::string(kGrantSecretName),
                                  .uid = secret ? secret->uid : std::string(),
                                  .api_version = "v1",
                                  .resource_version = {}};
  parts_.events.record(
      {std::move(reference), kube::EventType::kWarning, "GrantKeyTrouble", trouble});
}

std::size_t GrantKeeper::signed_volumes() const {
  std::size_t count = 0;
  parts_.volumes.for_each([&](const std::string&, const Volume& volume) {
    if (volume.options.contains(std::string(engine::kGrantKey))) ++count;
  });
  return count;
}

}  // namespace flexlocal::provisioner
