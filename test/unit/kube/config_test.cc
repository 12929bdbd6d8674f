#include "provisioner/kube/config.h"

#include <doctest/doctest.h>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::kube::test {
namespace {

struct Fixture {
  TemporaryFolder folder;
  std::string path = folder.path("config");

  Result<ClusterConfig> load(std::string_view cluster, std::string_view user,
                             const std::string& context = "") {
    const std::string text = concat(
        "apiVersion: v1\nkind: Config\ncurrent-context: one\n"
        "contexts:\n- name: one\n  context: {cluster: c, user: u, namespace: shop}\n"
        "- name: lost\n  context: {cluster: nowhere, user: u}\n"
        "clusters:\n- name: c\n  cluster: {",
        cluster, "}\nusers:\n- name: u\n  user: {", user, "}\n");
    CHECK(write_file_atomically(path, text, 0600).ok());
    return load_kubeconfig(path, context);
  }
  std::string refusal(std::string_view cluster, std::string_view user,
                      const std::string& context = "") {
    const auto config = load(cluster, user, context);
    if (config) return "accepted";
    CHECK(config.error().code() == ErrorCode::kInvalid);
    CHECK(config.error().message().starts_with(concat("kubeconfig ", path, ": ")));
    return config.error().message();
  }
};

bool contains(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a kubeconfig with inline data is decoded, and kept in memory") {
  const auto config = load("server: 'https://h:6443/', certificate-authority-data: Q0E=",
                           "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t");
  REQUIRE(config.ok());
  CHECK(config->server == "https://h:6443");
  CHECK(config->namespace_name == "shop");
  CHECK(config->ca.data == "CA");
  CHECK(config->client_certificate.data == "CERT");
  CHECK(config->client_key.data == "KEY");
  CHECK(config->token.data == "t");
}

TEST_CASE_FIXTURE(Fixture, "file names are taken from the kubeconfig's own folder") {
  const auto config = load("server: 'https://h', certificate-authority: pki/ca.crt",
                           "tokenFile: /run/token, token: old");
  REQUIRE(config.ok());
  CHECK(config->ca.file == folder.path("pki/ca.crt"));
  CHECK(config->token.file == "/run/token");
  CHECK(config->token.data.empty());
}

TEST_CASE_FIXTURE(Fixture, "what is not safe or not supported is refused in words") {
  const std::string_view server = "server: 'https://h'";
  CHECK(contains(refusal(concat(server, ", insecure-skip-tls-verify: true"), "token: t"),
                 "always verified"));
  CHECK(contains(refusal(concat(server, ", proxy-url: 'http://p'"), "token: t"), "proxy-url"));
  CHECK(contains(refusal(server, "username: x, password: y"), "\"username\""));
  CHECK(contains(refusal("server: 'http://far:80'", "token: t"), "unencrypted"));
  CHECK(contains(refusal("server: 'ftp://h'", "token: t"), "https://"));
  CHECK(contains(refusal(server, "client-certificate-data: Q0E="), "together"));
  CHECK(contains(refusal(server, "client-certificate-data: '*'"), "base64"));
  CHECK(contains(refusal(server, "token: [1]"), "token is not a text"));
  CHECK(contains(refusal(server, "token: t", "two"), "no context named \"two\""));
  CHECK(contains(refusal(server, "token: t", "lost"), "no cluster named \"nowhere\""));
  CHECK(contains(refusal("server: [", ""), "yaml-cpp"));
}

TEST_CASE_FIXTURE(Fixture, "an exec program is taken with all that it wants") {
  const std::string_view exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: bin/give, args: [a, 1], "
      "env: [{name: A, value: b=c}, {name: EMPTY}], installHint: ask, provideClusterInfo: true, "
      "interactiveMode: IfAvailable}";
  const auto config = load("server: 'https://h'", exec);
  REQUIRE(config.ok());
  REQUIRE(config->exec.has_value());
  CHECK(config->exec->command == folder.path("bin/give"));
  CHECK(config->exec->arguments == std::vector<std::string>{"a", "1"});
  CHECK(config->exec->environment ==
        std::map<std::string, std::string>{{"A", "b=c"}, {"EMPTY", ""}});
  CHECK(config->exec->api_version == "client.authentication.k8s.io/v1beta1");
  CHECK(config->exec->install_hint == "ask");
  CHECK(config->exec->wants_cluster);
  const auto bare = load("server: 'https://h'",
                         "exec: {apiVersion: client.authentication.k8s.io/v1, command: give}");
  REQUIRE(bare.ok());
  CHECK(bare->exec->command == "give");
}

TEST_CASE_FIXTURE(Fixture, "an exec program that cannot be run as it wants is refused in words") {
  const std::string_view server = "server: 'https://h'";
  const auto exec = [&](std::string_view more, std::string_view user = "",
                        std::string_view cluster = "server: 'https://h'") {
    return refusal(cluster,
                   concat("exec: {apiVersion: client.authentication.k8s.io/v1, ", more, "}", user));
  };
  CHECK(contains(exec("command: x, interactiveMode: Always"), "no terminal"));
  CHECK(contains(exec("command: x, interactiveMode: Perhaps"), "accepted: Never, IfAvailable"));
  CHECK(contains(exec("args: [x]"), "command is missing"));
  CHECK(contains(exec("command: x, args: x"), "args is not a list"));
  CHECK(contains(exec("command: x, args: [[x]]"), "args is not a text"));
  CHECK(contains(exec("command: x, env: [{name: a=b}]"), "\"a=b\""));
  CHECK(contains(exec("command: \"a\\0b\""), "zero byte"));
  CHECK(contains(exec("command: x, provideClusterInfo: 1"), "accepted are true, false"));
  CHECK(contains(exec("command: x", ", token: t"), "one of them is enough"));
  CHECK(contains(exec("command: x", "", "server: 'http://far:80'"), "unencrypted"));
  CHECK(contains(exec("command: x, provideClusterInfo: true", "",
                      concat(server,
                             ", extensions: [{name: client.authentication.k8s.io/exec, "
                             "extension: {audience: a}}]")),
                 "extension"));
  CHECK(contains(refusal(server,
                         "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, "
                         "command: x}"),
                 "client.authentication.k8s.io/v1beta1"));
  CHECK(contains(refusal(server, "exec: x"), "exec is not a map"));
}

TEST_CASE("a token over plain http stays on this machine") {
  ClusterConfig config;
  config.token.data = "t";
  config.server = "http://127.0.0.1:8001";
  CHECK(validate(config).ok());
  config.server = "http://127.0.0.1.example.org";
  CHECK_FALSE(validate(config).ok());
}

TEST_CASE_FIXTURE(Fixture, "a kubeconfig that is missing, too long or no map is refused") {
  CHECK(load_kubeconfig(path, "").error().code() == ErrorCode::kNotFound);
  CHECK(write_file_atomically(path, std::string(1'100'000, '#'), 0600).ok());
  CHECK(load_kubeconfig(path, "").error().code() == ErrorCode::kInvalid);
  CHECK(write_file_atomically(path, "- a\n", 0600).ok());
  CHECK(load_kubeconfig(path, "").error().code() == ErrorCode::kInvalid);
}

TEST_CASE_FIXTURE(Fixture,
                  "a pod's configuration is its service account and the service's address") {
  CHECK(write_file_atomically(folder.path("namespace"), "shop\n", 0600).ok());
  const auto config = in_cluster_config(folder.path(""), "10.0.0.1", "443");
  REQUIRE(config.ok());
  CHECK(config->server == "https://10.0.0.1:443");
  CHECK(config->namespace_name == "shop");
  CHECK(config->token.file.ends_with("/token"));
  CHECK(in_cluster_config(folder.path(""), "fd00::1", "443")->server == "https://[fd00::1]:443");
  CHECK_FALSE(in_cluster_config(folder.path(""), "", "").ok());
}

TEST_CASE("base64 is decoded as it is encoded, and nothing else is taken for it") {
  for (const char* const text : {"", "a", "ab", "abc", "abcd", "\xff\xfe", "\xfb\xef\xbe"})
    CHECK(*decode_base64(encode_base64(text)) == text);
  CHECK(encode_base64("any carnal pleas") == "YW55IGNhcm5hbCBwbGVhcw==");
  CHECK(*decode_base64("Q0\nE=\n") == "CA");
  for (const char* const text : {"Q", "Q0E", "Q0*=", "Q=E=", "Q===", "===="})
    CHECK_FALSE(decode_base64(text).ok());
  CHECK_FALSE(decode_base64(std::string_view("Q0E=\0", 5)).ok());
}

}  // namespace flexlocal::kube::test
