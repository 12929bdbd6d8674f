#include "provisioner/work/lasting_trouble.h"

#include <doctest/doctest.h>

#include "test/unit/kube/lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture {
  kube::test::RecordingLog log;
  LastingTrouble trouble;

  std::size_t lines_after(const Status& tried) {
    trouble.look(tried, log, "it does not work");
    return log.lines.size();
  }
};

const Error kRefused(ErrorCode::kDenied, "the API server refuses");
const Error kSilent(ErrorCode::kDeadline, "the API server does not answer");

}  // namespace

TEST_CASE_FIXTURE(Fixture, "trouble that lasts is told once, with its reason") {
  CHECK(lines_after(Status()) == 0);
  CHECK(lines_after(kRefused) == 1);
  CHECK(lines_after(kRefused) == 1);
  CHECK(log.has("it does not work"));
  CHECK(log.has("the API server refuses"));
}

TEST_CASE_FIXTURE(Fixture, "other trouble is told, and the same again once it was over") {
  CHECK(lines_after(kRefused) == 1);
  CHECK(lines_after(kSilent) == 2);
  CHECK(lines_after(kRefused) == 3);
  CHECK(lines_after(Status()) == 3);
  CHECK(lines_after(kRefused) == 4);
}

TEST_CASE_FIXTURE(Fixture, "to be cancelled, or that somebody was faster, is no trouble") {
  CHECK(lines_after(Error(ErrorCode::kCancelled, "stopping")) == 0);
  CHECK(lines_after(Error(ErrorCode::kConflict, "the object has been modified")) == 0);
}

}  // namespace flexlocal::provisioner::test
