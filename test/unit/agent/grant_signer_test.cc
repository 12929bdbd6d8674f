#include "provisioner/agent/grant_signer.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "flexvolume/base/fd.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  std::string words() {
    const Status refreshed = grants.refresh();
    REQUIRE_FALSE(refreshed.ok());
    CHECK_FALSE(grants.sign(sample_spec()).ok());
    return refreshed.error().message();
  }
  std::string host_text() const {
    const auto text = read_file(grant_files.host);
    return text ? *text : "nothing";
  }
  bool signed_by(const std::string& lines) {
    const auto grant = grants.sign(sample_spec());
    REQUIRE(grant.ok());
    return sample_keys(lines).verify(sample_spec(), *grant).ok();
  }
  auto logged(const std::string& piece) const {
    return std::count_if(log.lines.begin(), log.lines.end(), [&](const std::string& line) {
      return line.find(piece) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the host's copy is there, for root alone, before the first grant") {
  CHECK(signed_by(kGrantLine));
  CHECK(host_text() == kGrantLine);
  struct stat status {};
  REQUIRE(::stat(grant_files.host.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0600);
  CHECK(engine::GrantKeys::load(grant_files.host).ok());
}

TEST_CASE_FIXTURE(Fixture, "the host's copy is written once, not with every grant") {
  for (int i = 0; i < 3; ++i) CHECK(signed_by(kGrantLine));
  CHECK(logged("grant key copied to the host") == 1);
  CHECK(logged("there is a grant key") == 0);  // it has never been missing
}

TEST_CASE_FIXTURE(Fixture, "a copy that others can read, or that is damaged, is made anew") {
  REQUIRE(grants.refresh().ok());
  std::filesystem::permissions(grant_files.host, std::filesystem::perms(0644));
  REQUIRE(grants.refresh().ok());
  CHECK(engine::GrantKeys::load(grant_files.host).ok());
  REQUIRE(write_file_atomically(grant_files.host, "damaged", 0600).ok());
  REQUIRE(grants.refresh().ok());
  CHECK(host_text() == kGrantLine);
  REQUIRE(remove_file(grant_files.host).ok());
  REQUIRE(grants.refresh().ok());
  CHECK(host_text() == kGrantLine);
}

TEST_CASE_FIXTURE(Fixture, "a Secret that is not there says how to make one, once") {
  REQUIRE(remove_file(grant_files.secret).ok());
  for (int i = 0; i < 2; ++i)
    CHECK(words() ==
          "no grant key: create the Secret flexlocal-grant: kubectl -n flexlocal-system create "
          "secret generic flexlocal-grant --from-literal=grant.key=$(openssl rand -hex 32)");
  CHECK(host_text() == "nothing");
  CHECK(logged("nothing is provisioned") == 1);
  have_secret(kGrantLine);
  CHECK(signed_by(kGrantLine));
  CHECK(logged("there is a grant key: volumes are provisioned") == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "what is no key is refused without a word of it, and the host keeps its own") {
  REQUIRE(grants.refresh().ok());
  for (const char* text : {"", "\n", "secret", "00112233", "zz"}) {
    have_secret(text);
    const std::string why = words();
    CHECK(why.starts_with("no grant key that can be used: "));
    CHECK(why.find("secret\"") == std::string::npos);
    CHECK(host_text() == kGrantLine);
  }
}

TEST_CASE_FIXTURE(Fixture, "a Secret that others can read is no secret") {
  std::filesystem::permissions(grant_files.secret, std::filesystem::perms(0440));
  CHECK(words().find("can be read by others than root") != std::string::npos);
  CHECK(host_text() == "nothing");
}

TEST_CASE_FIXTURE(Fixture,
                  "a Secret's file is a link into a folder that changes, as kubelet has it") {
  REQUIRE(remove_file(grant_files.secret).ok());
  const auto revision = [&](const std::string& name, const std::string& lines) {
    REQUIRE(make_folders(folder.path(name)).ok());
    REQUIRE(write_file_atomically(folder.path(name) + "/grant.key", lines, 0400).ok());
    std::filesystem::create_directory_symlink(name, folder.path("..data_tmp"));
    std::filesystem::rename(folder.path("..data_tmp"), folder.path("..data"));
  };
  revision("..1", kGrantLine);
  std::filesystem::create_symlink("..data/grant.key", grant_files.secret);
  CHECK(signed_by(kGrantLine));
  revision("..2", kOtherGrantLine + kGrantLine);
  CHECK(signed_by(kOtherGrantLine));
  CHECK(host_text() == kOtherGrantLine + kGrantLine);
}

TEST_CASE_FIXTURE(Fixture, "the same file for both is not copied") {
  GrantSigner one({grant_files.secret, grant_files.secret}, volumes, log);
  REQUIRE(one.sign(sample_spec()).ok());
  CHECK(logged("copied") == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a host that cannot be written to leaves no grant that it could not verify") {
  GrantSigner stuck({grant_files.secret, folder.path("no-such-folder") + "/grant.key"}, volumes,
                    log);
  const auto grant = stuck.sign(sample_spec());
  REQUIRE_FALSE(grant.ok());
  CHECK(grant.error().message().starts_with("the host's copy of the grant key: "));
}

TEST_CASE_FIXTURE(Fixture,
                  "a key that volumes here were signed with is never taken from the host") {
  REQUIRE(grants.refresh().ok());
  know_volume(volume_text(sample_spec(), "Bound"));
  have_secret(kOtherGrantLine);
  const std::string why = words();
  CHECK(why.find("has lost a key: 1 volume(s) of this node, pvc-" + kUid) != std::string::npos);
  CHECK(host_text() == kGrantLine);
  have_secret(kOtherGrantLine + kGrantLine);
  CHECK(signed_by(kOtherGrantLine));
  CHECK(host_text() == kOtherGrantLine + kGrantLine);
}

TEST_CASE_FIXTURE(Fixture, "a key that signed no volume here, or none that was valid, may go") {
  REQUIRE(grants.refresh().ok());
  know_volume(with(volume_text(sample_spec(), "Bound"), R"("flexlocal.io/grant":"1-)",
                   R"("flexlocal.io/grant":"1-forged)"));
  have_secret(kOtherGrantLine);
  CHECK(signed_by(kOtherGrantLine));
  CHECK(host_text() == kOtherGrantLine);
}

}  // namespace flexlocal::provisioner::test
