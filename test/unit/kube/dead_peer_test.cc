// Links that are dead without a word: what only the kernel's own probes can tell.
#include <linux/filter.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;

// From here on the kernel drops whatever reaches this socket, probes included, and so acknowledges
// nothing: to the other side the machine has lost its power.
void go_dead(tcp::socket& socket) {
  sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  const sock_fprog program{1, nothing};
  REQUIRE(::setsockopt(socket.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &program,
                       sizeof program) == 0);
}

struct Fixture : Lab {
  tcp::acceptor acceptor{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  tcp::socket peer{io};
  HttpRequest request;
  KeepingSink sink;
  std::optional<Result<HttpResponse>> answer;

  // Before what the tasks refer to goes, also when a test ends half-way.
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  std::unique_ptr<CurlHttp> http = connect();

  std::unique_ptr<CurlHttp> connect() {
    ClusterConfig config;
    config.server = concat("http://127.0.0.1:", acceptor.local_endpoint().port());
    CurlHttpOptions options;
    options.dead_peer = seconds(1);
    auto made = CurlHttp::make(io, clock, log, config, options);
    REQUIRE(made.ok());
    request.target = "/";
    return std::move(*made);
  }
  // Reads a request and answers it with the beginning of a stream.
  Task<void> begin_stream() {
    co_await acceptor.async_accept(peer, asio::use_awaitable);
    std::string head;
    auto buffer = asio::dynamic_buffer(head);
    co_await asio::async_read_until(peer, buffer, "\r\n\r\n", asio::use_awaitable);
    const std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
    const auto bytes = asio::buffer(text);
    co_await asio::async_write(peer, bytes, asio::use_awaitable);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a server that accepts and never says a word is given up on in time") {
  request.deadline = milliseconds(50);
  const auto silence = wait_for(http->send(request));  // the kernel accepts; nobody reads
  REQUIRE_FALSE(silence.ok());
  CHECK(silence.error().code() == ErrorCode::kDeadline);
}

TEST_CASE_FIXTURE(Fixture,
                  "a watch whose peer died without a word is noticed long before its deadline") {
  request.deadline = std::chrono::hours(1);
  tasks.spawn(begin_stream());
  tasks.spawn(store(http->stream(request, sink), answer));
  REQUIRE(run_until([&] { return sink.all == "x"; }));
  go_dead(peer);
  // The first probe goes out after a second of silence; the kernel knows no less.
  for (int i = 0; i < 10 && !answer; ++i) run_until([&] { return answer.has_value(); });
  REQUIRE(answer.has_value());
  REQUIRE_FALSE(answer->ok());
  CHECK(answer->error().code() == ErrorCode::kUnavailable);
  CHECK(sink.all == "x");
}

}  // namespace flexlocal::kube::test
