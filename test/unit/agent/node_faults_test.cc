// The whole node role on a server that tells everything badly, by real sockets: in the end every
// claim has its one volume, and no volume is left over.
#include "flexvolume/base/text.h"
#include "provisioner/agent/node_role.h"
#include "provisioner/kube/curl_http.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"
#include "test/unit/objects/small_cluster.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;

constexpr int kClaims = 24;
constexpr std::uint64_t kSeed = 42;

struct Fixture : kube::test::Lab {
  std::vector<std::string> journal;
  FakeStorage storage{journal};
  engine::NodeConfig config;
  std::unique_ptr<SmallCluster> cluster;
  std::unique_ptr<kube::test::ScriptedServer> server;
  std::unique_ptr<kube::CurlHttp> http;
  std::unique_ptr<kube::ApiClient> api;
  std::unique_ptr<NodeRole> role;
  bool ended = false;

  Fixture() {
    config.pools["default"].volume_group = "vg";
    storage.present.spaces = {{"group:vg",
                               Bytes(64 * kGiB.count()),
                               Bytes(64 * kGiB.count()),
                               Bytes(4 * kMiB.count()),
                               {}}};
  }
  ~Fixture() {
    if (role && !ended) role->stop();
    CHECK(eventually([this] { return !role || ended; }));
  }

  static kube::Task<void> run(NodeRole& role, bool& ended) {
    co_await role.run();
    ended = true;
  }

  void start(Mischief mischief) {
    cluster = std::make_unique<SmallCluster>(mischief, kSeed);
    server = std::make_unique<kube::test::ScriptedServer>(
        io, [this](const kube::test::Seen& request) { return cluster->answer(request); });
    kube::ClusterConfig where;
    where.server = server->url();
    http = std::move(*kube::CurlHttp::make(io, clock, log, where));
    api = std::make_unique<kube::ApiClient>(*http, clock, kube::ApiOptions{.limit = {}});
    NodeRoleOptions options;
    options.retry = {milliseconds(1), milliseconds(20)};
    options.reflect.backoff = {milliseconds(1), milliseconds(20)};
    role = std::make_unique<NodeRole>(io, *api, storage, config, clock, log,
                                      Membership{kNodeIdentity, kCluster, kMuchMemory}, options);
    tasks.spawn(run(*role, ended));
  }

  // Of faults there are many, each with its back-off.
  template <typename Predicate>
  bool eventually(Predicate holds) {
    for (int tries = 0; tries < 5; ++tries)
      if (run_until(holds)) return true;
    return false;
  }

  static std::string uid(int number) {
    return concat("0b1c2d3e-0000-4000-8000-0000000000", 10 + number);
  }

  // What the daemon believes is what there is.
  bool is_right() const {
    return cluster->is_right() && role->parts().claims.size() == cluster->claims() &&
           role->parts().volumes.size() == cluster->claims();
  }

  // There is always more to do: the watches come again and again.
  void do_some() {
    int done = 0;
    run_until([&] { return ++done > 30; });
  }

  // Each second claim goes: soon after it was made, or when its volume is there.
  void come_and_go() {
    for (int i = 0; i < kClaims; ++i) {
      cluster->add_claim(uid(i));
      if (i % 3 == 0) run_until([&] { return cluster->made("pvc-" + uid(i)) > 0; });
      if (i % 2 == 1) cluster->drop_claim(uid(i - 1));
      do_some();
    }
    CHECK(eventually([this] { return is_right(); }));
    CHECK(role->parts().claims.size() == cluster->claims());
    CHECK(role->parts().volumes.size() == cluster->claims());
    CHECK(cluster->claims() == kClaims / 2);
    for (int i = 0; i < kClaims; ++i) {
      const std::string name = "pvc-" + uid(i);
      const auto removals = std::count(journal.begin(), journal.end(), "remove " + name);
      if (cluster->has_claim(uid(i))) {
        CHECK(cluster->made(name) == 1);
        CHECK(removals == 0);
      } else {
        CHECK((cluster->made(name) == 0 || removals > 0));
      }
    }
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the role converges on a server without faults") {
  SUBCASE("that has plain lists") { start({}); }
  SUBCASE("that has streaming lists") { start({.streams = true}); }
  come_and_go();
}

TEST_CASE_FIXTURE(Fixture, "the role converges although events come twice") {
  start({.twice = 50});
  come_and_go();
}

TEST_CASE_FIXTURE(Fixture, "the role converges although events come in the wrong order") {
  SUBCASE("on a server with plain lists") { start({.disorder = 50}); }
  SUBCASE("on a server with streaming lists") { start({.disorder = 50, .streams = true}); }
  come_and_go();
}

TEST_CASE_FIXTURE(Fixture,
                  "the role converges although lists and watches end in the middle of JSON") {
  SUBCASE("on a server with plain lists") { start({.truncated = 30}); }
  SUBCASE("on a server with streaming lists") { start({.truncated = 30, .streams = true}); }
  come_and_go();
}

TEST_CASE_FIXTURE(Fixture,
                  "the role converges although answers are cut off, also those to writes") {
  SUBCASE("on a server with plain lists") { start({.cut = 30}); }
  SUBCASE("on a server with streaming lists") { start({.streams = true, .cut = 30}); }
  come_and_go();
}

TEST_CASE_FIXTURE(Fixture, "the role converges although all of that happens at once") {
  Mischief all{.twice = 20, .disorder = 30, .truncated = 20, .cut = 20};
  SUBCASE("on a server with plain lists") { all.streams = false; }
  SUBCASE("on a server with streaming lists") { all.streams = true; }
  start(all);
  come_and_go();
}

}  // namespace flexlocal::provisioner::test
