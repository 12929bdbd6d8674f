// When to list, when to watch and when to wait: the decisions of a reflector, without any I/O.
// Source: k8s.io/client-go/tools/cache/reflector.go (ListAndWatch, watchList and its back-off)
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "provisioner/kube/api.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/kube/metric_values.h"

namespace flexlocal::kube {

// What a reflector follows.
struct ResourceKind {
  std::string name;  // for logs: "persistentvolumes"
  std::string path;  // of the collection, see object_path()
  std::string label_selector;
  std::string field_selector;
  // Bytes of which some occur in every object that concerns us, as the API server writes them, such
  // as `"example.com"` for an annotation's value. Objects without any are not looked at any
  // further. None: all are looked at.
  std::vector<std::string> marks{};
};

// What the first list of a reflector must be.
enum class FirstList {
  kConsistent,  // everything that was written before it was asked for is in it
  kFromCache    // what the API server's cache has, which may lag behind
};

struct ReflectorOptions {
  // Whether a streaming list (WatchList) is asked for where a plain one would be. A server that has
  // none is recognised and gets plain lists from then on.
  bool streaming = true;
  // Of plain lists. A streaming list is served from the API server's cache in either case, and is
  // consistent: it costs etcd the reading of one version.
  FirstList first = FirstList::kConsistent;
  // Objects a page, at most, of a list that is read from etcd; so memory stays bounded.
  unsigned page = 500;
  // The server is asked to end a watch after a random time between this and twice this, so that
  // clients do not come back all at once.
  std::chrono::milliseconds watch = std::chrono::minutes(5);
  // Over the time asked for, a watch is given up on after this: the server does not answer.
  std::chrono::milliseconds grace = std::chrono::seconds(30);
  // Longest silence of a watch, zero: no limit. An API server has nothing to send, not even a
  // bookmark, as long as nothing of that kind changes.
  // Source: k8s.io/apiserver/pkg/storage/cacher/cacher.go (cacheWatcher.process), of 1.20
  std::chrono::milliseconds stall = std::chrono::minutes(3);
  // After a failure; with jitter, so up to twice this.
  BackoffOptions backoff{std::chrono::milliseconds(800), std::chrono::seconds(30)};
  // A watch that brought nothing and ended sooner than this counts as a failure.
  std::chrono::milliseconds shortest_watch = std::chrono::seconds(1);
  // After so many failures in a row a watch is not resumed but begun anew from a list: its
  // version may be one that this server has never had (an etcd restored from a backup). The same
  // after so many in a row in which nothing was heard: from a version that is yet to come nothing
  // is.
  unsigned most_resumes = 8;
  // After so many a plain list is asked for where a streaming one would be.
  unsigned most_streams = 3;
  // After so many a list is read from etcd, should the server not say that it has never had its
  // version. That takes a quarter of an hour: an API server that comes back from less finds the
  // nodes content with its cache.
  unsigned most_from_cache = 24;
  std::uint64_t seed = 0;  // of the jitter; 0: a random one
};

struct ReflectorStep {
  // kStream: a watch that begins with all objects there are, up to a bookmark that ends them, and
  // goes on as any other.
  enum class Kind { kStream, kListFromStart, kListOn, kWatch };
  Kind kind = Kind::kListFromStart;
  Query query;
  ApiClient::WatchLimits watch_limits{};  // of a watch or stream
  std::chrono::nanoseconds wait{};        // before asking for the next step
};

// What a reflector has done since its beginning.
struct ReflectorStats {
  Counter lists;  // begun from their start, streaming ones included
  Counter streamed_lists;
  Counter list_failures;
  Counter watches;  // begun
  Counter watch_failures;
  Counter events;       // that watches brought, bookmarks included
  Counter passed_over;  // of these, what does not concern us and was not decoded
};

class Reflector {
 public:
  Reflector(const ResourceKind& kind, const ReflectorOptions& options);

  // What to do now. What came of it is told by the calls below, then next() is asked again.
  ReflectorStep next();

  // A page came; an empty token: it was the last one, and the list's version is where the watch
  // begins. Of a stream: the bookmark that ends the objects came, and the watch goes on.
  void listed(std::string_view continue_token, std::string_view version);
  // kGone (the pages' snapshot was compacted, or the server's cache is older than the version):
  // from etcd, from the start, after a wait. kNoSpace (the answer is too large to be kept): pages,
  // or half as many objects from now on, at once. Others: the same again after a wait.
  void list_failed(const Error& error);

  // The objects of a stream did not come to their end: it failed, ended in order, or nothing was
  // heard for `stall`. A server that could not be reached, or asked to be spared, is asked for a
  // stream again after a wait, at most `most_streams` times. Any other answer means that it has no
  // streaming lists, and streams() is false from then on; but of one that has streamed a list
  // before, that a plain one is asked for this once. The answers of servers without them:
  //   WatchList off, and 1.19 to 1.26: 422, for they take no resourceVersionMatch of a watch.
  //   Before 1.19: an ordinary watch, as they know none of the parameters. It brings a bookmark
  //     that does not end the objects, or ends or falls silent without one.
  //   etcd too old: one ERROR event with code 500.
  // The stream of a cache that is being rebuilt ends at once, without an event: a plain list is
  // asked for this once.
  // Source: k8s.io/apimachinery/pkg/apis/meta/internalversion/validation, and
  // k8s.io/apiserver/pkg/storage/cacher/cacher.go (Watch)
  void streamed();  // one of its objects came
  void stream_failed(const Error& error);
  void stream_ended(std::chrono::nanoseconds lasted);
  void stream_silent();

  // The watch has delivered everything up to this version.
  void watched(std::string_view version);
  // The server ended the watch in order, as it does now and then: resumed at once, unless it was
  // too short (shortest_watch). Also one that could not keep up: with a rest before it there are
  // fewer watches, but what each has missed is encoded for it alone, and the server has more to do.
  void watch_ended(std::chrono::nanoseconds lasted);
  // Nothing was heard for `stall`: resumed at once, for as a rule there was nothing to hear.
  void watch_silent();
  // Not reached, cut off, throttled or denied: resumed after a wait. Anything else (kGone, or what
  // makes no sense) leads to a fresh list after a wait. As for lists and streams, waits grow with
  // each failure, and from the beginning where the server is there again, but answers that the
  // version is gone, or that it has not read its roles yet.
  void watch_failed(const Error& error);

  const std::string& version() const { return version_; }
  bool has_synced() const { return synced_; }
  // Whether streaming lists are asked for; false once the server turned out to have none.
  bool streams() const { return streams_; }

 private:
  Query selectors() const;
  ReflectorStep list_step(ReflectorStep step) const;
  ReflectorStep watch_step(ReflectorStep step);
  bool may_ask_cache() const;
  void heard(const Error& error);
  void go_well();
  void fail();
  void list_anew();
  void give_up_streams();

  const ResourceKind& kind_;
  const ReflectorOptions& options_;
  Random random_;
  Backoff backoff_;
  bool listing_ = true;
  bool from_start_ = true;
  bool streams_;    // the server may have streaming lists
  bool by_stream_;  // the present list is one
  bool has_streamed_ = false;
  bool first_from_cache_;
  // Another list than the first is not older than what was seen, and no newer one is needed: all of
  // it comes from the API server's cache, which a limit would prevent. Else an API server that was
  // too slow for the watches of many nodes would have to read everything from etcd for each.
  bool from_cache_;
  bool wait_first_ = false;
  bool is_away_ = false;     // the last failure was that the server did not answer, or was too busy
  bool was_heard_ = false;   // its first answer after that was an error; until there is progress
  bool progressed_ = false;  // the present watch has brought something
  bool synced_ = false;
  unsigned silent_ = 0;  // watches in a row
  unsigned page_;        // objects asked for at once
  std::string continue_;
  std::string version_;
};

}  // namespace flexlocal::kube
