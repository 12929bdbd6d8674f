#include "provisioner/objects/copy_status.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::provisioner {
namespace {

// By CopyState; nothing is written for the first, and never the last.
constexpr std::array kStates = {std::string_view(""),         std::string_view("Promised"),
                                std::string_view("Ready"),    std::string_view("Retained"),
                                std::string_view("Removing"), std::string_view("Removed"),
                                std::string_view("Refused"),  std::string_view("Lost")};

// The schema's limit is larger, and of characters.
constexpr std::size_t kMostMessage = 1024;

CopyState state_of(std::string_view text) {
  const auto found = std::find(kStates.begin(), kStates.end(), text);
  return found == kStates.end() ? CopyState::kUnknown
                                : static_cast<CopyState>(found - kStates.begin());
}

Bytes size_of(JsonView value) {
  const auto size = parse_quantity(value.text());
  return size ? *size : Bytes();
}

void write_text(JsonWriter& json, std::string_view key, std::string_view text) {
  json.key(key);
  if (text.empty())
    json.null();
  else
    json.string(text);
}

void write_size(JsonWriter& json, std::string_view key, Bytes size) {
  write_text(json, key, size == Bytes() ? std::string() : format_quantity(size));
}

// Empty where there is nothing to say, see write_condition().
std::string message_of(JsonView condition) {
  const std::string_view message = condition["message"].text();
  return message == condition["reason"].text() ? std::string() : std::string(message);
}

void write_condition(JsonWriter& json, const CopyCondition& condition) {
  json.begin_object().member("type", condition.type);
  json.member("status", condition.holds ? "True" : "False");
  json.member("reason", condition.reason);
  // Kubernetes 1.20 takes an empty text for null, and refuses that: it says the reason once more.
  const std::string& text = condition.message.empty() ? condition.reason : condition.message;
  json.member("message", printable(text, kMostMessage));
  json.member("lastTransitionTime", kube::format_time(condition.since)).end_object();
}

}  // namespace

std::string_view word_of(CopyState state) {
  const auto at = static_cast<std::size_t>(state);
  return at < kStates.size() ? kStates.at(at) : std::string_view();
}

const CopyCondition* find_condition(const CopyStatus& status, std::string_view type) {
  const auto found =
      std::find_if(status.conditions.begin(), status.conditions.end(),
                   [&](const CopyCondition& condition) { return condition.type == type; });
  return found == status.conditions.end() ? nullptr : &*found;
}

bool is_of_promised(CopyState state) {
  switch (state) {
    case CopyState::kPromised:
    case CopyState::kReady:
    case CopyState::kRetained:
    case CopyState::kLost:
      return true;
    case CopyState::kUnsaid:
    case CopyState::kRemoving:  // also of what was never said to be promised
    case CopyState::kRemoved:
    case CopyState::kRefused:
    case CopyState::kUnknown:
      break;
  }
  return false;
}

void set_condition(CopyStatus& status, CopyCondition condition, Clock::Wall now) {
  const auto same_type = [&](const CopyCondition& other) { return other.type == condition.type; };
  const auto found = std::find_if(status.conditions.begin(), status.conditions.end(), same_type);
  condition.since = std::chrono::floor<std::chrono::seconds>(now);
  if (found == status.conditions.end()) {
    status.conditions.push_back(std::move(condition));
    return;
  }
  if (found->holds == condition.holds) condition.since = found->since;
  *found = std::move(condition);
}

CopyStatus parse_status(JsonView status) {
  CopyStatus parsed;
  parsed.state = state_of(status["state"].text());
  parsed.promised = status["promised"].boolean().value_or(false);
  parsed.made = status["made"].boolean().value_or(false);
  parsed.used = status["used"].boolean().value_or(false);
  parsed.size = size_of(status["size"]);
  parsed.mounted = status["mounted"].boolean().value_or(false);
  parsed.wiped = size_of(status["wiped"]);
  parsed.host = status["host"].text();
  parsed.observed_generation = status["observedGeneration"].integer().value_or(0);
  const JsonView conditions = status["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const JsonView one = conditions.at(i);
    parsed.conditions.push_back(
        {std::string(one["type"].text()), one["status"].text() == "True",
         std::string(one["reason"].text()), message_of(one),
         kube::parse_time(one["lastTransitionTime"].text()).value_or(Clock::Wall())});
  }
  return parsed;
}

void write_status(JsonWriter& json, const CopyStatus& status) {
  json.begin_object();
  if (status.state != CopyState::kUnknown)
    write_text(json, "state", kStates[static_cast<std::size_t>(status.state)]);
  if (status.promised || is_of_promised(status.state)) json.key("promised").boolean(true);
  if (status.made || status.state == CopyState::kReady) json.key("made").boolean(true);
  if (status.used) json.key("used").boolean(true);
  write_size(json, "size", status.size);
  json.key("mounted").boolean(status.mounted);
  write_size(json, "wiped", status.wiped);
  write_text(json, "host", status.host);
  json.key("observedGeneration").integer(status.observed_generation);
  json.key("conditions").begin_array();
  for (const CopyCondition& condition : status.conditions) write_condition(json, condition);
  json.end_array().end_object();
}

}  // namespace flexlocal::provisioner
