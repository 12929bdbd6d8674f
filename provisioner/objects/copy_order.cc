#include "provisioner/objects/copy_order.h"

#include <algorithm>
#include <array>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/objects/names.h"

namespace flexlocal::provisioner {
namespace {

// Objects and lists in the spec have neither within them.
constexpr std::size_t kOrderDepth = 2;
constexpr std::size_t kMostMountOptions = 16;
constexpr std::array kOrigins = {std::string_view("New"), std::string_view("Existing"),
                                 std::string_view("Received")};
constexpr std::array kDesiredStates = {std::string_view("Serving"), std::string_view("Retained"),
                                       std::string_view("Removed"), std::string_view("Withdrawn")};
constexpr std::array kPolicies = {std::string_view("Delete"), std::string_view("Retain")};

Error wrong(std::string_view field, std::string_view why) {
  return Error(ErrorCode::kInvalid, concat("spec.", field, ' ', why));
}

// The position in `words`, which are those of an enumeration in its order.
template <std::size_t N>
Result<std::size_t> position(JsonView value, const std::array<std::string_view, N>& words) {
  const auto found = std::find(words.begin(), words.end(), value.text());
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  return Error(ErrorCode::kInvalid,
               concat("is \"", printable(value.text(), 40), "\"; this version knows ",
                      join(std::vector<std::string>(words.begin(), words.end()), ", ")));
}

template <typename Kind>
Status store(Result<Kind> parsed, Kind& into) {
  if (!parsed) return parsed.error();
  into = std::move(*parsed);
  return {};
}

template <typename Enumeration, std::size_t N>
Status store_word(JsonView value, const std::array<std::string_view, N>& words, Enumeration& into) {
  const auto index = position(value, words);
  if (!index) return index.error();
  into = static_cast<Enumeration>(*index);
  return {};
}

Status store_text(JsonView value, bool (*valid)(std::string_view), std::string& into) {
  if (!valid(value.text()))
    return Error(ErrorCode::kInvalid,
                 concat("is \"", printable(value.text(), 80), "\", which cannot be one"));
  into = value.text();
  return {};
}

// A label's value, too.
bool is_node(std::string_view text) {
  return is_dns_subdomain(text) && text.size() <= kMostLabelValue;
}

Status store_count(JsonView value, std::uint64_t& into) {
  const auto count = value.integer();
  if (!count || *count < 1) return Error(ErrorCode::kInvalid, "is not a whole number, 1 or more");
  into = static_cast<std::uint64_t>(*count);
  return {};
}

Status store_quantity(JsonView value, Bytes& into) {
  auto size = parse_quantity(value.text());
  if (size && *size == Bytes()) return Error(ErrorCode::kInvalid, "is nothing");
  return store(std::move(size), into);
}

// One field of an object: `set` is told its value.
template <typename Target>
struct Field {
  std::string_view name;
  bool required;
  Status (*set)(Target& target, JsonView value);
};

// Every member of `object` by the field of its name. `path`: of the object, with a point behind.
template <typename Target, std::size_t N>
Status read_fields(JsonView object, std::string_view path,
                   const std::array<Field<Target>, N>& fields, Target& target) {
  Status failed;
  object.for_each_member([&](std::string_view name, JsonView) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& known) { return known.name == name; });
    if (!failed || field != fields.end()) return;
    failed = wrong(concat(path, printable(name, 40)), "is not known to this version of flexlocal");
  });
  if (!failed) return failed;
  for (const auto& field : fields) {
    const JsonView value = object[field.name];
    if (!value.exists() && !field.required) continue;
    if (!value.exists()) return wrong(concat(path, field.name), "is missing");
    if (auto set = field.set(target, value); !set)
      return wrong(concat(path, field.name), set.error().message());
  }
  return {};
}

using engine::IoLimits;

constexpr std::array<Field<IoLimits>, 5> kLimitFields = {{
    {"readIOPS", false, [](IoLimits& l, JsonView v) { return store_count(v, l.read_iops); }},
    {"writeIOPS", false, [](IoLimits& l, JsonView v) { return store_count(v, l.write_iops); }},
    {"readBandwidth", false,
     [](IoLimits& l, JsonView v) { return store_quantity(v, l.read_bandwidth); }},
    {"writeBandwidth", false,
     [](IoLimits& l, JsonView v) { return store_quantity(v, l.write_bandwidth); }},
    {"required", false,
     [](IoLimits& l, JsonView v) {
       l.required = v.boolean().value_or(false);
       return v.boolean() ? Status() : Error(ErrorCode::kInvalid, "is neither true nor false");
     }},
}};

constexpr std::array<Field<CopyOrder>, 3> kClaimFields = {{
    {"namespace", true,
     [](CopyOrder& o, JsonView v) {
       return store_text(v, engine::is_dns_label, o.volume.claim_namespace);
     }},
    {"name", false,
     [](CopyOrder& o, JsonView v) { return store_text(v, is_dns_subdomain, o.claim_name); }},
    {"uid", true,
     [](CopyOrder& o, JsonView v) { return store_text(v, engine::is_uuid, o.claim_uid); }},
}};

// What options the backend takes is known only with it: see parse_order().
Status store_mount_options(JsonView value, std::vector<std::string>& into) {
  if (!value.is_array() || value.size() > kMostMountOptions)
    return Error(ErrorCode::kInvalid,
                 concat("is no list of at most ", kMostMountOptions, " mount options"));
  for (std::size_t i = 0; i < value.size(); ++i) into.emplace_back(value.at(i).text());
  return {};
}

Status store_ratio(JsonView value, std::optional<Ratio>& into) {
  const auto ratio = parse_ratio(value.text());
  if (!ratio) return ratio.error();
  into = *ratio;
  return {};
}

Status store_term(JsonView value, std::int64_t& into) {
  into = value.integer().value_or(-1);
  return into < 0 ? Error(ErrorCode::kInvalid, "is no leader's term") : Status();
}

// Objects have fields of their own: see parse_order().
Status is_read_later(CopyOrder&, JsonView value) {
  return value.is_object() ? Status() : Error(ErrorCode::kInvalid, "is no object");
}

constexpr std::array<Field<CopyOrder>, 21> kFields = {{
    {"volume", true, [](CopyOrder&, JsonView) { return Status(); }},  // is read first
    {"copy", true,
     [](CopyOrder& o, JsonView v) { return store_text(v, engine::is_copy_id, o.volume.copy); }},
    {"origin", true, [](CopyOrder& o, JsonView v) { return store_word(v, kOrigins, o.origin); }},
    {"nodeName", true, [](CopyOrder& o, JsonView v) { return store_text(v, is_node, o.node); }},
    {"nodeUID", false,
     [](CopyOrder& o, JsonView v) { return store_text(v, engine::is_uuid, o.node_uid); }},
    {"hostname", false,
     [](CopyOrder& o, JsonView v) { return store_text(v, is_label_value, o.hostname); }},
    {"clusterID", true,
     [](CopyOrder& o, JsonView v) { return store_text(v, engine::is_uuid, o.volume.cluster_id); }},
    {"claim", true, is_read_later},
    {"storageClassName", false,
     [](CopyOrder& o, JsonView v) { return store_text(v, is_dns_subdomain, o.storage_class); }},
    {"reclaimPolicy", false,
     [](CopyOrder& o, JsonView v) {
       o.reclaim_policy = v.text();
       const auto known = position(v, kPolicies);
       return known ? Status() : known.error();
     }},
    {"backend", true,
     [](CopyOrder& o, JsonView v) {
       return store(engine::parse_backend(v.text()), o.volume.backend);
     }},
    {"pool", true,
     [](CopyOrder& o, JsonView v) { return store_text(v, engine::is_dns_label, o.volume.pool); }},
    {"fsType", true,
     [](CopyOrder& o, JsonView v) {
       return store(engine::parse_fs_type(v.text()), o.volume.fs_type);
     }},
    {"size", true, [](CopyOrder& o, JsonView v) { return store_quantity(v, o.volume.size); }},
    {"diskPerRam", false, [](CopyOrder& o, JsonView v) { return store_ratio(v, o.disk_per_ram); }},
    {"limits", false, is_read_later},
    {"mountOptions", false,
     [](CopyOrder& o, JsonView v) { return store_mount_options(v, o.volume.mount_options); }},
    {"onDelete", true,
     [](CopyOrder& o, JsonView v) {
       return store(engine::parse_on_delete(v.text()), o.volume.on_delete);
     }},
    {"accessMode", true,
     [](CopyOrder& o, JsonView v) {
       return store(engine::parse_access_mode(v.text()), o.volume.access_mode);
     }},
    {"desiredState", true,
     [](CopyOrder& o, JsonView v) { return store_word(v, kDesiredStates, o.desired); }},
    {"term", true, [](CopyOrder& o, JsonView v) { return store_term(v, o.term); }},
}};

// What a host's disks do not say of a copy that was found: it can be kept and removed without.
Status check_complete(const CopyOrder& order) {
  if (order.origin == Origin::kExisting && order.desired != DesiredState::kServing) return {};
  for (const auto& [field, text] :
       {std::pair<std::string_view, const std::string&>{"nodeUID", order.node_uid},
        {"hostname", order.hostname},
        {"claim.name", order.claim_name},
        {"storageClassName", order.storage_class},
        {"reclaimPolicy", order.reclaim_policy}})
    if (text.empty()) return wrong(field, "is missing");
  return {};
}

// What fields are to one another.
Status check_together(const CopyOrder& order) {
  const engine::VolumeSpec& volume = order.volume;
  if (volume.backend == engine::Backend::kQuota && volume.fs_type != engine::FsType::kXfs)
    return wrong("fsType", "is not xfs, as that of a quota folder has to be");
  if (auto sized = engine::check_size(volume.backend, volume.fs_type, volume.size); !sized)
    return sized.error().context("spec.size");
  for (const std::string& option : volume.mount_options)
    if (auto accepted = engine::check_mount_option(volume.backend, option); !accepted)
      return accepted.error().context("spec.mountOptions");
  return {};
}

template <std::size_t N, typename Enumeration>
std::string_view word_of(const std::array<std::string_view, N>& words, Enumeration value) {
  return words[static_cast<std::size_t>(value)];
}

void write_limits(JsonWriter& json, const IoLimits& limits) {
  if (!limits.any() && !limits.required) return;
  const auto write_count = [&](std::string_view key, std::uint64_t count) {
    if (count != 0) json.key(key).integer(static_cast<std::int64_t>(count));
  };
  const auto write_quantity = [&](std::string_view key, Bytes size) {
    if (size != Bytes()) json.member(key, format_quantity(size));
  };
  json.key("limits").begin_object();
  write_count("readIOPS", limits.read_iops);
  write_count("writeIOPS", limits.write_iops);
  write_quantity("readBandwidth", limits.read_bandwidth);
  write_quantity("writeBandwidth", limits.write_bandwidth);
  if (limits.required) json.key("required").boolean(true);
  json.end_object();
}

void write_unless_empty(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) json.member(key, text);
}

// What is decided once.
void write_fixed(JsonWriter& json, const CopyOrder& order) {
  const engine::VolumeSpec& volume = order.volume;
  json.member("volume", volume.name.text()).member("copy", volume.copy);
  json.member("origin", word_of(kOrigins, order.origin)).member("nodeName", order.node);
  write_unless_empty(json, "nodeUID", order.node_uid);
  write_unless_empty(json, "hostname", order.hostname);
  write_unless_empty(json, "storageClassName", order.storage_class);
  json.member("clusterID", volume.cluster_id);
  json.member("backend", engine::to_string(volume.backend)).member("pool", volume.pool);
  json.member("fsType", engine::to_string(volume.fs_type));
  json.member("onDelete", engine::to_string(volume.on_delete));
  if (order.disk_per_ram) json.member("diskPerRam", to_string(*order.disk_per_ram));
  write_limits(json, volume.limits);
  if (volume.mount_options.empty()) return;
  json.key("mountOptions").begin_array();
  for (const std::string& option : volume.mount_options) json.string(option);
  json.end_array();
}

// What may be ordered anew.
void write_changing(JsonWriter& json, const CopyOrder& order) {
  json.key("claim").begin_object().member("namespace", order.volume.claim_namespace);
  write_unless_empty(json, "name", order.claim_name);
  json.member("uid", order.claim_uid).end_object();
  write_unless_empty(json, "reclaimPolicy", order.reclaim_policy);
  json.member("size", format_quantity(order.volume.size));
  json.member("accessMode", engine::to_string(order.volume.access_mode));
  json.member("desiredState", word_of(kDesiredStates, order.desired));
  json.key("term").integer(order.term);
}

}  // namespace

Result<CopyOrder> parse_order(JsonView spec) {
  if (!spec.is_object()) return Error(ErrorCode::kInvalid, "spec is missing");
  // VolumeName has no empty value to begin with.
  auto name = engine::VolumeName::parse(spec["volume"].text());
  if (!name) return wrong("volume", name.error().message());
  CopyOrder order(std::move(*name));
  if (auto read = read_fields(spec, "", kFields, order); !read) return read.error();
  if (auto read = read_fields(spec["claim"], "claim.", kClaimFields, order); !read)
    return read.error();
  if (auto read = read_fields(spec["limits"], "limits.", kLimitFields, order.volume.limits); !read)
    return read.error();
  if (auto checked = check_complete(order); !checked) return checked.error();
  if (auto checked = check_together(order); !checked) return checked.error();
  return order;
}

void write_order(JsonWriter& json, const CopyOrder& order) {
  json.begin_object();
  write_fixed(json, order);
  write_changing(json, order);
  json.end_object();
}

CopyOrder with_every_field(CopyOrder order) {
  order.volume.limits = {.read_iops = 1,
                         .write_iops = 1,
                         .read_bandwidth = kMiB,
                         .write_bandwidth = kMiB,
                         .required = true};
  if (order.volume.mount_options.empty()) order.volume.mount_options = {"noatime"};
  if (!order.disk_per_ram) order.disk_per_ram = NodeBudget().disk_per_ram;
  order.desired = DesiredState::kWithdrawn;
  return order;
}

Result<CopyOrder> parse_order_text(std::string_view text) {
  const auto document = JsonDocument::parse(text, {.bytes = kMostOrderText, .depth = kOrderDepth});
  return document ? parse_order(document->root()) : document.error();
}

Result<CopyOrder> order_of_annotation(std::string_view text) {
  if (text.empty() || text.size() > kMostOrderText)
    return Error(ErrorCode::kNotFound,
                 concat("is missing, or has more than ", kMostOrderText, " bytes"));
  auto order = parse_order_text(text);
  if (!order) return Error(ErrorCode::kInvalid, concat("is damaged: ", order.error().message()));
  return order;
}

std::string order_text(const CopyOrder& order) {
  JsonWriter json;
  write_order(json, order);
  return json.take();
}

}  // namespace flexlocal::provisioner
