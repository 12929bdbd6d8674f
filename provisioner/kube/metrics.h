// Metrics by name and labels, and the text that Prometheus reads.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "provisioner/kube/metric_values.h"

namespace flexlocal::kube {

struct MetricSpec {
  std::string name;
  std::string help;
  std::vector<std::string> labels{};
  // So many label sets are told apart; what comes after them is counted under "other". Values of
  // labels are often somebody else's choice, and each set costs memory here and in Prometheus.
  std::size_t most = 100;
};

using LabelValues = std::vector<std::string>;

// All metrics of one name.
class MetricFamily {
 public:
  // A name or a label that is none is a bug: std::logic_error.
  explicit MetricFamily(MetricSpec spec);
  MetricFamily(const MetricFamily&) = delete;
  MetricFamily& operator=(const MetricFamily&) = delete;
  virtual ~MetricFamily() = default;

  const std::string& name() const { return spec_.name; }
  // Appends the family in text format 0.0.4; nothing when it has no value yet.
  virtual void write(std::string& out) const = 0;

 protected:
  // The values made safe: UTF-8 without control characters, of bounded length. Another number of
  // values than there are labels is a bug: std::logic_error.
  LabelValues cleaned(std::initializer_list<std::string_view> values) const;
  LabelValues other() const { return LabelValues(spec_.labels.size(), "other"); }
  bool has_labels() const { return !spec_.labels.empty(); }
  std::size_t most() const { return spec_.most; }

  void write_head(std::string& out, const Counter&) const;
  void write_head(std::string& out, const Gauge&) const;
  void write_head(std::string& out, const Histogram&) const;
  void write_one(std::string& out, const LabelValues& labels, const Counter& value) const;
  void write_one(std::string& out, const LabelValues& labels, const Gauge& value) const;
  void write_one(std::string& out, const LabelValues& labels, const Histogram& value) const;

 private:
  MetricSpec spec_;
};

// T: Counter, Gauge or Histogram.
template <typename T>
class Family final : public MetricFamily {
 public:
  explicit Family(MetricSpec spec) : MetricFamily(std::move(spec)) {
    if (!has_labels()) with({});  // it is shown from the beginning, as zero
  }

  // The value with these labels, in the order of the spec's; made when it is new. The reference
  // holds until clear(): who counts often keeps it.
  T& with(std::initializer_list<std::string_view> values) {
    LabelValues labels = cleaned(values);
    const auto found = values_.find(labels);
    if (found != values_.end()) return found->second;
    return values_[values_.size() < most() ? std::move(labels) : other()];
  }

  void clear() { values_.clear(); }

  void write(std::string& out) const override {
    if (values_.empty()) return;
    write_head(out, T());
    for (const auto& [labels, value] : values_) write_one(out, labels, value);
  }

 private:
  std::map<LabelValues, T> values_;
};

// What the daemon shows, in the order in which it was added. Not a global: whoever builds the
// daemon has one, and those who count do not know it.
class Metrics {
 public:
  // `family` must outlive this. A name that is there already is a bug: std::logic_error.
  void show(const MetricFamily& family);

  // A family whose values are looked up when they are asked for: `fill` gets it empty, each time.
  // What it refers to must outlive this.
  template <typename T>
  void collect(MetricSpec spec, std::function<void(Family<T>&)> fill) {
    owned_.push_back(std::make_unique<Collected<T>>(std::move(spec), std::move(fill)));
    show(*owned_.back());
  }
  // One value without labels.
  void collect_gauge(std::string name, std::string help, std::function<double()> value);

  // Text format 0.0.4.
  std::string text() const;

 private:
  template <typename T>
  class Collected final : public MetricFamily {
   public:
    Collected(MetricSpec spec, std::function<void(Family<T>&)> fill)
        : MetricFamily(spec), spec_(std::move(spec)), fill_(std::move(fill)) {}
    void write(std::string& out) const override {
      Family<T> now(spec_);
      fill_(now);
      now.write(out);
    }

   private:
    MetricSpec spec_;
    std::function<void(Family<T>&)> fill_;
  };

  std::vector<const MetricFamily*> families_;
  std::vector<std::unique_ptr<MetricFamily>> owned_;
};

// What text() is served as.
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace flexlocal::kube
