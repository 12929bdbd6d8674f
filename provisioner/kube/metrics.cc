#include "provisioner/kube/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

// Names of classes and of pools are shorter; who chooses a longer one is told apart by its start.
constexpr std::size_t kLongestValue = 128;

// Source: Prometheus' data model, "Metric names and labels".
bool is_name(std::string_view text, bool may_have_colon) {
  const auto good = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9') ||
           (c == ':' && may_have_colon);
  };
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), good);
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
}

// One line. `extra`: a label of the line's own, such as le="0.5"; or nothing.
void append_sample(std::string& out, const MetricSpec& spec, std::string_view suffix,
                   const LabelValues& labels, std::string_view extra, double value) {
  append(out, spec.name);
  append(out, suffix);
  char between = '{';
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out += concat(std::exchange(between, ','), spec.labels[i], "=\"");
    append_escaped(out, labels[i]);
    out += '"';
  }
  if (!extra.empty()) out += concat(std::exchange(between, ','), extra);
  if (between == ',') out += '}';
  out += ' ';
  append_number(out, value);
  out += '\n';
}

// A help text is one line; it is ours, and a bug when it is not.
void append_head(std::string& out, const MetricSpec& spec, std::string_view type) {
  out += concat("# HELP ", spec.name, ' ', printable(spec.help, 400), '\n', "# TYPE ", spec.name,
                ' ', type, '\n');
}

}  // namespace

void Histogram::observe(std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++buckets_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
}

Histogram& Histogram::operator+=(const Histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  sum_ += other.sum_;
  return *this;
}

MetricFamily::MetricFamily(MetricSpec spec) : spec_(std::move(spec)) {
  bool good = is_name(spec_.name, true);
  for (const std::string& label : spec_.labels) good = good && is_name(label, false);
  if (!good) throw std::logic_error(concat("no name for a metric or a label: ", spec_.name));
}

LabelValues MetricFamily::cleaned(std::initializer_list<std::string_view> values) const {
  if (values.size() != spec_.labels.size())
    throw std::logic_error(concat("metric ", spec_.name, ": another number of label values"));
  LabelValues out;
  for (const std::string_view value : values) out.push_back(printable(value, kLongestValue));
  return out;
}

void MetricFamily::write_head(std::string& out, const Counter&) const {
  append_head(out, spec_, "counter");
}
void MetricFamily::write_head(std::string& out, const Gauge&) const {
  append_head(out, spec_, "gauge");
}
void MetricFamily::write_head(std::string& out, const Histogram&) const {
  append_head(out, spec_, "histogram");
}

void MetricFamily::write_one(std::string& out, const LabelValues& labels,
                             const Counter& value) const {
  append_sample(out, spec_, "", labels, "", value.value());
}

void MetricFamily::write_one(std::string& out, const LabelValues& labels,
                             const Gauge& value) const {
  append_sample(out, spec_, "", labels, "", value.value());
}

void MetricFamily::write_one(std::string& out, const LabelValues& labels,
                             const Histogram& value) const {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < value.buckets().size(); ++i) {
    so_far += value.buckets()[i];
    std::string bound = "le=\"";
    append_number(bound, i < Histogram::kBounds.size() ? Histogram::kBounds[i] : INFINITY);
    append_sample(out, spec_, "_bucket", labels, bound + '"', static_cast<double>(so_far));
  }
  append_sample(out, spec_, "_sum", labels, "", value.sum());
  append_sample(out, spec_, "_count", labels, "", static_cast<double>(so_far));
}

void Metrics::show(const MetricFamily& family) {
  for (const MetricFamily* const other : families_)
    if (other->name() == family.name())
      throw std::logic_error(concat("two metrics of one name: ", family.name()));
  families_.push_back(&family);
}

void Metrics::collect_gauge(std::string name, std::string help, std::function<double()> value) {
  collect<Gauge>({std::move(name), std::move(help)},
                 [value = std::move(value)](Family<Gauge>& out) { out.with({}).set(value()); });
}

std::string Metrics::text() const {
  std::string out;
  for (const MetricFamily* const family : families_) family->write(out);
  return out;
}

}  // namespace flexlocal::kube
