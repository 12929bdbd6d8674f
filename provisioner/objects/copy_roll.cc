#include "provisioner/objects/copy_roll.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "flexvolume/base/hex.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kDigestBytes = 16;
constexpr std::size_t kRollDepth = 3;
// What all else of a roll takes at the most.
constexpr std::size_t kRollFrame = 512;
constexpr std::size_t kAroundId = std::string_view(R"("",)").size();

Error no_roll(std::string_view why) {
  return Error(ErrorCode::kInvalid, concat("the roll of a node's copies: ", why));
}

void write_told(JsonWriter& json, const ToldCopy& told) {
  const engine::VolumeSpec& volume = told.volume;
  json.begin_object()
      .member("volume", volume.name.text())
      .member("copy", volume.copy)
      .member("namespace", volume.claim_namespace)
      .member("pool", volume.pool)
      .member("backend", engine::to_string(volume.backend))
      .member("fsType", engine::to_string(volume.fs_type))
      .member("size", concat(volume.size.count()))
      .member("onDelete", engine::to_string(volume.on_delete));
  if (!told.claim_uid.empty()) json.member("claimUID", told.claim_uid);
  if (!told.claim_name.empty()) json.member("claim", told.claim_name);
  if (told.ready) json.key("ready").boolean(true);
  if (told.retained) json.key("retained").boolean(true);
  json.end_object();
}

// What the text has room for: so many of the first that are told, and of what is left, as data
// hangs on those, so many of the last that are counted.
struct Fit {
  std::size_t told = 0;
  std::size_t counted = 0;
};

Fit fit_of(const CopyRoll& roll) {
  Fit fit;
  std::size_t length = kRollFrame;
  for (; fit.told < roll.told.size(); ++fit.told) {
    JsonWriter alone;
    write_told(alone, roll.told[fit.told]);
    const std::size_t more = alone.take().size() + 1;
    if (length + more > kMostRollText) return fit;
    length += more;
  }
  for (auto id = roll.counted.rbegin(); id != roll.counted.rend(); ++id) {
    length += id->size() + kAroundId;
    if (length > kMostRollText || fit.counted == kMostCounted) break;
    ++fit.counted;
  }
  return fit;
}

Result<ToldCopy> parse_told(JsonView object) {
  auto name = engine::VolumeName::parse(object["volume"].text());
  const auto backend = engine::parse_backend(object["backend"].text());
  const auto fs_type = engine::parse_fs_type(object["fsType"].text());
  const auto on_delete = engine::parse_on_delete(object["onDelete"].text());
  unsigned long long size = 0;
  const bool sized = parse_number(object["size"].text(), kMostBytes.count(), size);
  if (!name || !backend || !fs_type || !on_delete || !sized)
    return no_roll("a copy that is told makes no sense");
  ToldCopy told{.volume = {.name = std::move(*name),
                           .copy = std::string(object["copy"].text()),
                           .cluster_id = {},
                           .claim_namespace = std::string(object["namespace"].text()),
                           .pool = std::string(object["pool"].text()),
                           .backend = *backend,
                           .fs_type = *fs_type,
                           .size = Bytes(size),
                           .on_delete = *on_delete},
                .claim_uid = std::string(object["claimUID"].text()),
                .claim_name = std::string(object["claim"].text()),
                .ready = object["ready"].boolean().value_or(false),
                .retained = object["retained"].boolean().value_or(false)};
  const bool whole = engine::is_copy_id(told.volume.copy) &&
                     engine::is_dns_label(told.volume.claim_namespace) &&
                     engine::is_dns_label(told.volume.pool) &&
                     (told.claim_uid.empty() || engine::is_uuid(told.claim_uid)) &&
                     (told.claim_name.empty() || engine::is_dns_subdomain(told.claim_name));
  if (!whole) return no_roll("a copy that is told makes no sense");
  return told;
}

bool is_hex(std::string_view text, std::size_t bytes) {
  const auto read = from_hex(text);
  return read && read->size() == bytes;
}

}  // namespace

std::string digest_of(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const std::string text = join(names, "\n");
  std::array<unsigned char, kDigestBytes> digest{};
  ::crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr,
                       0);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string roll_text(const CopyRoll& roll) {
  const Fit fit = fit_of(roll);
  JsonWriter json;
  json.begin_object().member("host", roll.host);
  json.key("term").integer(roll.term);
  json.member("orders", roll.orders);
  json.key("cut").boolean(roll.cut || fit.told < roll.told.size());
  json.key("told").begin_array();
  for (std::size_t i = 0; i < fit.told; ++i) write_told(json, roll.told[i]);
  json.end_array().key("counted").begin_array();
  for (std::size_t i = roll.counted.size() - fit.counted; i < roll.counted.size(); ++i)
    json.string(roll.counted[i]);
  json.end_array();
  return json.end_object().take();
}

Result<CopyRoll> parse_roll(std::string_view text) {
  if (text.size() > kMostRollText) return no_roll("it is too long");
  const auto document = JsonDocument::parse(text, {.bytes = kMostRollText, .depth = kRollDepth});
  if (!document) return no_roll(document.error().message());
  const JsonView root = document->root();
  CopyRoll roll{.host = std::string(root["host"].text()),
                .term = root["term"].integer().value_or(-1),
                .orders = std::string(root["orders"].text()),
                .cut = root["cut"].boolean().value_or(true)};
  if (!is_hex(roll.host, 16) || !is_hex(roll.orders, kDigestBytes) || roll.term < 0 ||
      roll.term > kMostTerm)
    return no_roll("host, orders or term makes no sense");
  const JsonView told = root["told"];
  for (std::size_t i = 0; i < told.size(); ++i) {
    auto one = parse_told(told.at(i));
    if (!one) return one.error();
    roll.told.push_back(std::move(*one));
  }
  const JsonView counted = root["counted"];
  for (std::size_t i = 0; i < std::min(counted.size(), kMostCounted); ++i)
    if (const auto id = counted.at(i).text(); engine::is_copy_id(id)) roll.counted.emplace_back(id);
  return roll;
}

}  // namespace flexlocal::provisioner
