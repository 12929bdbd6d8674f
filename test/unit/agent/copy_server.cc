#include "test/unit/agent/copy_server.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "test/unit/objects/json_merge.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::HttpResponse;

HttpResponse response(int status, std::string body) {
  return {.status = status, .body = std::move(body), .retry_after = {}};
}

HttpResponse refusal(int status, std::string_view reason) {
  return response(status, concat(R"({"kind":"Status","reason":")", reason, R"("})"));
}

std::string without(const std::string& object, const std::vector<std::string>& fields) {
  const auto document = parsed(object);
  JsonWriter json;
  json.begin_object();
  document.root().for_each_member([&](std::string_view name, JsonView value) {
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) json.key(name).value(value);
  });
  json.end_object();
  return json.take();
}

}  // namespace

void CopyServer::order(const CopyOrder& order) {
  const auto [known, made] = objects_.try_emplace(copy_name(order));
  Object& object = known->second;
  const std::string created = copy_json(order);
  if (made)
    object.uid = concat("00000000-0000-4000-8000-00000000000", ++uids_);
  else if (created != object.created)
    ++object.generation;
  object.created = created;
  object.version = ++versions_;
}

void CopyServer::make_anew(const CopyOrder& order) {
  objects_.erase(copy_name(order));
  this->order(order);
}

void CopyServer::set_status(const std::string& name, const CopyStatus& status) {
  JsonWriter json;
  write_status(json, status);
  Object& object = objects_.at(name);
  object.status = merged(object.status, parsed(json.take()).root());
  object.version = ++versions_;
}

std::string CopyServer::text(const std::string& name) const {
  const Object& object = objects_.at(name);
  const std::string meta = concat(R"("metadata":{"uid":")", object.uid, R"(","resourceVersion":")",
                                  object.version, R"(","generation":)", object.generation, ',');
  std::string text = with(object.created, R"("metadata":{)", meta);
  if (!spec_from.empty()) text = with(text, spec_from, spec_to);
  text.pop_back();
  return concat(text, R"(,"status":)", object.status, '}');
}

VolumeCopy CopyServer::copy(const std::string& name) const {
  return *decode_copy(parsed(text(name)).root());
}

std::string CopyServer::list() const {
  std::vector<std::string> items;
  for (const auto& [name, object] : objects_) items.push_back(text(name));
  return concat(R"({"metadata":{"resourceVersion":")", versions_, R"("},"items":[)",
                join(items, ","), "]}");
}

Result<HttpResponse> CopyServer::answer(const kube::HttpRequest& request) {
  if (!alive()) return Error(ErrorCode::kCancelled, "the process has ended");
  for (auto& [name, object] : objects_) {
    if (request.method == kube::Method::kGet && request.target == copy_path(name)) {
      journal_.push_back("GET");
      return response(200, text(name));
    }
    if (request.method != kube::Method::kPatch || request.target != copy_status_path(name))
      continue;
    auto patched = patch(object, parsed(request.body).root());
    if (patched.status == 200) patched.body = text(name);
    if (std::exchange(loses_answer, false)) return Error(ErrorCode::kUnavailable, "no answer");
    return patched;
  }
  journal_.push_back("404");
  return refusal(404, "NotFound");
}

HttpResponse CopyServer::patch(Object& object, JsonView sent) {
  const JsonView meta = sent["metadata"];
  const bool same =
      meta["uid"].text() == object.uid && meta["resourceVersion"].text() == concat(object.version);
  if (!same) {
    journal_.push_back("409");
    return refusal(409, "Conflict");
  }
  const std::string status = without(merged(object.status, sent["status"]), unknown_fields);
  journal_.push_back(concat("PATCH ", parsed(status).root()["state"].text()));
  // What changes nothing is not written.
  if (status != object.status) object.version = ++versions_;
  object.status = status;
  return response(200, {});
}

}  // namespace flexlocal::provisioner::test
