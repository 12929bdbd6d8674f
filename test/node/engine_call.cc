// Calls the engine's operations that only the node daemon makes, for the tests of the node tier:
//
//   engine-call [--host-proc=DIR] promise RECORD
//
//   engine-call [--host-proc=DIR] follow RECORD
//
//   engine-call [--host-proc=DIR] withdraw RECORD
//
//   engine-call [--host-proc=DIR] remove RECORD
//
//   engine-call [--host-proc=DIR] retain RECORD
//
//   engine-call [--host-proc=DIR] take-up RECORD
//
//   engine-call [--host-proc=DIR] grow RECORD BYTES
//
//   engine-call [--host-proc=DIR] inventory
//
//   engine-call [--host-proc=DIR] as-seen HEADS
//
//   engine-call [--host-proc=DIR] refresh-io-limits
//
//   engine-call [--host-proc=DIR] resume-suspended
//
//   engine-call [--host-proc=DIR] settle
//
//   engine-call only-disk DEVICE DISK...
//
//   engine-call seqno DISK
//
// HEADS: what an inventory printed as such. The first three are those of CopyRecords. The last two
// say what the engine sees: the one disk that a device stands on, and the number of LVM's metadata
// on a disk. RECORD: the volume's record, as JSON; of it counts what was ordered, and by which
// order. It reads /etc/flexlocal/node.conf and works on the real host. --host-proc: as the node
// daemon's. Prints one JSON object on one line:
// {"status":"Success",...} or {"status":"Failure","code":..., "message":...}. Exit status: 0 on
// success, 1 on failure, 2 on wrong usage.

#include <iostream>
#include <string>
#include <vector>

#include "flexvolume/base/json.h"
#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/engine.h"
#include "flexvolume/engine/host/kernel_mounter.h"
#include "flexvolume/engine/lvm/group_memory.h"
#include "flexvolume/engine/lvm/metadata_head.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kUsage =
    "usage: engine-call [--host-proc=DIR] promise RECORD | follow RECORD | withdraw RECORD | "
    "make RECORD | remove RECORD | remove-unused RECORD | retain RECORD | take-up RECORD | "
    "grow RECORD BYTES | inventory | as-seen HEADS | refresh-io-limits | resume-suspended | "
    "settle | only-disk DEVICE DISK... | seqno DISK";
constexpr std::string_view kHostProc = "--host-proc=";

void add_size(JsonWriter& json, std::string_view key, Bytes size) {
  json.key(key).integer(static_cast<std::int64_t>(size.count()));
}

Status print_removal(const Result<Removal>& removal, JsonWriter& json) {
  if (!removal) return removal.error();
  json.key("done").boolean(removal->done);
  add_size(json, "wiped", removal->wiped);
  add_size(json, "size", removal->size);
  return {};
}

void print_space(const Space& space, JsonWriter& json) {
  json.begin_object().member("id", space.id);
  add_size(json, "size", space.size);
  add_size(json, "free", space.free);
  add_size(json, "unit", space.unit);
  json.key("disks").begin_array();
  for (const Bytes free : space.disks) json.integer(static_cast<std::int64_t>(free.count()));
  json.end_array().end_object();
}

Status print_inventory(Engine& engine, JsonWriter& json) {
  const auto inventory = engine.inventory();
  if (!inventory) return inventory.error();
  json.key("spaces").begin_array();
  for (const Space& space : inventory->spaces) print_space(space, json);
  json.end_array().key("holdings").begin_array();
  for (const Holding& holding : inventory->holdings) {
    json.begin_object().member("volume", holding.volume).member("space", holding.space);
    add_size(json, "size", holding.size);
    json.end_object();
  }
  json.end_array().key("heads").begin_array();
  for (const auto& [group, head] : inventory->heads) {
    json.begin_object().member("group", group);
    add_head(json, head);
    json.end_object();
  }
  json.end_array();
  return {};
}

Status print_as_seen(Engine& engine, const std::string& text, JsonWriter& json) {
  const auto parsed = JsonDocument::parse(text);
  if (!parsed) return parsed.error();
  std::map<std::string, MetadataHead> heads;
  for (std::size_t i = 0; i < parsed->root().size(); ++i) {
    const JsonView object = parsed->root().at(i);
    const std::string group(object["group"].text());
    if (const auto head = head_in(object, group)) heads.emplace(group, *head);
  }
  json.key("same").boolean(engine.is_as_seen(heads));
  return {};
}

Status settle(Engine& engine) {
  const auto inventory = engine.inventory();
  if (!inventory) return inventory.error();
  return engine.settle(*inventory);
}

Status print_only_disk(const std::vector<std::string>& words, JsonWriter& json) {
  const auto disk = KernelDevices().only_disk_of(words[1], {words.begin() + 2, words.end()});
  if (!disk) return disk.error();
  json.member("disk", *disk);
  return {};
}

Status print_seqno(const std::string& disk, JsonWriter& json) {
  KernelDevices devices;
  const auto head = read_metadata_head(devices, disk);
  if (!head) return head.error();
  if (!*head) return Error(ErrorCode::kNotFound, "it has no metadata");
  json.key("seqno").integer(static_cast<std::int64_t>((*head)->seqno));
  return {};
}

Status status_of(const Result<Record>& record) {
  return record ? Status() : Status(record.error());
}

Status carry_out(Engine& engine, const std::vector<std::string>& words, JsonWriter& json) {
  if (words[0] == "inventory") return print_inventory(engine, json);
  if (words[0] == "as-seen") return print_as_seen(engine, words[1], json);
  if (words[0] == "refresh-io-limits") return engine.refresh_io_limits();
  if (words[0] == "resume-suspended") return engine.resume_suspended();
  if (words[0] == "settle") return settle(engine);
  if (words[0] == "only-disk") return print_only_disk(words, json);
  if (words[0] == "seqno") return print_seqno(words[1], json);
  const auto record = parse_record(words[1]);
  if (!record) return record.error();
  const VolumeSpec& spec = record->spec;
  const OrderedCopy ordered{spec, record->claim_uid, record->retained, record->order};
  if (words[0] == "promise") return status_of(engine.copies().promise(ordered));
  if (words[0] == "follow") return status_of(engine.copies().follow(ordered));
  if (words[0] == "withdraw") return engine.copies().withdraw(spec);
  if (words[0] == "remove") return print_removal(engine.remove(spec), json);
  if (words[0] == "remove-unused") return print_removal(engine.remove_unused(spec), json);
  if (words[0] == "make") return engine.make({spec.name, spec.copy});
  if (words[0] == "retain") return engine.set_retained(spec, Retained::kYes);
  if (words[0] == "take-up") return engine.set_retained(spec, Retained::kNo);
  unsigned long long size = 0;
  if (!parse_number(words[2], kMostBytes.count(), size))
    return Error(ErrorCode::kInvalid, concat("\"", words[2], "\" is no count of bytes"));
  return engine.grow(spec, Bytes(size));
}

bool is_usage(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words[0] == "only-disk") return words.size() > 2;
  const std::size_t wanted = words[0] == "inventory"           ? 1
                             : words[0] == "refresh-io-limits" ? 1
                             : words[0] == "resume-suspended"  ? 1
                             : words[0] == "settle"            ? 1
                             : words[0] == "promise"           ? 2
                             : words[0] == "follow"            ? 2
                             : words[0] == "withdraw"          ? 2
                             : words[0] == "remove"            ? 2
                             : words[0] == "remove-unused"     ? 2
                             : words[0] == "make"              ? 2
                             : words[0] == "retain"            ? 2
                             : words[0] == "take-up"           ? 2
                             : words[0] == "seqno"             ? 2
                             : words[0] == "as-seen"           ? 2
                             : words[0] == "grow"              ? 3
                                                               : 0;
  return words.size() == wanted;
}

Status call(const std::string& host_proc, const std::vector<std::string>& words, JsonWriter& json) {
  const auto config = load_node_config(std::string(kNodeConfigPath));
  if (!config) return config.error();
  StderrLog log(LogLevel::kWarning);
  ProcessRunner runner(host_proc);
  KernelDevices devices;
  KernelMounter mounter(host_proc.empty() ? "/proc/self/mountinfo" : host_proc + "/mountinfo");
  Host host{runner, devices, mounter, log};
  if (!host_proc.empty()) host.tool_root = host_proc + "/root";
  Engine engine(host, *config);
  return carry_out(engine, words, json);
}

int run(std::vector<std::string> words) {
  std::string host_proc;
  if (!words.empty() && words[0].starts_with(kHostProc)) {
    host_proc = words[0].substr(kHostProc.size());
    words.erase(words.begin());
  }
  if (!is_usage(words)) {
    std::cerr << kUsage << '\n';
    return 2;
  }
  JsonWriter json;
  json.begin_object().member("status", "Success");
  const Status called = call(host_proc, words, json);
  if (called) {
    std::cout << json.end_object().take() << std::endl;
    return 0;
  }
  JsonWriter failure;
  failure.begin_object()
      .member("status", "Failure")
      .member("code", to_string(called.error().code()))
      .member("message", called.error().message());
  std::cout << failure.end_object().take() << std::endl;
  return 1;
}

}  // namespace
}  // namespace flexlocal::engine

int main(int count, char** values) {
  return flexlocal::engine::run(
      std::vector<std::string>(values + (count > 0 ? 1 : 0), values + count));
}
