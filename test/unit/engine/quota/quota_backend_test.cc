#include "flexvolume/engine/quota/quota_backend.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_lock.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

namespace fs = std::filesystem;

// An XFS with project quotas on a plain folder: what xfs_quota sets, the kernel shows.
class FakeQuotas final : public CommandRunner, public ProjectFolders {
 public:
  explicit FakeQuotas(std::string root) : root_(std::move(root)) {}

  Result<CommandOutput> run(const Command& command) override {
    ++started;
    if (started == kill_before) throw Killed{};
    for (std::size_t i = 0; i + 1 < command.arguments.size() && !lying; ++i)
      if (command.arguments[i] == "-c") carry_out(split(command.arguments[i + 1], ' '));
    if (started == kill_after) throw Killed{};
    return CommandOutput{};
  }

  Result<FolderProject> project(const UniqueFd& folder) override { return projects[inode(folder)]; }
  Result<std::optional<std::string>> mark(const UniqueFd& folder) override {
    const auto found = marks.find(inode(folder));
    return found == marks.end() ? std::optional<std::string>() : std::optional(found->second);
  }
  Status set_mark(const UniqueFd& folder, std::string_view text) override {
    marks[inode(folder)] = text;
    return {};
  }
  Status set_kept(const UniqueFd& folder, bool kept) override {
    projects[inode(folder)].kept = kept;
    return {};
  }
  Result<ProjectQuota> quota(const std::string&, std::uint32_t id) override {
    const auto found = lines.find(id);
    return found == lines.end() ? ProjectQuota{.id = id, .limit = {}, .used = {}} : found->second;
  }
  Result<std::vector<ProjectQuota>> quotas(const std::string&) override {
    std::vector<ProjectQuota> all;
    for (const auto& [id, line] : lines) all.push_back(line);
    return all;
  }
  Status check_device(const std::string&, std::string_view) override { return {}; }
  Result<Capacity> capacity(const UniqueFd&) override { return size; }

  std::map<ino_t, FolderProject> projects;
  std::map<ino_t, std::string> marks;
  std::map<std::uint32_t, ProjectQuota> lines;
  Capacity size{kGiB, kGiB, Bytes(4096)};
  int started = 0;
  int kill_before = 0;
  int kill_after = 0;
  bool lying = false;  // xfs_quota does nothing and says nothing

 private:
  static ino_t inode(const UniqueFd& folder) {
    struct stat status {};
    REQUIRE(::fstat(folder.get(), &status) == 0);
    return status.st_ino;
  }

  void carry_out(const std::vector<std::string_view>& words) {
    const auto id = static_cast<std::uint32_t>(std::stoul(std::string(words.back())));
    if (words[0] == "project") {
      struct stat status {};
      if (::stat(concat(root_, words[3]).c_str(), &status) == 0)
        projects[status.st_ino] = {id, true};
      return;
    }
    ProjectQuota& line = lines[id];
    line.id = id;
    line.limit = Bytes(std::stoull(std::string(words[2].substr(6)))).rounded_up_to(Bytes(4096));
    line.inode_limit = std::stoull(std::string(words[3].substr(6)));
  }

  std::string root_;
};

struct Fixture {
  Fixture() {
    fs::create_directories(fake.folder + "/shared");
    fs::create_directories(fake.folder + "/proc");
    fake.mounts.push_back({"7:0", "/", "/shared", "xfs", "/dev/loop0", "rw,prjquota"});
    spec.backend = Backend::kQuota;
    pool.quota_path = "/shared";
    REQUIRE(records.save(promised_record(spec, spec.name.claim_uid())).ok());
  }

  Result<MountSource> make() { return backend.make(spec, pool, 0); }
  Status grow(std::uint64_t mib) { return backend.grow(spec, pool, Bytes(mib << 20U), 0); }
  Result<Removal> remove() { return backend.remove(spec, pool); }
  std::string base() const { return fake.folder + "/shared/.flexlocal/"; }
  std::string path() const { return base() + "volumes/" + spec.name.text(); }
  bool is_clean() const {
    for (const auto& [id, line] : quotas.lines)
      if (line.limit.count() != 0 || line.inode_limit != 0) return false;
    return fs::is_empty(base() + "volumes") && fs::is_empty(base() + "new") &&
           fs::is_empty(base() + "trash");
  }
  void expect_one_volume() {
    REQUIRE(make().ok());
    const auto volumes = backend.volumes("default", pool);
    REQUIRE(volumes.ok());
    REQUIRE(volumes->size() == 1);
    CHECK(volumes->front().area == Area::kVolumes);
    CHECK(volumes->front().limit == spec.size);
    int limits = 0;
    for (const auto& [id, line] : quotas.lines) limits += line.limit.count() != 0 ? 1 : 0;
    CHECK(limits == 1);
  }

  FakeHost fake;
  FakeQuotas quotas{fake.folder};
  Tools tools{fake.config().tools};
  RecordStore records{fake.folder + "/records"};
  QuotaBackend backend{{quotas, tools, fake, fake, records, fake.folder + "/locks",
                        fake.folder + "/groups", fake, fake.folder},
                       quotas,
                       {.proc = fake.folder + "/proc"}};
  VolumeSpec spec = example_spec();
  Pool pool;
};

TEST_CASE_FIXTURE(Fixture, "a first mount starts one program, and again none") {
  const auto source = make();
  REQUIRE(source.ok());
  CHECK(quotas.started == 1);
  CHECK(source->is_bind());
  CHECK(source->device == "/dev/loop0");
  CHECK(source->folder == "/shared/.flexlocal/volumes/" + spec.name.text());
  CHECK(source->root == "/.flexlocal/volumes/" + spec.name.text());
  REQUIRE(make().ok());
  CHECK(quotas.started == 1);
}

TEST_CASE("killed before or after xfs_quota, the next mount makes the one right volume") {
  for (const bool after : {false, true}) {
    Fixture f;
    (after ? f.quotas.kill_after : f.quotas.kill_before) = 1;
    CHECK_THROWS_AS(static_cast<void>(f.make()), Killed);
    CHECK(fs::is_empty(f.base() + "volumes"));
    f.expect_one_volume();
    REQUIRE(f.remove().ok());
    CHECK(f.is_clean());
  }
}

TEST_CASE_FIXTURE(Fixture, "what a killed mount left goes with the volume that never came") {
  quotas.kill_after = 1;
  CHECK_THROWS_AS(static_cast<void>(make()), Killed);
  const auto removed = remove();
  REQUIRE(removed.ok());
  CHECK(removed->done);
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(Fixture, "an xfs_quota that did nothing is noticed, and nothing is left") {
  quotas.lying = true;
  CHECK_FALSE(make().ok());
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(Fixture, "no volume is made beyond the pool, and none grows beyond it") {
  REQUIRE(make().ok());  // 512 of 1024 MiB
  VolumeSpec second = spec;
  second.name = *VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000b");
  second.size = Bytes(513 << 20U);
  REQUIRE(records.save(promised_record(second, second.name.claim_uid())).ok());
  const auto refused = backend.make(second, pool, 0);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kNoSpace);
  CHECK(refused.error().message().find("512 MiB free of 1 GiB, 513 MiB asked") !=
        std::string::npos);
  CHECK(grow(1025).error().code() == ErrorCode::kNoSpace);
  CHECK(backend.volumes("default", pool)->front().limit == spec.size);
  REQUIRE(grow(1024).ok());
  CHECK(backend.volumes("default", pool)->front().limit == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "growing again starts nothing; shrinking is refused; kills do no harm") {
  CHECK(grow(600).error().code() == ErrorCode::kNotFound);
  REQUIRE(make().ok());
  quotas.kill_after = 2;
  CHECK_THROWS_AS(static_cast<void>(grow(600)), Killed);
  REQUIRE(grow(600).ok());
  CHECK(quotas.started == 2);
  CHECK(grow(599).error().code() == ErrorCode::kInvalid);
  REQUIRE(make().ok());  // the options still name the first size
}

TEST_CASE_FIXTURE(Fixture, "only the claim's own volume of the size it was made with is mounted") {
  REQUIRE(make().ok());
  fs::remove_all(fake.folder + "/records");
  const VolumeSpec right = spec;
  spec.claim_namespace = "thief";
  CHECK(make().error().code() == ErrorCode::kDenied);
  CHECK(remove().error().code() == ErrorCode::kDenied);
  spec = right;
  spec.size += kMiB;
  CHECK(make().error().code() == ErrorCode::kDenied);
  spec = right;
  CHECK(make().ok());
  CHECK(fs::exists(path()));
}

TEST_CASE_FIXTURE(Fixture, "a folder that is not limited as it was made is for a person") {
  REQUIRE(make().ok());
  auto& line = quotas.lines.begin()->second;
  line.limit = spec.size - Bytes(4096);
  CHECK(make().error().code() == ErrorCode::kCorrupt);
  line.limit = spec.size;
  for (auto& [inode, project] : quotas.projects) project.inherited = false;
  CHECK(make().error().code() == ErrorCode::kCorrupt);
  for (auto& [inode, project] : quotas.projects) project = {7, true};
  CHECK(make().error().code() == ErrorCode::kCorrupt);
  CHECK(quotas.started == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume whose folder is gone is neither made anew nor called removed") {
  REQUIRE(make().ok());
  fs::remove_all(path());
  CHECK(make().error().code() == ErrorCode::kCorrupt);
  CHECK(remove().error().code() == ErrorCode::kUnavailable);
}

TEST_CASE("a removal that is killed anywhere goes on, and is never mounted in between") {
  for (const bool after : {false, true}) {
    Fixture f;
    REQUIRE(f.make().ok());
    std::ofstream(f.path() + "/file") << "data";
    (after ? f.quotas.kill_after : f.quotas.kill_before) = 2;
    CHECK_THROWS_AS(static_cast<void>(f.remove()), Killed);
    CHECK(f.make().error().code() == ErrorCode::kDenied);
    const auto removed = f.remove();
    REQUIRE(removed.ok());
    CHECK(removed->done);
    CHECK(f.is_clean());
    CHECK(f.remove()->done);  // what is gone is done
    const auto first = f.quotas.lines.rbegin()->first;
    CHECK(f.make().error().code() == ErrorCode::kNotFound);
    REQUIRE(f.records.save(promised_record(f.spec, f.spec.name.claim_uid())).ok());
    REQUIRE(f.make().ok());
    CHECK(f.quotas.lines.rbegin()->first > first);  // its project id is never used again
  }
}

TEST_CASE_FIXTURE(Fixture, "what is in the trash goes with the removal of its own volume alone") {
  REQUIRE(make().ok());
  const std::string heap =
      concat(base(), "trash/", spec.name.text(), '-', quotas.lines.begin()->first);
  fs::rename(path(), heap);
  fs::remove_all(fake.folder + "/records");
  const VolumeSpec right = spec;
  spec.claim_namespace = "thief";
  CHECK(remove().error().code() == ErrorCode::kDenied);
  spec = right;
  spec.cluster_id = "11111111-2222-4333-8444-666666666666";
  CHECK(remove().error().code() == ErrorCode::kDenied);
  CHECK(fs::exists(heap));
  spec = right;
  REQUIRE(remove()->done);
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(
    Fixture, "a retained folder says so by its record, full or not, and is removed all the same") {
  const auto marked = [&] { return (*records.load(spec.name))->retained; };
  REQUIRE(backend.set_retained(spec, pool, Retained::kYes).ok());
  CHECK_FALSE(marked());  // there is only the promise
  REQUIRE(make().ok());
  const auto marks = quotas.marks;
  for (const Retained retained : {Retained::kYes, Retained::kYes, Retained::kNo, Retained::kYes}) {
    REQUIRE(backend.set_retained(spec, pool, retained).ok());
    CHECK(marked() == (retained == Retained::kYes));
  }
  CHECK(quotas.marks == marks);
  REQUIRE(make().ok());
  CHECK(marked());  // a pod that mounts it is no PersistentVolume
  REQUIRE(remove().ok());
  CHECK(is_clean());
}

TEST_CASE_FIXTURE(Fixture, "a host that lost its records gets the retained folder's back") {
  REQUIRE(make().ok());
  REQUIRE(records.remove(spec.name).ok());
  VolumeSpec other = spec;
  other.cluster_id = "99999999-2222-3333-4444-555555555555";
  CHECK(backend.set_retained(other, pool, Retained::kYes).error().code() == ErrorCode::kDenied);
  REQUIRE(backend.set_retained(spec, pool, Retained::kYes).ok());
  const auto record = records.load(spec.name);
  REQUIRE(record->has_value());
  CHECK((*record)->retained);
  CHECK((*record)->state == RecordState::kReady);
  CHECK((*record)->project_id != 0);
}

TEST_CASE_FIXTURE(Fixture, "the inventory has each pool's room, and what is in it") {
  REQUIRE(make().ok());
  NodeConfig config;
  config.pools["default"] = pool;
  config.pools["unmounted"].quota_path = "/elsewhere";
  Inventory inventory;
  REQUIRE(backend.add_to(inventory, config).ok());
  REQUIRE(inventory.spaces.size() == 1);
  CHECK(inventory.spaces[0].id == "quota:default");
  CHECK(inventory.spaces[0].size == kGiB);
  CHECK(inventory.spaces[0].free == kGiB - spec.size);
  REQUIRE(inventory.holdings.size() == 1);
  CHECK(inventory.holdings[0].size == spec.size);
}

TEST_CASE_FIXTURE(Fixture, "a .flexlocal that others may enter is not ours") {
  fs::create_directories(base());
  fs::permissions(base(), fs::perms::all);
  CHECK(make().error().code() == ErrorCode::kDenied);
}

TEST_CASE_FIXTURE(Fixture, "the claim and its mode are kept when the folder is made and retained") {
  const std::string claim = spec.name.claim_uid();
  spec.access_mode = AccessMode::kReadWriteOncePod;
  const auto recorded = [&] {
    const Record record = **records.load(spec.name);
    return std::pair(record.claim_uid, record.spec.access_mode);
  };
  REQUIRE(records.save(promised_record(spec, claim)).ok());
  CHECK(make()->for_one_pod);
  CHECK(make()->for_one_pod);
  CHECK(recorded() == std::pair(claim, AccessMode::kReadWriteOncePod));
  // As after a daemon's promise for a folder that is there.
  REQUIRE(records.save(promised_record(spec, claim)).ok());
  REQUIRE(backend.set_retained(spec, pool, Retained::kYes).ok());
  CHECK(recorded() == std::pair(claim, AccessMode::kReadWriteOncePod));
}

TEST_CASE_FIXTURE(Fixture, "a lost record is made anew from the folder's mark, for no claim yet") {
  REQUIRE(make().ok());
  REQUIRE(backend.set_retained(spec, pool, Retained::kYes).ok());
  REQUIRE(records.remove(spec.name).ok());
  NodeConfig config;
  config.pools["default"] = pool;
  Inventory inventory;
  REQUIRE(backend.add_to(inventory, config).ok());
  backend.restore_records(inventory, config);
  const auto record = records.load(spec.name);
  REQUIRE(record->has_value());
  CHECK(is_of((*record)->spec, spec));
  CHECK((*record)->spec.size == spec.size);
  CHECK((*record)->state == RecordState::kReady);
  CHECK((*record)->project_id != 0);
  CHECK((*record)->retained);
  CHECK((*record)->claim_uid.empty());
  REQUIRE(backend.set_retained(spec, pool, Retained::kNo).ok());
  CHECK_FALSE((**records.load(spec.name)).retained);
  // What is there is not touched, and what is gone since the look gets none.
  backend.restore_records(inventory, config);
  REQUIRE(backend.remove(spec, pool).ok());
  backend.restore_records(inventory, config);
  CHECK_FALSE(records.load(spec.name)->has_value());
}

}  // namespace
}  // namespace flexlocal::engine
