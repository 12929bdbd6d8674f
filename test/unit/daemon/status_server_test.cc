#include "provisioner/daemon/status_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "test/unit/kube/lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::milliseconds;

// A client that sends bytes as a test likes and looks at what has come back.
class Client {
 public:
  explicit Client(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    unsigned long long port = 0;
    REQUIRE(parse_number(address.substr(address.rfind(':') + 1), 65535, port));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end() { ::shutdown(fd_.get(), SHUT_WR); }

  // Takes in what is there; true once the server has ended the connection, in order or not.
  bool ended() {
    char bytes[4096];
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return false;
      if (got <= 0) return true;
      received.append(bytes, static_cast<std::size_t>(got));
    }
  }

  std::string received;

 private:
  UniqueFd fd_;
};

struct Fixture : kube::test::Lab {
  StatusServerOptions options;
  std::unique_ptr<StatusServer> server;
  Status ready;

  void open() {
    auto opened = StatusServer::open(io, log, {"127.0.0.1", 0}, options);
    REQUIRE(opened.ok());
    server = std::move(*opened);
  }
  void show() {
    server->show({.ready = [this] { return ready; }, .metrics = [] { return "m 1\n"; }});
  }
  ~Fixture() {
    server.reset();
    settle();
  }

  // The whole answer to a request, of which these are all bytes.
  std::string ask(const std::string& request) {
    Client client(server->address());
    client.send(request);
    REQUIRE(run_until([&] { return client.ended(); }));
    return client.received;
  }
};

std::string get(const std::string& path) {
  return concat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n");
}

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the pages are served, and each says when it ends") {
  open();
  show();
  CHECK(ask(get("/healthz")) ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\nok\n");
  CHECK(starts(ask(get("/readyz")), "HTTP/1.1 200 OK\r\n"));
  const std::string metrics = ask(get("/metrics?name[]=x"));
  CHECK(metrics.find("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n") !=
        std::string::npos);
  CHECK(metrics.ends_with("\r\n\r\nm 1\n"));
  const std::string head = ask("HEAD /metrics HTTP/1.1\r\n\r\n");
  CHECK(head.find("Content-Length: 4\r\n") != std::string::npos);
  CHECK(head.ends_with("\r\n\r\n"));
}

TEST_CASE_FIXTURE(Fixture, "not ready is 503 with the reason in words, on one line") {
  open();
  CHECK(starts(ask(get("/readyz")), "HTTP/1.1 503 "));
  CHECK(starts(ask(get("/healthz")), "HTTP/1.1 200 "));
  ready = Error(ErrorCode::kUnavailable, "no disks\r\nX-Forged: 1");
  show();
  const std::string answer = ask(get("/readyz"));
  CHECK(starts(answer, "HTTP/1.1 503 Service Unavailable\r\n"));
  CHECK(answer.ends_with("\r\n\r\nnot ready: no disks??X-Forged: 1\n"));
  ready = Status();
  CHECK(starts(ask(get("/readyz")), "HTTP/1.1 200 "));
  server->hide();
  CHECK(starts(ask(get("/readyz")), "HTTP/1.1 503 "));
}

TEST_CASE_FIXTURE(Fixture, "what is no request for a page is refused, whatever it is") {
  open();
  const auto status = [&](const std::string& head) {
    const std::string answer = ask(head + "\r\n\r\n");
    CHECK(starts(answer, "HTTP/1.1 "));
    return answer.substr(std::min<std::size_t>(answer.size(), 9), 3);
  };
  CHECK(status("GET / HTTP/1.1") == "404");
  CHECK(status("GET /healthz/ HTTP/1.1") == "404");
  CHECK(status("GET //healthz HTTP/1.1") == "404");
  CHECK(status("GET /%68ealthz HTTP/1.1") == "404");
  CHECK(status("POST /healthz HTTP/1.1") == "405");
  CHECK(status("POST /healthz HTTP/1.1\r\nContent-Length: 99999999") == "405");
  CHECK(status("get /healthz HTTP/1.1") == "405");
  CHECK(status("GET /healthz HTTP/1.0") == "200");
  CHECK(status("GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked") == "200");
  for (const char* const head :
       {"", "GET", "GET /healthz", "GET /healthz HTTP/2", "GET  /healthz HTTP/1.1",
        "GET healthz HTTP/1.1", "GET /healthz HTTP/1.1 x", "GET http://x/healthz HTTP/1.1",
        "PRI * HTTP/2.0", "\x16\x03\x01\x02 \x01 \x02", "GET /healthz HTTP/1.1\r\nno field"})
    CHECK(status(head) == "400");
}

TEST_CASE_FIXTURE(Fixture, "a request may come byte by byte, with a body that nobody reads") {
  open();
  show();
  Client slow(server->address());
  for (const char c : get("/healthz")) {
    slow.send({&c, 1});
    settle();
  }
  REQUIRE(run_until([&] { return slow.ended(); }));
  CHECK(starts(slow.received, "HTTP/1.1 200 "));
  slow.end();
  CHECK(starts(ask(get("/healthz") + std::string(20000, 'x')), "HTTP/1.1 200 "));
  CHECK(starts(ask(get("/healthz") + get("/readyz")), "HTTP/1.1 200 "));
  CHECK(run_until([&] { return server->connections() == 0; }));
}

TEST_CASE_FIXTURE(Fixture, "a head that is too long is refused before it has ended") {
  open();
  CHECK(starts(ask("GET /healthz HTTP/1.1\r\nX: " + std::string(9000, 'x')), "HTTP/1.1 431 "));
  CHECK(starts(ask(std::string(100000, '\n')), "HTTP/1.1 400 "));
  CHECK(starts(ask(std::string(100000, '\0')), "HTTP/1.1 400 "));
  CHECK(starts(ask(std::string(100000, 'x')), "HTTP/1.1 431 "));
  std::string fields = "GET /healthz HTTP/1.1\r\n";
  while (fields.size() < 20000) fields += "X: y\r\n";
  CHECK(starts(ask(fields), "HTTP/1.1 431 "));
}

TEST_CASE_FIXTURE(Fixture, "who says nothing, or reads nothing, is cut off after the deadline") {
  options.deadline = milliseconds(1000);
  open();
  Client silent(server->address());
  Client half(server->address());
  half.send("GET /healthz HT");
  Client stays(server->address());
  stays.send(get("/healthz"));
  Client leaves(server->address());
  leaves.end();
  REQUIRE(
      run_until([&] { return silent.ended() && half.ended() && stays.ended() && leaves.ended(); }));
  CHECK(silent.received.empty());
  CHECK(half.received.empty());
  CHECK(starts(stays.received, "HTTP/1.1 200 "));
  CHECK(run_until([&] { return server->connections() == 0; }));
}

TEST_CASE_FIXTURE(Fixture, "an answer that is not read is given up after the deadline") {
  options.deadline = milliseconds(1000);
  open();
  server->show(
      {.ready = [] { return Status(); }, .metrics = [] { return std::string(64U << 20U, 'x'); }});
  Client client(server->address());
  client.send(get("/metrics"));
  REQUIRE(run_until([&] { return server->connections() == 1; }));
  CHECK(run_until([&] { return server->connections() == 0; }));
}

TEST_CASE_FIXTURE(Fixture, "connections that say nothing cannot keep a probe out") {
  options.most_connections = 4;
  open();
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<Client>(server->address()));
    settle();
    CHECK(server->connections() <= 4);
  }
  CHECK(starts(ask(get("/healthz")), "HTTP/1.1 200 "));
  CHECK(run_until([&] { return silent.front()->ended(); }));
  CHECK_FALSE(silent.back()->ended());
}

TEST_CASE_FIXTURE(Fixture, "pages are shown as long as what they are made from lives") {
  const auto none = open_status_server(io, log, std::nullopt, "/metrics");
  REQUIRE(none.ok());
  CHECK(none->get() == nullptr);
  const ShownPages nowhere(none->get(), {});
  auto opened = open_status_server(io, log, Endpoint{"127.0.0.1", 0}, "/m");
  REQUIRE(opened.ok());
  server = std::move(*opened);
  CHECK(log.has(concat("address=", server->address())));
  {
    const ShownPages shown(server.get(), {.ready = [] { return Status(); },
                                          .metrics = [] { return std::string("m 1\n"); }});
    CHECK(starts(ask(get("/readyz")), "HTTP/1.1 200 "));
    CHECK(ask(get("/m")).ends_with("m 1\n"));
    CHECK(starts(ask(get("/metrics")), "HTTP/1.1 404 "));
  }
  CHECK(starts(ask(get("/readyz")), "HTTP/1.1 503 "));
  CHECK(ask(get("/m")).ends_with("\r\n\r\n"));
}

TEST_CASE_FIXTURE(Fixture, "a server that goes cuts its connections and frees its port") {
  open();
  const std::string address = server->address();
  Client client(address);
  REQUIRE(run_until([&] { return server->connections() == 1; }));
  const auto again = parse_endpoint(address);
  REQUIRE(again.ok());
  const auto taken = StatusServer::open(io, log, *again);
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message().find(address) != std::string::npos);
  server.reset();
  CHECK(run_until([&] { return client.ended(); }));
  const auto free = StatusServer::open(io, log, *again);
  CHECK(free.ok());
}

TEST_CASE("an endpoint is an address and a port, and nothing that must be resolved") {
  const auto parsed = [](const char* text) {
    const auto endpoint = parse_endpoint(text);
    return endpoint ? concat(endpoint->host, ' ', endpoint->port) : std::string("refused");
  };
  CHECK(parsed(":8080") == " 8080");
  CHECK(parsed("127.0.0.1:0") == "127.0.0.1 0");
  CHECK(parsed("localhost:9") == "127.0.0.1 9");
  CHECK(parsed("[::1]:65535") == "::1 65535");
  for (const char* const text : {"", ":", "8080", ":65536", ":-1", ":http", "host:80", "::1:80",
                                 "[::1]", "[127.0.0.1]:80", "1.2.3.4.5:1", "[]:80", "http://x:80"})
    CHECK(parsed(text) == "refused");
}

}  // namespace flexlocal::provisioner::test
