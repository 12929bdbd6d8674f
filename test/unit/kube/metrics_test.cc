#include "provisioner/kube/metrics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "flexvolume/base/text.h"
#include "provisioner/kube/request_stats.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

std::string text_of(const MetricFamily& family) {
  Metrics metrics;
  metrics.show(family);
  return metrics.text();
}

std::size_t count(std::string_view text, std::string_view piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != std::string_view::npos;
       at = text.find(piece, at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("a family is its help, its type and a line for each label set") {
  Family<Counter> made({"made_total", "What was made.", {"class", "source"}});
  made.with({"fast", ""}).add();
  made.with({"fast", ""}).add(2);
  made.with({"slow", "x"}).add(0.5);
  CHECK(text_of(made) ==
        "# HELP made_total What was made.\n"
        "# TYPE made_total counter\n"
        "made_total{class=\"fast\",source=\"\"} 3\n"
        "made_total{class=\"slow\",source=\"x\"} 0.5\n");
}

TEST_CASE("without labels a family is there from the beginning, with labels when it has a value") {
  CHECK(text_of(Family<Gauge>({"up", "Up."})) == "# HELP up Up.\n# TYPE up gauge\nup 0\n");
  CHECK(text_of(Family<Gauge>({"up", "Up.", {"a"}})).empty());
}

TEST_CASE("numbers are written so that nothing of them is lost") {
  Family<Gauge> gauge({"g", "G.", {"of"}});
  gauge.with({"a"}).set(9007199254740992.0);
  gauge.with({"b"}).set(-0.1);
  gauge.with({"c"}).set(INFINITY);
  gauge.with({"d"}).set(-INFINITY);
  gauge.with({"e"}).set(NAN);
  const std::string text = text_of(gauge);
  for (const char* const line : {"g{of=\"a\"} 9007199254740992\n", "g{of=\"b\"} -0.1\n",
                                 "g{of=\"c\"} +Inf\n", "g{of=\"d\"} -Inf\n", "g{of=\"e\"} NaN\n"})
    CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("a counter never falls") {
  Counter counter;
  counter.add(2);
  counter.add(-1);
  counter.add(NAN);
  CHECK(counter.value() == 2);
}

TEST_CASE("a histogram's buckets count everything up to their bound") {
  Family<Histogram> times({"t_seconds", "T.", {"verb"}});
  Histogram& get = times.with({"GET"});
  get.observe(milliseconds(1));  // a bound belongs to its bucket
  get.observe(milliseconds(2));
  get.observe(std::chrono::hours(2));
  const std::string text = text_of(times);
  CHECK(text.find("# TYPE t_seconds histogram\n") != std::string::npos);
  for (const char* const line :
       {"t_seconds_bucket{verb=\"GET\",le=\"0.001\"} 1\n",
        "_bucket{verb=\"GET\",le=\"0.0025\"} 2\n", "_bucket{verb=\"GET\",le=\"3600\"} 2\n",
        "_bucket{verb=\"GET\",le=\"+Inf\"} 3\n", "t_seconds_sum{verb=\"GET\"} 7200.003\n",
        "t_seconds_count{verb=\"GET\"} 3\n"})
    CHECK(text.find(line) != std::string::npos);
  CHECK(count(text, "_bucket{") == Histogram::kBounds.size() + 1);
}

TEST_CASE("a histogram without labels is well formed, too") {
  Family<Histogram> times({"t_seconds", "T."});
  CHECK(text_of(times).find("t_seconds_bucket{le=\"+Inf\"} 0\n") != std::string::npos);
}

TEST_CASE("what a label holds can neither end its line nor its quotes, and is always UTF-8") {
  Family<Counter> counter({"c_total", "C.", {"l"}});
  counter.with({"a\"} 1\nforged_total 9"}).add();
  counter.with({"back\\slash"}).add();
  counter.with({"\xff\xc3"}).add();
  counter.with({std::string(1000, 'x')}).add();
  const std::string text = text_of(counter);
  CHECK(text.find("c_total{l=\"a\\\"} 1?forged_total 9\"} 1\n") != std::string::npos);
  CHECK(text.find("c_total{l=\"back\\\\slash\"} 1\n") != std::string::npos);
  CHECK(text.find("c_total{l=\"??\"} 1\n") != std::string::npos);
  CHECK(text.find(std::string(128, 'x') + "...\"} 1\n") != std::string::npos);
  CHECK(count(text, "\n") == 6);
}

TEST_CASE("label sets are bounded: what is over the bound is counted together") {
  Family<Counter> counter({.name = "c_total", .help = "C.", .labels = {"a", "b"}, .most = 3});
  for (int i = 0; i < 1000; ++i) counter.with({concat(i), "x"}).add();
  counter.with({"1", "x"}).add();
  const std::string text = text_of(counter);
  CHECK(count(text, "\nc_total{") == 4);
  CHECK(text.find("c_total{a=\"1\",b=\"x\"} 2\n") != std::string::npos);
  CHECK(text.find("c_total{a=\"other\",b=\"other\"} 997\n") != std::string::npos);
}

TEST_CASE("a reference to a value holds whatever is added after it") {
  Family<Counter> counter({"c_total", "C.", {"l"}});
  Counter& first = counter.with({"first"});
  for (int i = 0; i < 90; ++i) counter.with({concat(i)});
  first.add();
  CHECK(text_of(counter).find("c_total{l=\"first\"} 1\n") != std::string::npos);
}

TEST_CASE("what is collected is looked up at each scrape") {
  Metrics metrics;
  double depth = 1;
  std::vector<std::string> pools = {"a", "b"};
  metrics.collect_gauge("depth", "D.", [&] { return depth; });
  metrics.collect<Gauge>({"pool_bytes", "P.", {"pool"}}, [&](Family<Gauge>& out) {
    for (const std::string& pool : pools) out.with({pool}).set(5);
  });
  CHECK(metrics.text() ==
        "# HELP depth D.\n# TYPE depth gauge\ndepth 1\n"
        "# HELP pool_bytes P.\n# TYPE pool_bytes gauge\n"
        "pool_bytes{pool=\"a\"} 5\npool_bytes{pool=\"b\"} 5\n");
  depth = 2;
  pools = {"b"};
  CHECK(metrics.text() ==
        "# HELP depth D.\n# TYPE depth gauge\ndepth 2\n"
        "# HELP pool_bytes P.\n# TYPE pool_bytes gauge\npool_bytes{pool=\"b\"} 5\n");
}

TEST_CASE("names that are none, and names that are there already, are bugs") {
  const auto named = [](const char* name) { Family<Counter> family({name, "H."}); };
  const auto labelled = [](const char* label) { Family<Counter> family({"n", "H.", {label}}); };
  for (const char* const name : {"", "1a", "a b", "a-b", "\xc3\xa4", "a\n"})
    CHECK_THROWS_AS(named(name), std::logic_error);
  for (const char* const label : {"", "a:b", "1"})
    CHECK_THROWS_AS(labelled(label), std::logic_error);
  Family<Counter> one({"a:b_total", "H.", {"x"}});
  CHECK_THROWS_AS(one.with({}), std::logic_error);
  CHECK_THROWS_AS(one.with({"x", "y"}), std::logic_error);
  Metrics metrics;
  metrics.show(one);
  CHECK_THROWS_AS(metrics.show(one), std::logic_error);
}

TEST_CASE("requests are counted by method and answer, however many answers a server thinks of") {
  RequestStats stats;
  for (int status = 100; status < 1000; ++status) stats.count(Method::kGet, status);
  stats.count(Method::kGet, 100);
  stats.count(Method::kPatch, RequestStats::kNoAnswer);
  CHECK(stats.counts().size() <= RequestStats::kMostCounts + RequestStats::kMethods);
  CHECK(stats.counts()[0].status == 100);
  CHECK(stats.counts()[0].requests.value() == 2);
  double all = 0;
  for (const auto& count : stats.counts()) all += count.requests.value();
  CHECK(all == 902);
}

}  // namespace flexlocal::kube::test
