#include "provisioner/objects/growth_status.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::provisioner {
namespace {

// Values of status.allocatedResourceStatuses (pkg/apis/core/types.go, ClaimResourceStatus).
constexpr std::string_view kNodeResizePending = "NodeResizePending";
constexpr std::string_view kControllerResizeInfeasible = "ControllerResizeInfeasible";

// Only then does the API server certainly know the two fields: another one warns about them.
bool has_fields(const Claim& claim) {
  return !claim.allocated.empty() || !claim.resize_status.empty();
}

// By value: the API server may print a quantity in another way than it was written.
bool is_same(const std::string& one, const std::string& other) {
  const auto first = parse_quantity(one);
  const auto second = parse_quantity(other);
  return first && second ? *first == *second : one == other;
}

bool says(const Claim& claim, std::string_view resize_status, const std::string& allocated) {
  return claim.resize_status == resize_status && is_same(claim.allocated, allocated);
}

std::string failure_message(const Claim& claim, Bytes has) {
  return concat("the volume keeps ", to_string(has), " and does not grow to ",
                printable(claim.requested, 64), " now; the event VolumeResizeFailed says why");
}

void begin_body(JsonWriter& json, const Claim& claim) {
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", claim.resource_version).end_object();
  json.key("status").begin_object();
}

// An empty status removes the field.
void write_allocation(JsonWriter& json, const Claim& claim, const std::string& allocated,
                      std::string_view resize_status) {
  if (!has_fields(claim)) return;
  if (!allocated.empty())
    json.key("allocatedResources").begin_object().member("storage", allocated).end_object();
  json.key("allocatedResourceStatuses").begin_object().key("storage");
  if (resize_status.empty())
    json.null();
  else
    json.string(resize_status);
  json.end_object();
}

// A merge patch replaces the array, so it repeats the conditions of others.
void begin_conditions(JsonWriter& json, const Claim& claim) {
  json.key("conditions").begin_array();
  for (const std::string& text : claim.other_conditions)
    if (const auto condition = JsonDocument::parse(text)) json.value(condition->root());
}

void write_condition(JsonWriter& json, std::string_view type, const std::string& message,
                     Clock::Wall now) {
  json.begin_object().member("type", type).member("status", "True");
  json.member("lastTransitionTime", kube::format_time(now)).member("message", message).end_object();
}

std::string end_body(JsonWriter& json) {
  json.end_array().end_object().end_object();
  return json.take();
}

}  // namespace

std::string allocated_for(const Claim& claim, Bytes has, bool as_requested) {
  if (claim.allocated.empty()) return {};
  if (as_requested) return claim.requested;
  const auto charged = parse_quantity(claim.allocated);
  return charged && *charged <= has ? claim.allocated : format_quantity(has);
}

bool says_pending(const Claim& claim, const std::string& allocated) {
  if (!claim.file_system_pending || !claim.resize_error.empty()) return false;
  return !has_fields(claim) || says(claim, kNodeResizePending, allocated);
}

bool says_failed(const Claim& claim, const std::string& allocated, Bytes has) {
  if (!has_fields(claim)) return true;
  return !claim.file_system_pending && claim.resize_error == failure_message(claim, has) &&
         says(claim, kControllerResizeInfeasible, allocated);
}

std::string complete_body(const Claim& claim, Bytes size, const std::string& allocated) {
  JsonWriter json;
  begin_body(json, claim);
  json.key("capacity").begin_object().member("storage", format_quantity(size)).end_object();
  write_allocation(json, claim, allocated, "");
  begin_conditions(json, claim);
  return end_body(json);
}

std::string pending_body(const Claim& claim, const std::string& allocated, Clock::Wall now) {
  JsonWriter json;
  begin_body(json, claim);
  write_allocation(json, claim, allocated, kNodeResizePending);
  begin_conditions(json, claim);
  write_condition(json, kFileSystemResizePending,
                  "the volume has grown; its file system follows at the next mount", now);
  return end_body(json);
}

std::string failed_body(const Claim& claim, const std::string& allocated, Bytes has,
                        Clock::Wall now) {
  JsonWriter json;
  begin_body(json, claim);
  write_allocation(json, claim, allocated, kControllerResizeInfeasible);
  begin_conditions(json, claim);
  write_condition(json, kControllerResizeError, failure_message(claim, has), now);
  return end_body(json);
}

}  // namespace flexlocal::provisioner
