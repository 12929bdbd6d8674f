#include "flexvolume/engine/host/mount_reader.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kVolume = "18 1 253:4 / /pods/x rw - xfs /dev/mapper/v rw,prjquota\n";
constexpr std::string_view kOther = "19 1 0:9 / /tmp ro - tmpfs none rw\n";

struct Fixture {
  FakeHost fake;
  int opened = 0;

  std::string file(const std::string& name, const std::string& content) {
    const std::string path = concat(fake.folder, '/', name);
    std::ofstream(path) << content;
    return path;
  }
  // Opens the first path first; the last one from then on.
  MountReader::Open one_after_another(std::vector<std::string> paths) {
    return [this, paths] {
      const auto at = std::min<std::size_t>(static_cast<std::size_t>(opened++), paths.size() - 1);
      return open_file(paths[at], O_RDONLY);
    };
  }
};

bool keep_all(const MountEntry&) { return true; }
bool keep_xfs(const MountEntry& entry) { return entry.fs_type == "xfs"; }

TEST_CASE_FIXTURE(Fixture, "only mounts that are wanted are kept, and every line is counted") {
  const std::string path = file("table", concat(kOther, kVolume, "rubbish\n", kOther));
  const auto reading = MountReader(true).read(path, keep_xfs);
  REQUIRE(reading.ok());
  REQUIRE(reading->kept.size() == 1);
  CHECK(reading->kept[0].mount_point == "/pods/x");
  CHECK_FALSE(reading->kept[0].read_only);
  CHECK(reading->lines == 4);
}

TEST_CASE_FIXTURE(Fixture, "a table is read to its end, however long it and its lines are") {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += concat("19 1 0:9 / /layers/", i,
                   " rw - overlay overlay rw,lowerdir=", std::string(300, 'l'), '\n');
  text += kVolume.substr(0, kVolume.size() - 1);  // without an end of line
  const auto reading = MountReader(true).read(file("table", text), keep_all);
  REQUIRE(reading.ok());
  REQUIRE(reading->kept.size() == 20001);
  CHECK(reading->kept[19999].mount_point == "/layers/19999");
  CHECK(reading->kept[19999].super_options.empty());
  CHECK(reading->kept[20000].super_options == "rw,prjquota");
  const std::string endless =
      concat("19 1 0:9 / /long rw - overlay overlay rw,lowerdir=", std::string(3U << 20U, 'x'),
             '\n', kVolume);
  const auto long_lines = MountReader(true).read(file("line", endless), keep_all);
  REQUIRE(long_lines.ok());
  REQUIRE(long_lines->kept.size() == 2);
  CHECK(long_lines->kept[0].mount_point == "/long");
  CHECK(long_lines->kept[1].mount_point == "/pods/x");
}

// Who runs containers decides how long a line is.
TEST_CASE_FIXTURE(Fixture, "of a line without end no more than its two ends are held") {
  const std::string endless = concat("20 1 253:4 / /long rw - xfs /dev/mapper/v rw,first,",
                                     std::string(3U << 20U, 'x'), ",last\n", kVolume);
  const auto reading = MountReader(true).read(file("line", endless), keep_all);
  REQUIRE(reading.ok());
  REQUIRE(reading->kept.size() == 2);
  const std::string& options = reading->kept[0].super_options;
  CHECK(options.starts_with("rw,first,"));
  CHECK(options.ends_with(",last"));
  CHECK(options.size() < (256U << 10U));
  CHECK(reading->kept[1].super_options == "rw,prjquota");
}

TEST_CASE_FIXTURE(Fixture, "an old kernel's table counts once two readings are the same") {
  const std::string whole = file("whole", concat(kOther, kVolume));
  const std::string lacking = file("lacking", std::string(kOther));
  const auto reading = MountReader(false).read(one_after_another({lacking, whole}), keep_xfs);
  REQUIRE(reading.ok());
  CHECK(reading->kept.size() == 1);
  CHECK(opened == 3);
}

TEST_CASE_FIXTURE(Fixture, "a table that never stops changing is an error, not a short list") {
  const std::string whole = file("whole", concat(kOther, kVolume));
  const std::string lacking = file("lacking", std::string(kOther));
  const auto alternating = [&] { return open_file(++opened % 2 == 0 ? whole : lacking, O_RDONLY); };
  CHECK(MountReader(false).read(alternating, keep_xfs).error().code() == ErrorCode::kUnavailable);
  CHECK(opened < 100);
}

TEST_CASE_FIXTURE(Fixture, "a newer kernel's table is read once") {
  const std::string whole = file("whole", std::string(kVolume));
  CHECK(MountReader(true).read(one_after_another({whole}), keep_all).ok());
  CHECK(opened == 1);
  CHECK_FALSE(MountReader(true).read(fake.folder + "/nothing", keep_all).ok());
}

TEST_CASE("from Linux 5.8 on a table has every mount") {
  for (const char* release : {"5.8.0", "5.10.0-28-amd64", "6.12.1", "10.0"})
    CHECK(lists_every_mount(release));
  for (const char* release : {"5.7.19", "5.4.0-150-generic", "4.18.0-553.el8", "3.10", "", "x.y"})
    CHECK_FALSE(lists_every_mount(release));
}

TEST_CASE("a mount is read-only by its own option or by its file system's") {
  CHECK_FALSE(parse_mount_line("1 1 7:0 / /a rw,nosuid - xfs /dev/a rw")->read_only);
  CHECK(parse_mount_line("1 1 7:0 / /a nosuid,ro - xfs /dev/a rw")->read_only);
  CHECK(parse_mount_line("1 1 7:0 / /a rw - xfs /dev/a ro,prjquota")->read_only);
  CHECK_FALSE(
      parse_mount_line("1 1 7:0 / /a rw,rollback - xfs /dev/a rw,errors=remount-ro")->read_only);
}

}  // namespace
}  // namespace flexlocal::engine
