#include "provisioner/work/news_filter.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {

TEST_CASE("a text is told again when it changes, after an hour, and of another subject or reason") {
  NewsFilter filter;
  const Clock::Instant start{};
  CHECK(filter.is_news("a", "Failed", "no room", start));
  CHECK_FALSE(filter.is_news("a", "Failed", "no room", start + std::chrono::minutes(59)));
  CHECK(filter.is_news("a", "Wiping", "no room", start));
  CHECK(filter.is_news("b", "Failed", "no room", start));
  CHECK(filter.is_news("a", "Failed", "no room", start + std::chrono::hours(1)));
  CHECK_FALSE(filter.is_news("a", "Failed", "no room", start + std::chrono::minutes(61)));
  CHECK(filter.is_news("a", "Failed", "no pool", start + std::chrono::minutes(62)));
}

TEST_CASE("what changes all the time is told again after a pause") {
  NewsFilter filter;
  const Clock::Instant start{};
  constexpr std::chrono::minutes pause{1};
  CHECK(filter.is_due("a", "Waiting", pause, start));
  CHECK_FALSE(filter.is_due("a", "Waiting", pause, start + std::chrono::seconds(59)));
  CHECK(filter.is_due("b", "Waiting", pause, start + std::chrono::seconds(59)));
  CHECK(filter.is_due("a", "Waiting", pause, start + pause));
  CHECK_FALSE(filter.is_due("a", "Waiting", pause, start + pause));
}

TEST_CASE("what is forgotten is news") {
  NewsFilter filter;
  CHECK(filter.is_news("a", "Failed", "no room", {}));
  CHECK(filter.is_news("b", "Failed", "no room", {}));
  filter.forget("a");
  CHECK(filter.is_news("a", "Failed", "no room", {}));
  CHECK_FALSE(filter.is_news("b", "Failed", "no room", {}));
}

}  // namespace flexlocal::provisioner::test
