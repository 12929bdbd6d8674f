#include "provisioner/daemon/status_server.h"

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <list>
#include <sstream>

#include "flexvolume/base/text.h"
#include "provisioner/kube/metrics.h"
#include "provisioner/kube/task_group.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Failure = boost::system::error_code;

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
// Between two tries to accept while the process has no descriptor left.
constexpr auto kAfterFailure = std::chrono::milliseconds(100);
// Of what a client sends behind its head: read and dropped, so that it gets its answer and not a
// reset connection.
constexpr std::size_t kMostDropped = 65536;

struct Page {
  http::status status = http::status::ok;
  std::string body;
  std::string_view type = kPlain;
};

// As text: Beast's own way to write a message takes 300 KiB more of the program.
std::string format(const Page& page, bool with_body) {
  http::response<http::empty_body> head(page.status, 11);
  head.set(http::field::content_type, page.type);
  head.content_length(page.body.size());
  head.set("X-Content-Type-Options", "nosniff");
  if (page.status == http::status::method_not_allowed) head.set(http::field::allow, "GET, HEAD");
  head.keep_alive(false);
  std::ostringstream out;
  out << head.base();
  std::string text = std::move(out).str();
  if (with_body) text += page.body;
  return text;
}

Page readiness(const StatusPages* pages) {
  if (pages == nullptr)
    return {http::status::service_unavailable, "not ready: starting or stopping\n"};
  const Status ready = pages->ready();
  if (ready) return {.body = "ok\n"};
  return {http::status::service_unavailable,
          concat("not ready: ", printable(ready.error().message(), 1024), '\n')};
}

Page page_at(std::string_view path, const StatusPages* pages, const StatusServerOptions& options) {
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") return readiness(pages);
  if (path != options.metrics_path)
    return {http::status::not_found,
            concat("there are /healthz, /readyz and ", options.metrics_path, '\n')};
  return {http::status::ok, pages == nullptr ? std::string() : pages->metrics(),
          kube::kMetricsContentType};
}

// `failure`: of reading the request, which then may be any part of one.
std::string answer_to(const http::request<http::empty_body>& request, const Failure& failure,
                      const StatusPages* pages, const StatusServerOptions& options) {
  if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
    return format({http::status::request_header_fields_too_large, "a shorter request, please\n"},
                  true);
  const std::string_view target = request.target();
  if (failure || !target.starts_with('/'))
    return format({http::status::bad_request, "this is no request of HTTP/1.1\n"}, true);
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return format({http::status::method_not_allowed, "only GET and HEAD\n"}, true);
  return format(page_at(target.substr(0, target.find('?')), pages, options),
                request.method() == http::verb::get);
}

// Whether there was no request at all, for which there is no answer.
bool has_ended(const Failure& failure) {
  static const auto& of_http = Failure(http::error::end_of_stream).category();
  return failure && (failure.category() != of_http || failure == http::error::end_of_stream ||
                     failure == http::error::partial_message);
}

using Shared = std::shared_ptr<beast::tcp_stream>;

// The client has what it asked for when it closes.
Task<void> linger(beast::tcp_stream& stream) {
  Failure failure;
  stream.socket().shutdown(tcp::socket::shutdown_send, failure);
  std::array<char, 2048> bytes;
  const auto room = asio::buffer(bytes);
  for (std::size_t dropped = 0; !failure && dropped <= kMostDropped;)
    dropped +=
        co_await stream.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
}

}  // namespace

// Shared with the tasks, which end after their server.
struct StatusServer::State {
  State(asio::io_context& loop, Log& to, StatusServerOptions how)
      : io(loop), log(to), options(std::move(how)), acceptor(loop) {}

  Status listen(const Endpoint& endpoint);
  static Task<void> accept(std::shared_ptr<State> self);
  static Task<void> serve(std::shared_ptr<State> self, Shared connection);
  Task<void> answer(beast::tcp_stream& stream);
  static void take(const std::shared_ptr<State>& self, const Shared& connection);
  void close();

  asio::io_context& io;
  Log& log;
  StatusServerOptions options;
  tcp::acceptor acceptor;
  std::string address;
  std::list<Shared> open;  // the oldest first
  std::optional<StatusPages> pages;
  std::unique_ptr<kube::TaskGroup> tasks = std::make_unique<kube::TaskGroup>(io);
};

Status StatusServer::State::listen(const Endpoint& wanted) {
  Failure failure;
  // All addresses are those of IPv6 with IPv4's among them, where the kernel has IPv6.
  tcp::endpoint endpoint(tcp::v6(), wanted.port);
  if (!wanted.host.empty()) endpoint = {asio::ip::make_address(wanted.host, failure), wanted.port};
  if (!failure) acceptor.open(endpoint.protocol(), failure);
  if (failure && wanted.host.empty()) {
    endpoint = {tcp::v4(), wanted.port};
    acceptor.open(endpoint.protocol(), failure);
  }
  if (!failure && wanted.host.empty() && endpoint.protocol() == tcp::v6())
    acceptor.set_option(asio::ip::v6_only(false), failure);
  if (!failure) acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(static_cast<int>(options.most_connections), failure);
  if (failure)
    return Error::from_errno(failure.value(),
                             concat("listening at ", wanted.host, ':', wanted.port));
  const tcp::endpoint local = acceptor.local_endpoint(failure);
  const std::string host = local.address().to_string();
  address =
      concat(local.protocol() == tcp::v6() ? concat('[', host, ']') : host, ':', local.port());
  return {};
}

Task<void> StatusServer::State::accept(std::shared_ptr<State> self) {
  bool told = false;
  while (self->acceptor.is_open()) {
    const auto connection = std::make_shared<beast::tcp_stream>(self->io);
    Failure failure;
    co_await self->acceptor.async_accept(connection->socket(),
                                         asio::redirect_error(asio::use_awaitable, failure));
    if (!self->acceptor.is_open()) co_return;
    if (!failure) {
      take(self, connection);
      continue;
    }
    if (!std::exchange(told, true))
      self->log.warning("connections to the status pages are not taken",
                        {{"error", failure.message()}});
    auto slept = co_await kube::sleep_for(kAfterFailure);
    if (!slept) co_return;
  }
}

void StatusServer::State::take(const std::shared_ptr<State>& self, const Shared& connection) {
  while (self->open.size() >= self->options.most_connections) {
    self->open.front()->close();
    self->open.pop_front();
  }
  self->open.push_back(connection);
  connection->expires_after(self->options.deadline);
  self->tasks->spawn(serve(self, connection));
}

Task<void> StatusServer::State::serve(std::shared_ptr<State> self, Shared connection) {
  co_await self->answer(*connection);
  connection->close();
  self->open.remove(connection);
}

Task<void> StatusServer::State::answer(beast::tcp_stream& stream) {
  beast::flat_buffer received(options.most_head);
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(options.most_head));
  parser.skip(true);  // of a body: linger() drops it
  Failure failure;
  co_await http::async_read_header(stream, received, parser,
                                   asio::redirect_error(asio::use_awaitable, failure));
  if (has_ended(failure)) co_return;
  const StatusPages* const shown = pages ? &*pages : nullptr;
  const std::string text = answer_to(parser.get(), failure, shown, options);
  failure = {};
  const auto bytes = asio::buffer(text);
  co_await asio::async_write(stream, bytes, asio::redirect_error(asio::use_awaitable, failure));
  if (!failure) co_await linger(stream);
}

void StatusServer::State::close() {
  Failure ignored;
  acceptor.close(ignored);
  for (const Shared& connection : open) connection->close();
  pages.reset();
  tasks.reset();
}

StatusServer::StatusServer(std::shared_ptr<State> state) : state_(std::move(state)) {
  state_->tasks->spawn(State::accept(state_));
}

StatusServer::~StatusServer() { state_->close(); }

Result<std::unique_ptr<StatusServer>> StatusServer::open(asio::io_context& io, Log& log,
                                                         const Endpoint& endpoint,
                                                         const StatusServerOptions& options) {
  auto state = std::make_shared<State>(io, log, options);
  if (auto listening = state->listen(endpoint); !listening) return listening.error();
  return std::unique_ptr<StatusServer>(new StatusServer(std::move(state)));
}

Result<std::unique_ptr<StatusServer>> open_status_server(asio::io_context& io, Log& log,
                                                         const std::optional<Endpoint>& endpoint,
                                                         const std::string& metrics_path) {
  if (!endpoint) return std::unique_ptr<StatusServer>();
  StatusServerOptions options;
  options.metrics_path = metrics_path;
  auto server = StatusServer::open(io, log, *endpoint, options);
  if (!server) return server.error().context("--http-endpoint");
  log.info("status pages are served", {{"address", (*server)->address()}});
  return server;
}

std::string StatusServer::address() const { return state_->address; }
std::size_t StatusServer::connections() const { return state_->open.size(); }

void StatusServer::show(StatusPages pages) { state_->pages = std::move(pages); }
void StatusServer::hide() { state_->pages.reset(); }

}  // namespace flexlocal::provisioner
