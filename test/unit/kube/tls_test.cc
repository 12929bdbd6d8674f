#include "provisioner/kube/curl_http.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/tls_server.h"

namespace flexlocal::kube::test {
namespace {

constexpr const char* kHere = "IP:127.0.0.1";

struct Fixture : Lab {
  TemporaryFolder folder;

  std::unique_ptr<CurlHttp> connect(const ClusterConfig& config) {
    CurlHttpOptions options;
    options.reload_interval = std::chrono::milliseconds(0);
    auto http = CurlHttp::make(io, clock, log, config, options);
    REQUIRE(http.ok());
    return std::move(*http);
  }
  Result<HttpResponse> get(Http& http) {
    HttpRequest request;
    request.target = "/";
    request.deadline = std::chrono::seconds(20);
    return wait_for(http.send(request));
  }
  // As a watch is asked for.
  Result<HttpResponse> trickle(Http& http) {
    HttpRequest request;
    request.target = "/";
    request.deadline = std::chrono::seconds(20);
    request.trickles = true;
    KeepingSink sink;
    return wait_for(http.stream(request, sink));
  }
};

ClusterConfig trusting(const TlsServer& server, const Identity& ca) {
  ClusterConfig config;
  config.server = server.url();
  config.ca.file = ca.certificate_file;
  return config;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a server whose CA is ours is accepted, from file and inline") {
  const Identity identity = make_identity(folder, "right", kHere);
  const TlsServer server(identity);
  ClusterConfig config = trusting(server, identity);
  const auto by_file = connect(config);
  CHECK(get(*by_file)->status == 200);
  config.ca.data = *read_file(config.ca.file);
  config.ca.file.clear();
  const auto by_data = connect(config);
  CHECK(get(*by_data)->status == 200);
}

TEST_CASE_FIXTURE(Fixture, "a server that has no HTTP/2 is talked to by HTTP/1.1") {
  const Identity identity = make_identity(folder, "right", kHere);
  const TlsServer server(identity, {"-alpn", "http/1.1"});
  const auto http = connect(trusting(server, identity));
  CHECK(get(*http)->status == 200);
  CHECK(trickle(*http)->status == 200);
}

// This one says HTTP/2 to whoever asks for it, and then waits for HTTP/1.1: who does not use HTTP/2
// gets an answer.
TEST_CASE_FIXTURE(Fixture, "streams without an end come by HTTP/2 where the server has it") {
  const Identity identity = make_identity(folder, "right", kHere);
  const TlsServer server(identity, {"-alpn", "h2,http/1.1"});
  const auto http = connect(trusting(server, identity));
  CHECK(get(*http)->status == 200);
  const auto stream = trickle(*http);
  REQUIRE_FALSE(stream.ok());
  CHECK(stream.error().code() == ErrorCode::kDeadline);
}

TEST_CASE_FIXTURE(Fixture, "a server of another CA is denied until our CA file is replaced") {
  const Identity identity = make_identity(folder, "right", kHere);
  const Identity other = make_identity(folder, "other", kHere);
  const TlsServer server(identity);
  const auto http = connect(trusting(server, other));
  const auto denied = get(*http);
  REQUIRE_FALSE(denied.ok());
  CHECK(denied.error().code() == ErrorCode::kDenied);
  const std::string ca = *read_file(identity.certificate_file);
  REQUIRE(write_file_atomically(other.certificate_file, ca, 0600).ok());
  CHECK(get(*http)->status == 200);
}

TEST_CASE_FIXTURE(Fixture, "without a CA of ours the system's are asked, and they do not know it") {
  const Identity identity = make_identity(folder, "right", kHere);
  const TlsServer server(identity);
  ClusterConfig config = trusting(server, identity);
  config.ca = {};
  const auto http = connect(config);
  const auto denied = get(*http);
  REQUIRE_FALSE(denied.ok());
  CHECK(denied.error().code() == ErrorCode::kDenied);
}

TEST_CASE_FIXTURE(Fixture, "the certificate must bear the server's name, or tls-server-name") {
  const Identity identity = make_identity(folder, "right", "DNS:api.test");
  const TlsServer server(identity);
  ClusterConfig config = trusting(server, identity);
  const auto by_address = connect(config);
  const auto denied = get(*by_address);
  REQUIRE_FALSE(denied.ok());
  CHECK(denied.error().code() == ErrorCode::kDenied);
  config.tls_server_name = "api.test";
  const auto by_name = connect(config);
  CHECK(get(*by_name)->status == 200);
}

TEST_CASE_FIXTURE(Fixture, "a server that wants a client certificate gets ours") {
  const Identity identity = make_identity(folder, "right", kHere);
  const Identity client = make_identity(folder, "client", "DNS:client.test");
  const TlsServer server(
      identity, {"-Verify", "1", "-verify_return_error", "-CAfile", client.certificate_file});
  ClusterConfig config = trusting(server, identity);
  const auto nobody = connect(config);
  CHECK_FALSE(get(*nobody).ok());
  config.client_certificate.file = client.certificate_file;
  config.client_key.data = *read_file(client.key_file);
  const auto somebody = connect(config);
  CHECK(get(*somebody)->status == 200);
}

}  // namespace flexlocal::kube::test
