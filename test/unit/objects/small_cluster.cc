#include "test/unit/objects/small_cluster.h"

#include <algorithm>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::test::body;
using kube::test::Reply;
using kube::test::Seen;

const std::string kClaims = "claims";
const std::string kOfVolumes = "volumes";

// A sample with a version of ours.
std::string numbered(const std::string& object, unsigned long long version) {
  const std::string key = R"("resourceVersion":")";
  const std::size_t begin = object.find(key) + key.size();
  return concat(object.substr(0, begin), version, object.substr(object.find('"', begin)));
}

Reply refusal(int status, std::string_view reason) {
  return body(concat(R"({"kind":"Status","reason":")", reason, R"(","message":"no"})"), status);
}

std::string kind_of(const std::string& target) {
  if (target.find("/persistentvolumeclaims") != std::string::npos) return kClaims;
  if (target.find("/persistentvolumes") != std::string::npos) return kOfVolumes;
  return "classes";
}

std::string name_in(const std::string& target) {
  const std::size_t at = target.find("/persistentvolumes/");
  return at == std::string::npos ? std::string() : target.substr(target.rfind('/') + 1);
}

}  // namespace

bool SmallCluster::strikes(unsigned percent) { return random_.unit() * 100 < percent; }

Reply SmallCluster::answer(const Seen& request) {
  const std::string kind = kind_of(request.target);
  Reply reply;
  if (!name_in(request.target).empty()) {
    reply = volume(request.method, name_in(request.target), request.body);
  } else if (request.method == "POST" && kind == kOfVolumes) {
    reply = create(request.body);
  } else if (request.method != "GET") {
    reply = body("{}", 201);  // events
  } else if (request.query("sendInitialEvents") == "true") {
    return mischief_.streams ? stream(kind) : refusal(422, "Invalid");
  } else if (request.query("watch") == "true") {
    unsigned long long since = 0;
    parse_number(request.query("resourceVersion"), UINT64_MAX - 1, since);
    return watch(kind, since);
  } else {
    reply = list(kind);
  }
  if (strikes(mischief_.cut)) reply.end = Reply::End::kCut;
  return reply;
}

std::vector<std::string> SmallCluster::objects(const std::string& kind) const {
  std::vector<std::string> items;
  for (const auto& [uid, claim] : claims_)
    if (kind == kClaims) items.push_back(numbered(claim_text(claim.claim), claim.version));
  for (const auto& [name, volume] : volumes_)
    if (kind == kOfVolumes) items.push_back(text_of(volume));
  if (kind == "classes") items.push_back(class_text());
  return items;
}

// All objects there are, as events: then the stream ends in order, and a watch goes on from it.
Reply SmallCluster::stream(const std::string& kind) {
  std::vector<std::string> lines;
  for (const std::string& object : objects(kind))
    lines.push_back(concat(R"({"type":"ADDED","object":)", object, "}\n"));
  lines.push_back(concat(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")",
                         version_, R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})",
                         "\n"));
  Reply reply = kube::test::stream(lines, Reply::End::kOrderly);
  if (strikes(mischief_.truncated)) truncate(reply);
  if (strikes(mischief_.cut)) reply.end = Reply::End::kCut;
  return reply;
}

Reply SmallCluster::list(const std::string& kind) {
  const std::vector<std::string> items = objects(kind);
  Reply reply = body(concat(R"({"metadata":{"resourceVersion":")", version_, R"("},"items":[)",
                            join(items, ","), "]}"));
  if (strikes(mischief_.truncated)) truncate(reply);
  return reply;
}

// What has happened since, and a bookmark: then it ends in order, as after the time asked for.
Reply SmallCluster::watch(const std::string& kind, unsigned long long since) {
  std::vector<std::string> lines;
  for (const Event& event : history_) {
    if (event.kind != kind || event.version <= since) continue;
    lines.push_back(concat(R"({"type":")", event.type, R"(","object":)", event.object, "}\n"));
    if (strikes(mischief_.twice)) lines.push_back(lines.back());
  }
  const bool in_order = !exchange_neighbours(lines);
  lines.push_back(concat(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")",
                         version_, "\"}}}\n"));
  Reply reply = kube::test::stream(lines, Reply::End::kOrderly);
  // What is left out and then not told, because the stream ends, nobody could notice.
  if (in_order && strikes(mischief_.truncated)) truncate(reply);
  if (in_order && strikes(mischief_.cut)) reply.end = Reply::End::kCut;
  return reply;
}

bool SmallCluster::exchange_neighbours(std::vector<std::string>& lines) {
  bool exchanged = false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!strikes(mischief_.disorder)) continue;
    std::swap(lines[i - 1], lines[i]);
    exchanged = true;
  }
  return exchanged;
}

void SmallCluster::truncate(Reply& reply) {
  const auto piece =
      static_cast<std::size_t>(random_.unit() * static_cast<double>(reply.pieces.size()));
  reply.pieces.resize(piece + 1);
  std::string& last = reply.pieces.back();
  last.resize(static_cast<std::size_t>(random_.unit() * static_cast<double>(last.size() - 1)) + 1);
}

Reply SmallCluster::create(const std::string& text) {
  const auto object = JsonDocument::parse(text);
  if (!object) return refusal(400, "BadRequest");
  const std::string name(object->root()["metadata"]["name"].text());
  if (volumes_.contains(name)) return refusal(409, "AlreadyExists");
  ++made_[name];
  volumes_[name] = {.body = text, .phase = "Bound", .version = 0, .deleting = false};
  const std::string uid(object->root()["spec"]["claimRef"]["uid"].text());
  if (!claims_.contains(uid)) volumes_[name].phase = "Released";
  const std::string made = tell_volume(name, "ADDED");
  bind(uid);
  return body(made, 201);
}

void SmallCluster::bind(const std::string& uid) {
  const auto claim = claims_.find(uid);
  if (claim == claims_.end()) return;
  Claim& bound = claim->second.claim;
  bound.volume_name = concat("pvc-", uid);
  bound.phase = "Bound";
  bound.capacity = bound.requested;
  tell_claim(uid, "MODIFIED");
}

Reply SmallCluster::volume(const std::string& method, const std::string& name,
                           const std::string& text) {
  if (!volumes_.contains(name)) return refusal(404, "NotFound");
  if (method == "GET") return body(text_of(volumes_[name]));
  return change(method, name, text);
}

// The daemon's finalizer keeps it, until it is taken away.
Reply SmallCluster::change(const std::string& method, const std::string& name,
                           const std::string& text) {
  KeptVolume& volume = volumes_[name];
  if (method == "DELETE") {
    volume.deleting = true;
    return body(tell_volume(name, "MODIFIED"));
  }
  const auto patch = JsonDocument::parse(text);
  if (!patch || patch->root()["metadata"]["resourceVersion"].text() != concat(volume.version))
    return refusal(409, "Conflict");
  const std::string last = tell_volume(name, "DELETED");
  volumes_.erase(name);
  return body(last);
}

void SmallCluster::add_claim(const std::string& uid) {
  Claim claim = sample_claim();
  claim.uid = uid;
  claim.name = concat("data-", uid);
  claims_[uid].claim = claim;
  tell_claim(uid, "ADDED");
}

void SmallCluster::drop_claim(const std::string& uid) {
  tell_claim(uid, "DELETED");
  claims_.erase(uid);
  const std::string name = concat("pvc-", uid);
  if (!volumes_.contains(name)) return;
  volumes_[name].phase = "Released";
  tell_volume(name, "MODIFIED");
}

void SmallCluster::tell(const std::string& kind, const std::string& type,
                        const std::string& object) {
  history_.push_back({++version_, kind, type, object});
}

void SmallCluster::tell_claim(const std::string& uid, const std::string& type) {
  KeptClaim& claim = claims_.at(uid);
  claim.version = version_ + 1;
  tell(kClaims, type, numbered(claim_text(claim.claim), claim.version));
}

std::string SmallCluster::tell_volume(const std::string& name, const std::string& type) {
  volumes_[name].version = version_ + 1;
  std::string text = text_of(volumes_[name]);
  tell(kOfVolumes, type, text);
  return text;
}

std::string SmallCluster::text_of(const KeptVolume& volume) const {
  const std::string deleting =
      volume.deleting ? R"("deletionTimestamp":"2026-01-01T00:00:00Z",)" : "";
  const std::string meta = concat(R"("metadata":{"uid":"uid-of-pv","resourceVersion":")",
                                  volume.version, R"(",)", deleting);
  return with(with(volume.body, R"("metadata":{)", meta), "{",
              concat(R"({"status":{"phase":")", volume.phase, R"("},)"));
}

bool SmallCluster::is_right() const {
  return volumes_.size() == claims_.size() &&
         std::all_of(volumes_.begin(), volumes_.end(),
                     [](const auto& entry) { return entry.second.phase == "Bound"; }) &&
         std::all_of(claims_.begin(), claims_.end(),
                     [](const auto& entry) { return entry.second.claim.phase == "Bound"; });
}

std::size_t SmallCluster::made(const std::string& name) const {
  const auto found = made_.find(name);
  return found == made_.end() ? 0 : found->second;
}

}  // namespace flexlocal::provisioner::test
