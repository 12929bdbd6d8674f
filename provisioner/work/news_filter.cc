#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kReportAgain = std::chrono::hours(1);

}  // namespace

bool NewsFilter::is_news(const std::string& subject, std::string_view reason, std::string_view text,
                         Clock::Instant now) {
  const auto [told, first] =
      told_[subject].try_emplace(std::string(reason), Told{std::string(text), now});
  if (first) return true;
  if (told->second.text == text && now - told->second.when < kReportAgain) return false;
  told->second = {std::string(text), now};
  return true;
}

bool NewsFilter::is_due(const std::string& subject, std::string_view reason,
                        std::chrono::nanoseconds pause, Clock::Instant now) {
  const auto [told, first] = told_[subject].try_emplace(std::string(reason), Told{{}, now});
  if (!first && now - told->second.when < pause) return false;
  told->second.when = now;
  return true;
}

}  // namespace flexlocal::provisioner
