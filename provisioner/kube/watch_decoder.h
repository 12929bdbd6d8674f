// The stream of a watch: one JSON event a line, cut into pieces anywhere.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/json.h"
#include "provisioner/kube/http.h"

namespace flexlocal::kube {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type;
  JsonView object;  // of an ERROR: a Status
};

// An error ends the watch, and stream() returns it.
class WatchEventSink {
 public:
  virtual ~WatchEventSink() = default;
  virtual Status take(const WatchEvent& event) = 0;

  // What of a line take() needs to be decoded: all of it, or a shorter one that is made in `room`;
  // nothing when the line was dealt with and take() is not to be called.
  virtual std::string_view needed(std::string_view line, std::string& room) {
    static_cast<void>(room);
    return line;
  }
};

// Only whole lines are looked at: an event cut in the middle yields nothing, ever. kCorrupt on a
// line that is not a watch event (types unknown to us are stepped over), kInvalid on a line
// longer than `longest_line`. After an error the decoder is of no further use.
class WatchDecoder final : public ByteSink {
 public:
  // etcd takes objects of 1.5 MiB unless told otherwise; 16 MiB is far past that.
  explicit WatchDecoder(WatchEventSink& events, std::size_t longest_line = 16U << 20U)
      : events_(events), longest_line_(longest_line) {}

  Status take(std::string_view bytes) override;

 private:
  Status keep(std::string_view bytes);
  Status decode(std::string_view whole_line);

  WatchEventSink& events_;
  std::size_t longest_line_;
  std::string partial_;
  std::string room_;  // see WatchEventSink::needed()
};

}  // namespace flexlocal::kube
