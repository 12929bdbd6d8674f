#include "provisioner/agent/wipe_progress.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const Clock::Instant kStart{hours(1)};

engine::Removal at(std::uint64_t gib, std::uint64_t of = 100) {
  return {false, Bytes(gib * kGiB.count()), Bytes(of * kGiB.count())};
}

}  // namespace

TEST_CASE("the first word comes at once, the next with a tenth more, not within a minute") {
  WipeProgress progress;
  CHECK(progress.advance(at(1), kStart));
  CHECK(progress.text() == "wiping: 1 GiB of 100 GiB");
  CHECK_FALSE(progress.advance(at(50), kStart + seconds(59)));
  CHECK(progress.advance(at(50), kStart + minutes(1)));
  CHECK_FALSE(progress.advance(at(59), kStart + minutes(3)));
  CHECK(progress.advance(at(60), kStart + minutes(3)));
}

TEST_CASE("a wipe that hardly moves is told of every ten minutes") {
  WipeProgress progress;
  CHECK(progress.advance(at(1), kStart));
  CHECK_FALSE(progress.advance(at(2), kStart + minutes(10) - seconds(1)));
  CHECK(progress.advance(at(2), kStart + minutes(10)));
}

TEST_CASE("a wipe of ten hours causes no more than eighty events") {
  WipeProgress progress;
  int events = 0;
  for (int slice = 0; slice < 10 * 3600 / 4; ++slice)
    if (progress.advance(at(static_cast<std::uint64_t>(slice), 9000), kStart + seconds(4 * slice)))
      ++events;
  CHECK(events >= 60);
  CHECK(events <= 80);
}

TEST_CASE("a figure of nothing, or one that goes back, is no trouble") {
  WipeProgress progress;
  CHECK(progress.advance({false, Bytes(0), Bytes(0)}, kStart));
  CHECK(progress.advance(at(15), kStart + minutes(1)));
  CHECK_FALSE(progress.advance(at(1), kStart + minutes(2)));
}

TEST_CASE("a wipe that stops is told of once, and again when it was gone on with") {
  WipeProgress progress;
  CHECK(progress.stop());
  CHECK_FALSE(progress.stop());
  CHECK(progress.stopped_text().find("part of it is wiped and lost") != std::string::npos);
  CHECK(progress.advance(at(12), kStart));
  CHECK(progress.stop());
  CHECK(progress.stopped_text() ==
        "the volume is to be kept since its wiping began: 12 GiB of 100 GiB are wiped and lost; "
        "the rest stays on the disk as it is and is never mounted again; set the reclaim policy to "
        "Delete to go on");
}

}  // namespace flexlocal::provisioner::test
