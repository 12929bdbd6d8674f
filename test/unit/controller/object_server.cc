#include "test/unit/controller/object_server.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"
#include "test/unit/objects/json_merge.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::HttpResponse;
using kube::Method;

HttpResponse response(int status, std::string body) {
  return {.status = status, .body = std::move(body), .retry_after = {}};
}

HttpResponse refusal(int status, std::string_view reason = "") {
  return response(status,
                  concat(R"({"kind":"Status","message":"refused","reason":")", reason, R"("})"));
}

std::string text_at(const std::string& object, std::string_view outer, std::string_view inner) {
  const auto document = parsed(object);
  return std::string(document.root()[outer][inner].text());
}

bool has_finalizers(const std::string& object) {
  return parsed(object).root()["metadata"]["finalizers"].size() > 0;
}

bool is_deleting(const std::string& object) {
  return parsed(object).root()["metadata"]["deletionTimestamp"].exists();
}

std::string spec_of(const std::string& object) { return parsed(object).root()["spec"].dump(); }

// Whether `conditions` names nothing else than the object's own uid and version.
bool holds(JsonView conditions, const std::string& object) {
  return std::ranges::all_of(
      std::vector<std::string>{"uid", "resourceVersion"}, [&](const std::string& field) {
        return !conditions[field].exists() ||
               conditions[field].text() == text_at(object, "metadata", field);
      });
}

bool is_list(const kube::HttpRequest& request) {
  return request.method == Method::kGet && request.target.find('?') != std::string::npos;
}

// "PATCH persistentvolumeclaims/status".
std::string entry_of(const kube::HttpRequest& request) {
  std::string path = request.target.substr(0, request.target.find('?'));
  if (is_list(request)) return concat("LIST ", path.substr(path.rfind('/') + 1));
  const bool of_status = path.ends_with("/status");
  if (of_status) path.resize(path.rfind('/'));
  if (request.method != Method::kPost) path.resize(path.rfind('/'));
  return concat(to_string(request.method), ' ', path.substr(path.rfind('/') + 1),
                of_status ? "/status" : "");
}

}  // namespace

std::string ObjectServer::store(const std::string& path, const std::string& object) {
  const std::string version = concat(R"({"metadata":{"resourceVersion":")", ++versions_, R"("}})");
  return objects_[path] = merged(object, version);
}

std::string ObjectServer::put(const std::string& path, const std::string& object) {
  return store(path, object);
}

void ObjectServer::put_back(const std::string& path, const std::string& version) {
  objects_.at(path) =
      merged(objects_.at(path), concat(R"({"metadata":{"resourceVersion":")", version, R"("}})"));
}

std::string ObjectServer::patch(const std::string& path, const std::string& patch) {
  return store(path, merged(objects_.at(path), patch));
}

std::vector<std::string> ObjectServer::paths(const std::string& collection) const {
  std::vector<std::string> found;
  for (const auto& [path, object] : objects_)
    if (path.starts_with(collection + '/')) found.push_back(path);
  return found;
}

std::string ObjectServer::list(const std::string& resource, const IsSelected& is_selected) const {
  return list_where([&](const std::string& path) {
    return path.find(concat('/', resource, '/')) != std::string::npos &&
           (!is_selected || is_selected(objects_.at(path)));
  });
}

std::string ObjectServer::list_where(const std::function<bool(const std::string&)>& is_in) const {
  std::vector<std::string> items;
  for (const auto& [path, object] : objects_)
    if (is_in(path)) items.push_back(object);
  return concat(R"({"metadata":{"resourceVersion":")", versions_, R"("},"items":[)",
                join(items, ","), "]}");
}

HttpResponse ObjectServer::answer(const kube::HttpRequest& request) {
  const std::string entry = entry_of(request);
  if (entry.ends_with(" events")) {
    events.push_back(request.body);
    return response(201, "{}");
  }
  if (request.target.ends_with("?dryRun=All")) return try_create(request.target, request.body);
  journal.push_back(entry);
  if (auto& script = fails[entry]; !script.empty()) {
    const int status = script.front();
    script.erase(script.begin());
    return refusal(status, status == 409 ? "Conflict" : "");
  }
  std::string path = request.target;
  if (is_list(request)) {
    const std::string collection = path.substr(0, path.find('?')) + '/';
    return response(
        200, list_where([&](const std::string& each) { return each.starts_with(collection); }));
  }
  HttpResponse answered = refusal(404, "NotFound");
  if (path.ends_with("/status")) path.resize(path.rfind('/'));
  if (request.method == Method::kPost)
    answered = create(path, request.body);
  else if (!has(path))
    return answered;
  else if (request.method == Method::kGet)
    answered = response(200, text(path));
  else if (request.method == Method::kPatch)
    answered = merge(path, request.body);
  else
    answered = remove(path, request.body);
  if (loses_answer_of != entry) return answered;
  loses_answer_of.clear();
  return refusal(504, "Timeout");
}

HttpResponse ObjectServer::try_create(const std::string& path, const std::string& object) {
  ++trials;
  if (refuses_trials) return refusal(400, "BadRequest");
  if (!unknown_state.empty() && object.find(concat('"', unknown_state, '"')) != std::string::npos)
    return response(422, R"({"kind":"Status","message":"spec.desiredState: Unsupported value"})");
  const std::string collection = path.substr(0, path.find('?'));
  const HttpResponse answered = response(201, pruned(concat(collection, '/'), object));
  if (!unknown_after_trial.empty()) unknown_field = std::exchange(unknown_after_trial, "");
  return answered;
}

HttpResponse ObjectServer::create(const std::string& collection, const std::string& object) {
  const std::string path = concat(collection, '/', text_at(object, "metadata", "name"));
  if (has(path)) return refusal(409, "AlreadyExists");
  const std::string uid = concat("00000000-0000-4000-8000-00000000000", ++uids_);
  const std::string made = concat(R"({"metadata":{"generation":1,"uid":")", uid, R"("}})");
  return response(201, store(path, merged(pruned(path, object), made)));
}

HttpResponse ObjectServer::merge(const std::string& path, const std::string& patch) {
  const std::string known = objects_.at(path);
  const auto sent = parsed(patch);
  if (!holds(sent.root()["metadata"], known)) return refusal(409, "Conflict");
  std::string changed = pruned(path, merged(known, patch));
  if (spec_of(changed) != spec_of(known)) {
    const auto generation = parsed(known).root()["metadata"]["generation"].integer().value_or(1);
    changed = merged(changed, concat(R"({"metadata":{"generation":)", generation + 1, "}}"));
  }
  const std::string stored = store(path, changed);
  if (is_deleting(stored) && !has_finalizers(stored)) erase(path);
  return response(200, stored);
}

HttpResponse ObjectServer::remove(const std::string& path, const std::string& options) {
  const std::string known = objects_.at(path);
  const auto sent = parsed(options.empty() ? "{}" : options);
  if (!holds(sent.root()["preconditions"], known)) return refusal(409, "Conflict");
  const std::string left =
      patch(path, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  if (!has_finalizers(left)) erase(path);
  return response(200, left);
}

std::string ObjectServer::pruned(const std::string& path, const std::string& object) const {
  if (unknown_field.empty() || path.find("/volumecopies/") == std::string::npos) return object;
  return merged(object, concat(R"({"spec":{")", unknown_field, R"(":null}})"));
}

std::string ObjectServer::done() {
  return join(std::exchange(journal, std::vector<std::string>()), ", ");
}

int ObjectServer::count(const std::string& entry) const {
  return static_cast<int>(std::count(journal.begin(), journal.end(), entry));
}

}  // namespace flexlocal::provisioner::test
