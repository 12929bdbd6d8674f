#include "provisioner/kube/events.h"

namespace flexlocal::kube {

void EventRecorder::record(EventNote note) {
  if (shut_down_) return;
  if (waiting_.size() >= kMostWaiting) {
    log_.warning("event dropped: too many are waiting", {{"kind", note.object.kind},
                                                         {"namespace", note.object.namespace_name},
                                                         {"name", note.object.name},
                                                         {"uid", note.object.uid},
                                                         {"reason", note.reason}});
    return;
  }
  waiting_.push_back(std::move(note));
  changed_.notify_one();
}

void EventRecorder::shut_down() {
  shut_down_ = true;
  changed_.notify_all();
}

Task<void> EventRecorder::run() {
  while (!co_await is_cancelled()) {
    if (waiting_.empty()) {
      if (shut_down_) co_return;
      const Status waited = co_await changed_.wait();
      if (!waited) co_return;
      continue;
    }
    const EventNote note = std::move(waiting_.front());
    waiting_.pop_front();
    const Status written = co_await write(note);
    if (!written && written.error().code() != ErrorCode::kCancelled)
      log_.warning("event not written", {{"kind", note.object.kind},
                                         {"namespace", note.object.namespace_name},
                                         {"name", note.object.name},
                                         {"uid", note.object.uid},
                                         {"reason", note.reason},
                                         {"error", written.error().message()}});
  }
}

Task<Status> EventRecorder::write(const EventNote& note) {
  const EventWrite planned = correlator_.plan(note, clock_.wall());
  Status written = co_await carry_out(planned);
  if (written) co_return written;
  correlator_.forget(note);
  // Events live for an hour: what was to be raised may be gone, then it is written anew.
  if (planned.kind != EventWrite::Kind::kPatch || written.error().code() != ErrorCode::kNotFound)
    co_return written;
  const EventWrite again = correlator_.plan(note, clock_.wall());
  co_return co_await carry_out(again);
}

Task<Status> EventRecorder::carry_out(const EventWrite& planned) {
  const bool creates = planned.kind == EventWrite::Kind::kCreate;
  const std::string path =
      object_path("v1", "events", planned.namespace_name, creates ? std::string() : planned.name);
  if (creates) co_return co_await api_.post(path, planned.body);
  const auto patched = co_await api_.merge_patch(path, planned.body);
  co_return patched ? Status() : Status(patched.error());
}

}  // namespace flexlocal::kube
