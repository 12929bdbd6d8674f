#include "provisioner/kube/exec_program.h"

#include "flexvolume/base/json.h"
#include "provisioner/kube/base64.h"
#include "test/unit/kube/credential_program.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  CredentialProgram program;
  ClusterConfig config;

  Fixture() {
    config.server = "https://api.test:6443";
    config.exec = program.program();
  }
  Result<IssuedCredential> run(milliseconds deadline = std::chrono::seconds(20)) {
    ProcessRunner runner({}, kExecLimits);
    return run_exec_program(runner, config, deadline, -1);
  }
  std::string complaint() {
    const auto issued = run();
    if (issued) return "accepted";
    CHECK(issued.error().message().find('\n') == std::string::npos);
    return issued.error().message();
  }
};

bool contains(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a credential program's token, certificate and expiry are taken") {
  program.answer(
      exec_credential(R"("token":"t","clientCertificateData":"CERT","clientKeyData":"KEY",)"
                      R"("expirationTimestamp":"2018-03-05T17:30:20-08:00")"));
  const auto issued = run();
  REQUIRE(issued.ok());
  CHECK(issued->token == "t");
  CHECK(issued->certificate == "CERT");
  CHECK(issued->key == "KEY");
  CHECK(issued->expires == Clock::Wall(std::chrono::seconds(1'520'299'820)));
}

TEST_CASE_FIXTURE(Fixture,
                  "it gets its arguments and variables, and is told the cluster if asked") {
  config.exec->arguments = {"a b", "$HOME"};
  config.exec->environment = {{"PLACE", "there"}};
  config.exec->wants_cluster = true;
  config.ca.data = "CA";
  config.tls_server_name = "name.test";
  program.run_script(R"sh(
[ "$#" = 2 ] && [ "$1" = "a b" ] && [ "$2" = '$HOME' ] && [ "$PLACE" = there ] || exit 9
[ ! -t 0 ] && [ -n "$PATH" ] || exit 8
printf '%s' "$KUBERNETES_EXEC_INFO" >"$0.info"
cat "$0.answer")sh");
  program.give_token("t");
  REQUIRE(run().ok());
  const std::string text = *read_file(config.exec->command + ".info");
  const auto info = JsonDocument::parse(text);
  REQUIRE(info.ok());
  CHECK(info->root()["kind"].text() == "ExecCredential");
  CHECK(info->root()["apiVersion"].text() == kExecVersion);
  const JsonView spec = info->root()["spec"];
  CHECK(spec["interactive"].boolean() == false);
  CHECK(spec["cluster"]["server"].text() == "https://api.test:6443");
  CHECK(spec["cluster"]["tls-server-name"].text() == "name.test");
  CHECK(spec["cluster"]["certificate-authority-data"].text() == encode_base64("CA"));
  config.exec->wants_cluster = false;
  REQUIRE(run().ok());
  CHECK_FALSE(contains(*read_file(config.exec->command + ".info"), "cluster"));
}

TEST_CASE_FIXTURE(Fixture, "a program that fails is one sentence with its first words") {
  program.run_script("echo secret; echo 'no \033[31mrole\nsecond line' >&2; exit 3");
  CHECK(complaint() == concat("credential program ", config.exec->command,
                              ": it ended with exit code 3: no ?[31mrole"));
  program.run_script("exit 1");
  CHECK(contains(complaint(), "exit code 1, and said nothing"));
  program.run_script("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1");
  CHECK(complaint().size() < 500);
}

TEST_CASE_FIXTURE(Fixture,
                  "a program that is not there says where it was looked for, and the hint") {
  config.exec->command = "no-such-program-here";
  config.exec->install_hint = "ask for it\nat length";
  const std::string said = complaint();
  CHECK(contains(said,
                 "credential program no-such-program-here: it is in none of /usr/local/sbin, "
                 "/usr/local/bin, /usr/sbin, /usr/bin, /sbin, /bin; hint: ask for it"));
  CHECK_FALSE(contains(said, "at length"));
  config.exec->command = program.folder().path("nowhere");
  CHECK(contains(complaint(), "No such file"));
  config.exec->command = "true";  // a bare name that is found; it prints nothing
  CHECK(contains(complaint(), "is no JSON"));
}

TEST_CASE_FIXTURE(Fixture, "a program that hangs is killed, and one that prints on is refused") {
  program.run_script("exec sleep 1000");
  const auto overdue = run(milliseconds(50));
  REQUIRE_FALSE(overdue.ok());
  CHECK(overdue.error().code() == ErrorCode::kDeadline);
  program.run_script("head -c 2000000 /dev/zero");
  CHECK(contains(complaint(), "printed more than 1 MiB"));
}

TEST_CASE_FIXTURE(Fixture, "an answer that is none is refused in words, without its content") {
  const std::vector<std::pair<std::string, std::string_view>> answers = {
      {"secret", "is no JSON"},
      {"[]", "is no ExecCredential"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
       "has apiVersion \"client.authentication.k8s.io/v1beta1\""},
      {exec_credential(""), "neither a token nor a client certificate"},
      {exec_credential(R"("clientCertificateData":"secret")"), "without its key"},
      {exec_credential(R"("token":"t","clientKeyData":"secret")"), "without one"},
      {exec_credential(R"("token":"sec\nret")"), "characters that no token has"},
      {exec_credential(R"("token":"secret","expirationTimestamp":"soon")"), "\"soon\""},
      {std::string(100, '['), "is no JSON"}};
  for (const auto& [answer, why] : answers) {
    program.answer(answer);
    const auto issued = run();
    REQUIRE_FALSE(issued.ok());
    CHECK(issued.error().code() == ErrorCode::kCorrupt);
    CHECK(contains(issued.error().message(), why));
    CHECK_FALSE(contains(issued.error().message(), "secret"));
  }
}

}  // namespace flexlocal::kube::test
