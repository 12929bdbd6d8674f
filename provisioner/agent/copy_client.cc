#include "provisioner/agent/copy_client.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/kept.h"
#include "provisioner/objects/names.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// An API server that dropped what it was told would ask for it again and again.
Status check_answer(const std::string& sent, JsonView kept) {
  const auto patch = JsonDocument::parse(sent);
  if (!patch) return patch.error();
  return check_kept(patch->root(), kept);
}

}  // namespace

kube::ResourceKind copies_of(const std::string& node) {
  return {"volumecopies", copies_path(), concat(kNodeLabel, '=', node), {}};
}

kube::Task<Result<std::optional<VolumeCopy>>> CopyClient::read(const VolumeCopy& known) {
  const std::string path = copy_path(known.name);
  auto answer = co_await api_.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound)
    co_return std::optional<VolumeCopy>();
  if (!answer) co_return answer.error().context("reading the order anew");
  auto latest = decode_copy(answer->root());
  if (latest && latest->uid != known.uid) latest.reset();
  if (!latest || !confirm_) co_return latest;
  const VolumeCopy& copy = *latest;
  const auto confirmed = co_await confirm_(copy);
  if (!confirmed) co_return confirmed.error();
  co_return latest;
}

kube::Task<Result<VolumeCopy>> CopyClient::answer(const VolumeCopy& known,
                                                  const CopyStatus& status) {
  const std::string path = copy_status_path(known.name);
  const std::string body = status_patch(known, status);
  auto answer = co_await api_.merge_patch(path, body);
  if (!answer) co_return answer.error().context("answering the order");
  if (auto kept = check_answer(body, answer->root()); !kept) co_return kept.error();
  auto latest = decode_copy(answer->root());
  if (!latest) co_return Error(ErrorCode::kInvalid, "the answered order has no name");
  copies_.put(answer->root());
  co_return std::move(*latest);
}

}  // namespace flexlocal::provisioner
