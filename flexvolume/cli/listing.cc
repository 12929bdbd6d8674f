#include "flexvolume/cli/listing.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::cli {
namespace {

using Row = std::vector<std::string>;

std::string or_dash(std::string_view text) { return text.empty() ? "-" : printable(text); }

std::string mounted_text(const VolumeView& view) {
  std::vector<std::string> places;
  for (const MountPlace& place : view.mounts)
    places.push_back(printable(place.pod_uid.empty() ? place.path : place.pod_uid));
  return join(places, ",");
}

Row row_of(const VolumeView& view) {
  const Bytes size = size_of(view);
  const auto used = used_of(view);
  return {printable(view.name),
          or_dash(joined(claim_namespace_of(view), claim_uid_of(view))),
          or_dash(backend_of(view)),
          or_dash(joined(pool_of(view), group_of(view))),
          size.count() == 0 ? "-" : to_string(size),
          used ? to_string(*used) : "-",
          state_text(view),
          or_dash(mounted_text(view))};
}

// The last column is not padded: no line ends with blanks.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

void write_text(JsonWriter& json, std::string_view key, const std::string& text) {
  if (text.empty())
    json.key(key).null();
  else
    json.member(key, printable(text));
}

void write_bytes(JsonWriter& json, std::string_view key, std::optional<Bytes> bytes) {
  json.key(key);
  if (bytes)
    json.integer(static_cast<std::int64_t>(std::min(bytes->count(), kMostBytes.count())));
  else
    json.null();
}

void write_mounts(JsonWriter& json, const VolumeView& view) {
  json.key("mounts").begin_array();
  for (const MountPlace& place : view.mounts) {
    json.begin_object();
    write_text(json, "path", place.path);
    write_text(json, "podUID", place.pod_uid);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string joined(const std::string& first, const std::string& second) {
  return concat(first, first.empty() || second.empty() ? "" : "/", second);
}

std::string state_text(const VolumeView& view) {
  const auto percent = wiped_percent(view);
  return percent ? concat(state_of(view), ' ', *percent, '%') : std::string(state_of(view));
}

std::string to_text(const std::vector<VolumeView>& views) {
  std::vector<Row> rows = {
      {"NAME", "CLAIM", "BACKEND", "POOL/GROUP", "SIZE", "USED", "STATE", "MOUNTED"}};
  for (const VolumeView& view : views) rows.push_back(row_of(view));
  return aligned(rows);
}

void write_members(JsonWriter& json, const VolumeView& view) {
  const Bytes size = size_of(view);
  write_text(json, "name", view.name);
  write_text(json, "claimNamespace", claim_namespace_of(view));
  write_text(json, "claimUID", claim_uid_of(view));
  write_text(json, "clusterID", cluster_id_of(view));
  write_text(json, "backend", backend_of(view));
  write_text(json, "pool", pool_of(view));
  write_text(json, "volumeGroup", group_of(view));
  write_text(json, "fsType", fs_type_of(view));
  write_text(json, "device", device_of(view));
  write_bytes(json, "sizeBytes", size.count() == 0 ? std::nullopt : std::optional(size));
  write_bytes(json, "usedBytes", used_of(view));
  write_text(json, "state", std::string(state_of(view)));
  write_bytes(json, "wipedBytes",
              wiped_percent(view) ? std::optional(view.record->wiped) : std::nullopt);
  write_mounts(json, view);
}

std::string to_json(const std::vector<VolumeView>& views, const std::vector<std::string>& notices) {
  JsonWriter json;
  json.begin_object().key("volumes").begin_array();
  for (const VolumeView& view : views) {
    json.begin_object();
    write_members(json, view);
    json.end_object();
  }
  json.end_array().key("notices").begin_array();
  for (const std::string& notice : notices) json.string(printable(notice, 1000));
  json.end_array().end_object();
  return json.take() + '\n';
}

}  // namespace flexlocal::cli
