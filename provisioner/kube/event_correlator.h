// Which events become new objects and which only raise a count.
#pragma once

#include <chrono>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "flexvolume/base/clock.h"

namespace flexlocal::kube {

// What an event is about.
struct ObjectReference {
  std::string kind;
  std::string namespace_name;  // empty: cluster-scoped
  std::string name;
  std::string uid;
  std::string api_version;  // "v1"
  std::string resource_version;
};

enum class EventType { kNormal, kWarning };

struct EventNote {
  ObjectReference object;
  EventType type = EventType::kNormal;
  std::string reason;   // UpperCamelCase, machine-readable: "ProvisioningFailed"
  std::string message;  // for a person; cut at 1024 bytes
};

struct EventSource {
  std::string component;  // "flexlocal.io"
  std::string host;       // the node
};

// One write that the recorder is to make.
struct EventWrite {
  enum class Kind { kCreate, kPatch };
  Kind kind;
  std::string namespace_name;  // cluster-scoped objects' events live in "default"
  std::string name;
  std::string body;
};

// Remembers the last `capacity` events. The same object, type, reason and message within
// `window` raises the count of the event there is. Once kMostAlike differ in nothing but the
// message, which may have figures in it, whatever else comes within `window` of the last changes
// one more. Not so of Nodes: their events name volumes, and a person has something to do about
// each. Source: k8s.io/client-go/tools/record/events_cache.go
class EventCorrelator {
 public:
  static constexpr unsigned kMostAlike = 25;

  explicit EventCorrelator(EventSource source, std::size_t capacity = 1024,
                           std::chrono::seconds window = std::chrono::minutes(10))
      : source_(std::move(source)), capacity_(capacity), window_(window) {}

  EventWrite plan(const EventNote& note, Clock::Wall now);
  // The event is not there (any more): the next one like it is created anew.
  void forget(const EventNote& note);

 private:
  struct Known {
    std::string key;
    std::string name;
    Clock::Wall last;
    unsigned count;
  };

  // Of those that differ in nothing but the message.
  struct Alike {
    unsigned created = 0;
    Clock::Wall last{};
  };

  Alike& alike(const std::string& key, Clock::Wall now);
  void erase(const std::string& key);
  EventWrite create(const EventNote& note, const std::string& key, Clock::Wall now);
  std::string create_body(const EventNote& note, const std::string& name, Clock::Wall now) const;

  EventSource source_;
  std::size_t capacity_;
  std::chrono::seconds window_;
  std::list<Known> known_;  // latest first
  std::unordered_map<std::string, std::list<Known>::iterator> by_key_;
  std::unordered_map<std::string, Alike> alike_;
};

}  // namespace flexlocal::kube
