// The programs that a FakeHost runs: LVM's, mkfs, dmsetup and blkdiscard, as far as the engine
// looks.
#include <algorithm>
#include <utility>

#include "flexvolume/base/hex.h"
#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

std::string operand_after(const Command& command, std::string_view flag) {
  const auto found = std::find(command.arguments.begin(), command.arguments.end(), flag);
  return found == command.arguments.end() ? std::string() : *(found + 1);
}

bool has(const Command& command, std::string_view flag) {
  return std::find(command.arguments.begin(), command.arguments.end(), flag) !=
         command.arguments.end();
}

// The value that a report or a change is limited to; empty when it is not.
std::string selected(const Command& command) {
  const std::string select = operand_after(command, "--select");
  if (select.empty()) return {};
  const std::size_t first = select.find('"');
  return select.substr(first + 1, select.rfind('"') - first - 1);
}

bool is_lvm(std::string_view program) {
  return program.starts_with("lv") || program == "vgs" || program == "pvs";
}

// Once, since LVM takes the last --config alone.
bool pins_report(const Command& command) {
  return std::count(command.arguments.begin(), command.arguments.end(), "--config") == 1 &&
         operand_after(command, "--config").find("report/binary_values_as_numeric=0 ") !=
             std::string::npos;
}

CommandOutput failed(std::string_view why) { return {5, {}, std::string(why)}; }

// As mkfs.ext4 and resize2fs write it, in blocks of 4 KiB and groups of 128 MiB.
void put_ext4_size(std::string& start, std::uint64_t size) {
  start[1024 + 24] = 2;
  start[1024 + 33] = '\x80';
  for (std::size_t i = 0; i < 4; ++i)
    start[1024 + 4 + i] = static_cast<char>(size / 4096 >> 8 * i & 0xff);
}

void put_uuid(std::string& start, std::size_t at, const std::string& uuid) {
  std::string digits = uuid;
  std::erase(digits, '-');
  start.replace(at, 16, *from_hex(digits));
}

}  // namespace

std::string xfs_start(const std::string& uuid, bool in_progress) {
  std::string start(kSuperblockBytes, '\0');
  start.replace(0, 4, "XFSB");
  put_uuid(start, 32, uuid);
  start[126] = in_progress ? 1 : 0;
  return start;
}

std::string ext4_start(const std::string& uuid) {
  std::string start(kSuperblockBytes, '\0');
  start.replace(1080, 2, "\x53\xef");
  put_uuid(start, 1128, uuid);
  return start;
}

Result<CommandOutput> FakeHost::run(const Command& command) {
  started.push_back(command.path.substr(command.path.rfind('/') + 1));
  commands.push_back(command);
  const int number = static_cast<int>(started.size());
  if (number == kill_before) throw Killed{};
  if (started.back() == "lvextend" && leaves_table) {
    FakeVolume& volume = volumes[command.arguments.back()];
    volume.suspended = true;
    volume.inactive_size = volume.size + kGiB.count();
  }
  if (started.back() == hanging) {
    if (hangs_after_effect) (void)carry_out(command);
    return Error(ErrorCode::kDeadline, concat(command.path, " did not end and was killed"));
  }
  if (started.back() == lying) return CommandOutput{};
  if (is_lvm(started.back()) && !pins_report(command))
    return failed("the host's lvm.conf may change what this call reads");
  const bool fails = started.back() == failing && failures-- > 0;
  auto output = fails ? failed(words) : carry_out(command);
  if (number == kill_after) throw Killed{};
  return output;
}

void FakeHost::commit() {
  ++disk.head.seqno;
  disk.head.checksum = static_cast<std::uint32_t>(disk.head.seqno);
}

CommandOutput FakeHost::carry_out(const Command& command) {
  const std::string& name = started.back();
  if (name == "vgs" && operand_after(command, "-o") == kGroupDiskColumns)
    return {0,
            concat(R"({"report":[{"vg":[{"vg_name":"data","vg_uuid":")", disk.head.group_uuid,
                   R"(","vg_seqno":")", disk.head.seqno, R"(","pv_name":"/dev/fake-disk"}]}]})"),
            {}};
  if (name == "lvcreate") return lvcreate(command);
  if (name == "lvs") return lvs(command, "lv");
  const bool joined = operand_after(command, "-o").find("lv_name") != std::string::npos;
  if (name == "vgs" && joined) return lvs(command, "vg");
  if (name == "lvremove") return lvremove(command);
  if (name == "lvchange") return lvchange(command);
  if (name == "mkfs.xfs" || name == "mkfs.ext4") return mkfs(command);
  if (name == "lvextend") return lvextend(command);
  if (name == "dmsetup") return dmsetup(command);
  if (name == "blkdiscard") return blkdiscard(command);
  if (name == "resize2fs") return resize2fs(command.arguments.back());
  if (name == "xfs_growfs") return {};
  if (name == "mount") {
    const auto& operands = command.arguments;
    mounts.push_back(
        {"253:0", "/", operands.back(), "xfs", operands[operands.size() - 2], "rw,prjquota"});
    return {};
  }
  if (name == "vgs")
    return {0,
            concat(R"({"report":[{"vg":[{"vg_name":"data","vg_size":"10737418240","vg_free":")",
                   group_free, R"(","vg_extent_size":"4194304"}]}]})"),
            {}};
  const FakeVolume* volume = at_device(command.arguments.back());
  const bool blank = volume != nullptr && volume->start == std::string(kSuperblockBytes, '\0');
  return {name == "blkid" && blank ? 2 : 0, {}, {}};
}

CommandOutput FakeHost::lvcreate(const Command& command) {
  const std::string key = concat(kFakeGroup, '/', operand_after(command, "--name"));
  if (volumes.contains(key)) return failed("already exists");
  FakeVolume volume;
  volume.size = std::stoull(operand_after(command, "--size"));
  if (volume.size > group_free) return failed("insufficient free space");
  for (std::size_t i = 0; i + 1 < command.arguments.size(); ++i)
    if (command.arguments[i] == "--addtag") volume.tags.push_back(command.arguments[i + 1]);
  volume.uuid = concat("uuid", ++uuids_);
  if (!unwiped_start.empty()) volume.start = unwiped_start;
  group_free -= volume.size;
  volumes[key] = volume;
  commit();
  return {};
}

CommandOutput FakeHost::lvs(const Command& command, std::string_view table) const {
  const std::string only = selected(command);
  JsonWriter json;
  json.begin_object().key("report").begin_array().begin_object().key(table).begin_array();
  for (const auto& [key, volume] : volumes) {
    if (!only.empty() && key.substr(5) != only && volume.uuid != only) continue;
    if (volume.unknown) continue;
    json.begin_object()
        .member("vg_name", "data")
        .member("vg_uuid", "vg-")
        .member("lv_name", key.substr(5));
    json.member("lv_uuid", volume.uuid).member("lv_size", concat(volume.size));
    json.member("lv_tags", join(volume.tags, ","))
        .member("lv_device_open", volume.open ? "open" : "")
        .member("lv_layout", volume.thin_pool.empty() ? "linear" : "thin,sparse")
        .member("pool_lv", volume.thin_pool);
    if (table == "vg")
      json.member("vg_size", "10737418240")
          .member("vg_free", concat(group_free))
          .member("vg_extent_size", "4194304");
    json.member("lv_active", volume.active ? "active" : "").end_object();
  }
  json.end_array().end_object().end_array().end_object();
  return {0, json.take(), {}};
}

CommandOutput FakeHost::lvremove(const Command& command) {
  const std::string uuid = selected(command);
  for (auto it = volumes.begin(); it != volumes.end(); ++it) {
    if (it->second.uuid != uuid) continue;
    if (it->second.open) return failed("in use");
    group_free += it->second.size;
    volumes.erase(it);
    commit();
    break;
  }
  return {};
}

CommandOutput FakeHost::lvchange(const Command& command) {
  const std::string target = command.arguments.back();
  if (const auto pool =
          target.starts_with("data/") ? thin_pools.find(target.substr(5)) : thin_pools.end();
      pool != thin_pools.end())
    pool->second = false;
  for (auto& [key, volume] : volumes) {
    if (volume.uuid != selected(command)) continue;
    if (const auto pool = thin_pools.find(volume.thin_pool);
        pool != thin_pools.end() && pool->second)
      return failed("its pool is suspended");
    const std::string tag = operand_after(command, "--addtag");
    if (tag.empty()) volume.active = true;
    if (has(command, "--refresh")) refresh(volume);
    for (std::size_t i = 0; i + 1 < command.arguments.size(); ++i)
      if (command.arguments[i] == "--deltag") std::erase(volume.tags, command.arguments[i + 1]);
    std::erase(volume.tags, tag);
    if (!tag.empty()) volume.tags.push_back(tag);
    if (!tag.empty()) commit();
  }
  return {};
}

// libdm takes up a table that is loaded, and loads no other then.
void FakeHost::refresh(FakeVolume& volume) {
  volume.suspended = false;
  volume.device_size = std::exchange(volume.inactive_size, 0);
}

CommandOutput FakeHost::dmsetup(const Command& command) {
  const std::string& verb = command.arguments.front();
  for (auto& [key, volume] : volumes) {
    if (fake_mapper_name(key) != command.arguments.back()) continue;
    if (verb == "clear") volume.inactive_size = 0;
    if (verb == "resume") volume.suspended = false;
  }
  std::string out;
  for (const auto& [key, volume] : volumes)
    if (volume.active)
      out += concat(fake_mapper_name(key), volume.suspended ? "/Suspended/" : "/Active/",
                    volume.inactive_size != 0 ? "Both" : "Live", "\n");
  for (const auto& [pool, suspended] : thin_pools)
    out += concat(fake_pool_device(pool), suspended ? "/Suspended/" : "/Active/", "Live\n");
  return {0, out.empty() ? "No devices found\n" : out, {}};
}

CommandOutput FakeHost::lvextend(const Command& command) {
  const auto found = volumes.find(command.arguments.back());
  if (found == volumes.end()) return failed("not found");
  const std::uint64_t size = std::stoull(operand_after(command, "--size"));
  if (size <= found->second.size) return failed("matches existing size");
  const std::uint64_t more = size - found->second.size;
  if (more > group_free) return failed("insufficient free space");
  group_free -= more;
  found->second.size = size;
  commit();
  return {};
}

CommandOutput FakeHost::mkfs(const Command& command) {
  FakeVolume* volume = at_device(command.arguments.back());
  if (volume == nullptr) return failed("no such device");
  const bool keeps_blocks = started.back() == "mkfs.xfs"
                                ? has(command, "-K")
                                : operand_after(command, "-E") == "nodiscard";
  if (!keeps_blocks) return failed("discards the whole device");
  volume->start = started.back() == "mkfs.xfs"
                      ? xfs_start(operand_after(command, "-m").substr(5), false)
                      : ext4_start(operand_after(command, "-U"));
  if (started.back() == "mkfs.ext4") put_ext4_size(volume->start, volume->size);
  return {};
}

CommandOutput FakeHost::resize2fs(const std::string& device) {
  FakeVolume* volume = at_device(device);
  if (volume == nullptr) return failed("no such device");
  put_ext4_size(volume->start, volume->size - left_by_growth.count());
  return {};
}

CommandOutput FakeHost::blkdiscard(const Command& command) {
  FakeVolume* volume = at_device(command.arguments.back());
  if (volume == nullptr) return failed("no such device");
  const std::string offset = operand_after(command, "--offset");
  if (offset.empty() ? discards_clear : offset == "0")
    volume->start = std::string(kSuperblockBytes, '\0');
  return {};
}

}  // namespace flexlocal::engine
