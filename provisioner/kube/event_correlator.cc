#include "provisioner/kube/event_correlator.h"

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::kube {
namespace {

// The API server refuses longer ones.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/events.go (NoteLengthLimit)
constexpr std::size_t kLongestMessage = 1024;

std::string_view to_word(EventType type) {
  return type == EventType::kWarning ? "Warning" : "Normal";
}

// But for the message.
std::string kind_of(const EventNote& note) {
  const ObjectReference& object = note.object;
  return concat(object.kind, '\n', object.namespace_name, '\n', object.name, '\n', object.uid, '\n',
                to_word(note.type), '\n', note.reason);
}

std::string key_of(const EventNote& note) { return concat(kind_of(note), '\n', note.message); }

std::string namespace_of(const ObjectReference& object) {
  return object.namespace_name.empty() ? "default" : object.namespace_name;
}

std::string name_of(const ObjectReference& object, Clock::Wall now) {
  const auto nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  char hex[24];
  const auto end = std::to_chars(hex, hex + sizeof hex, nanos, 16).ptr;
  // A name is at most 253 bytes, the object's own may be as long.
  return concat(std::string_view(object.name).substr(0, 230), '.',
                std::string_view(hex, static_cast<std::size_t>(end - hex)));
}

// Cut between two UTF-8 characters, never inside one.
std::string_view cut(std::string_view text) {
  if (text.size() <= kLongestMessage) return text;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

void write_object(JsonWriter& json, const ObjectReference& object) {
  json.key("involvedObject").begin_object();
  json.member("kind", object.kind).member("name", object.name).member("uid", object.uid);
  json.member("apiVersion", object.api_version);
  if (!object.namespace_name.empty()) json.member("namespace", object.namespace_name);
  if (!object.resource_version.empty()) json.member("resourceVersion", object.resource_version);
  json.end_object();
}

// `message` empty: it stays.
std::string patch_body(unsigned count, std::string_view message, Clock::Wall now) {
  JsonWriter json;
  json.begin_object().key("count").integer(count);
  if (!message.empty()) json.member("message", cut(message));
  json.member("lastTimestamp", format_time(now)).end_object();
  return json.take();
}

}  // namespace

EventWrite EventCorrelator::plan(const EventNote& note, Clock::Wall now) {
  const std::string kind = kind_of(note);
  Alike& others = alike(kind, now);
  others.last = now;
  EventNote combined = note;
  const bool combines =
      others.created >= kMostAlike && note.object.kind != "Node" && !by_key_.contains(key_of(note));
  if (combines) combined.message = concat("(and others of this kind) ", note.message);
  const std::string key = combines ? kind : key_of(note);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || now - found->second->last > window_) {
    ++others.created;
    return create(combined, key, now);
  }
  known_.splice(known_.begin(), known_, found->second);
  Known& known = known_.front();
  known.last = now;
  ++known.count;
  return {EventWrite::Kind::kPatch, namespace_of(note.object), known.name,
          patch_body(known.count, combines ? combined.message : "", now)};
}

EventWrite EventCorrelator::create(const EventNote& note, const std::string& key, Clock::Wall now) {
  erase(key);
  const std::string name = name_of(note.object, now);
  known_.push_front({key, name, now, 1});
  by_key_[key] = known_.begin();
  if (known_.size() > capacity_) {
    by_key_.erase(known_.back().key);
    known_.pop_back();
  }
  return {EventWrite::Kind::kCreate, namespace_of(note.object), name, create_body(note, name, now)};
}

EventCorrelator::Alike& EventCorrelator::alike(const std::string& key, Clock::Wall now) {
  const auto is_over = [&](const auto& entry) { return now - entry.second.last > window_; };
  if (alike_.size() >= capacity_) std::erase_if(alike_, is_over);
  if (alike_.size() >= capacity_) alike_.clear();
  Alike& others = alike_[key];
  if (now - others.last > window_) others = {};
  return others;
}

void EventCorrelator::forget(const EventNote& note) {
  erase(key_of(note));
  erase(kind_of(note));
}

void EventCorrelator::erase(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  known_.erase(found->second);
  by_key_.erase(found);
}

std::string EventCorrelator::create_body(const EventNote& note, const std::string& name,
                                         Clock::Wall now) const {
  const std::string time = format_time(now);
  JsonWriter json;
  json.begin_object().member("apiVersion", "v1").member("kind", "Event");
  json.key("metadata").begin_object().member("name", name);
  json.member("namespace", namespace_of(note.object)).end_object();
  write_object(json, note.object);
  json.member("type", to_word(note.type)).member("reason", note.reason);
  json.member("message", cut(note.message));
  json.key("source").begin_object().member("component", source_.component);
  if (!source_.host.empty()) json.member("host", source_.host);
  json.end_object();
  json.member("reportingComponent", source_.component);
  json.member("reportingInstance", source_.host);
  json.member("firstTimestamp", time).member("lastTimestamp", time);
  json.key("count").integer(1).end_object();
  return json.take();
}

}  // namespace flexlocal::kube
