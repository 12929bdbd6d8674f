#include "provisioner/kube/lease.h"

#include <algorithm>

#include "provisioner/kube/timestamp.h"

namespace flexlocal::kube {
namespace {

constexpr std::string_view kGroupVersion = "coordination.k8s.io/v1";

std::vector<OwnerReference> decode_owners(JsonView array) {
  std::vector<OwnerReference> owners;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const JsonView owner = array.at(i);
    owners.push_back({std::string(owner["apiVersion"].text()), std::string(owner["kind"].text()),
                      std::string(owner["name"].text()), std::string(owner["uid"].text())});
  }
  return owners;
}

void write_texts(JsonWriter& json, std::string_view key,
                 const std::map<std::string, std::string>& texts) {
  if (texts.empty()) return;
  json.key(key).begin_object();
  for (const auto& [name, value] : texts) json.member(name, value);
  json.end_object();
}

void write_metadata(JsonWriter& json, const Lease& lease) {
  json.key("metadata").begin_object().member("name", lease.name);
  json.member("namespace", lease.namespace_name);
  if (!lease.resource_version.empty()) json.member("resourceVersion", lease.resource_version);
  write_texts(json, "labels", lease.labels);
  write_texts(json, "annotations", lease.annotations);
  if (!lease.owners.empty()) {
    json.key("ownerReferences").begin_array();
    for (const OwnerReference& owner : lease.owners) {
      json.begin_object().member("apiVersion", owner.api_version).member("kind", owner.kind);
      json.member("name", owner.name).member("uid", owner.uid).end_object();
    }
    json.end_array();
  }
  json.end_object();
}

Result<Lease> decoded(const Result<JsonDocument>& answer) {
  if (!answer) return answer.error();
  return decode_lease(answer->root());
}

}  // namespace

Lease decode_lease(JsonView object) {
  const JsonView meta = object["metadata"];
  const JsonView spec = object["spec"];
  Lease lease;
  lease.namespace_name = meta["namespace"].text();
  lease.name = meta["name"].text();
  lease.resource_version = meta["resourceVersion"].text();
  lease.labels = meta["labels"].string_map();
  lease.annotations = meta["annotations"].string_map();
  lease.owners = decode_owners(meta["ownerReferences"]);
  lease.holder = spec["holderIdentity"].text();
  const std::int64_t seconds = spec["leaseDurationSeconds"].integer().value_or(0);
  const std::int64_t most = kLongestLease.count();
  lease.duration = std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, most));
  lease.acquired = parse_time(spec["acquireTime"].text());
  lease.renewed = parse_time(spec["renewTime"].text());
  const std::int64_t transitions = spec["leaseTransitions"].integer().value_or(0);
  lease.transitions = std::clamp<std::int64_t>(transitions, 0, INT32_MAX - 1);
  return lease;
}

std::string encode_lease(const Lease& lease) {
  JsonWriter json;
  json.begin_object().member("apiVersion", kGroupVersion).member("kind", "Lease");
  write_metadata(json, lease);
  json.key("spec").begin_object();
  if (!lease.holder.empty()) json.member("holderIdentity", lease.holder);
  // The API server wants more than zero.
  if (lease.duration.count() > 0) json.key("leaseDurationSeconds").integer(lease.duration.count());
  if (lease.acquired) json.member("acquireTime", format_micro_time(*lease.acquired));
  if (lease.renewed) json.member("renewTime", format_micro_time(*lease.renewed));
  json.key("leaseTransitions").integer(lease.transitions);
  json.end_object().end_object();
  return json.take();
}

Clock::Wall next_renewal(const Lease& lease, Clock::Wall now) {
  if (!lease.renewed) return now;
  return std::max(now, *lease.renewed + std::chrono::microseconds(1));
}

std::string LeaseClient::path(std::string_view name) const {
  return object_path(kGroupVersion, "leases", namespace_, name);
}

Task<Result<Lease>> LeaseClient::read() {
  const std::string target = path(name_);
  const auto answer = co_await api_.get(target);
  co_return decoded(answer);
}

Task<Result<Lease>> LeaseClient::create(const Lease& lease) {
  const std::string target = path("");
  Lease named = lease;
  named.namespace_name = namespace_;
  named.name = name_;
  named.resource_version.clear();
  const std::string body = encode_lease(named);
  const auto answer = co_await api_.create(target, body);
  co_return decoded(answer);
}

Task<Result<Lease>> LeaseClient::update(const Lease& lease) {
  const std::string target = path(name_);
  const std::string body = encode_lease(lease);
  const auto answer = co_await api_.replace(target, body);
  co_return decoded(answer);
}

}  // namespace flexlocal::kube
