#include "provisioner/daemon/status_server.h"

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/write.hpp>
#include <list>

#include "flexvolume/base/text.h"
#include "provisioner/kube/metrics.h"
#include "provisioner/kube/task_group.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failure = boost::system::error_code;

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
// Between two tries to accept while the process has no descriptor left.
constexpr auto kAfterFailure = std::chrono::milliseconds(100);
// Of what a client sends behind its head: read and dropped, so that it gets its answer and not a
// reset connection.
constexpr std::size_t kMostDropped = 65536;

struct Page {
  int status;
  std::string_view words;
  std::string body;
  std::string_view type = kPlain;
};

std::string format(const Page& page, bool with_body) {
  std::string out =
      concat("HTTP/1.1 ", page.status, ' ', page.words, "\r\nContent-Type: ", page.type,
             "\r\nContent-Length: ", page.body.size(),
             "\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n");
  if (page.status == 405) out += "Allow: GET, HEAD\r\n";
  out += "\r\n";
  if (with_body) out += page.body;
  return out;
}

Page readiness(const StatusPages* pages) {
  if (pages == nullptr) return {503, "Service Unavailable", "not ready: starting or stopping\n"};
  const Status ready = pages->ready();
  if (ready) return {200, "OK", "ok\n"};
  return {503, "Service Unavailable",
          concat("not ready: ", printable(ready.error().message(), 1024), '\n')};
}

Page page_at(std::string_view path, const StatusPages* pages, const StatusServerOptions& options) {
  if (path == "/healthz") return {200, "OK", "ok\n"};
  if (path == "/readyz") return readiness(pages);
  if (path != options.metrics_path)
    return {404, "Not Found",
            concat("there are /healthz, /readyz and ", options.metrics_path, '\n')};
  return {200, "OK", pages == nullptr ? std::string() : pages->metrics(),
          kube::kMetricsContentType};
}

// Where the head ends, the empty line included; npos: not yet. A bare \n ends a line, too (RFC 9112
// 2.2).
std::size_t head_end(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('\n')) return at + 2;
    if (rest.starts_with("\r\n")) return at + 3;
  }
  return std::string_view::npos;
}

struct Connection {
  explicit Connection(asio::io_context& io) : socket(io), deadline(io) {}

  void close() {
    Failure ignored;
    socket.close(ignored);
    deadline.cancel();
  }

  tcp::socket socket;
  asio::steady_timer deadline;
  std::string received;
};
using Shared = std::shared_ptr<Connection>;

// Whatever the connection waits for then ends with an error.
void limit(const Shared& connection, std::chrono::milliseconds time) {
  connection->deadline.expires_after(time);
  connection->deadline.async_wait([connection](const Failure& failure) {
    if (!failure) connection->close();
  });
}

// False when there is no more, or the server is going.
Task<bool> receive(Connection& connection) {
  const bool stopping = co_await kube::is_cancelled();
  if (stopping) co_return false;
  std::array<char, 2048> bytes;
  Failure failure;
  const auto room = asio::buffer(bytes);
  const std::size_t got = co_await connection.socket.async_read_some(
      room, asio::redirect_error(asio::use_awaitable, failure));
  if (failure) co_return false;
  connection.received.append(bytes.data(), got);
  co_return true;
}

// The client has what it asked for when it closes.
Task<void> linger(Connection& connection) {
  Failure ignored;
  connection.socket.shutdown(tcp::socket::shutdown_send, ignored);
  std::size_t dropped = 0;
  while (dropped <= kMostDropped) {
    connection.received.clear();
    const bool more = co_await receive(connection);
    if (!more) co_return;
    dropped += connection.received.size();
  }
}

}  // namespace

std::string status_answer(std::string_view head, const StatusPages* pages,
                          const StatusServerOptions& options) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto words = split(line, ' ');
  if (words.size() != 3 || !words[1].starts_with('/') || !words[2].starts_with("HTTP/1."))
    return format({400, "Bad Request", "this is no request of HTTP/1.1\n"}, true);
  if (words[0] != "GET" && words[0] != "HEAD")
    return format({405, "Method Not Allowed", "only GET and HEAD\n"}, true);
  const std::string_view path = words[1].substr(0, words[1].find('?'));
  return format(page_at(path, pages, options), words[0] == "GET");
}

// Shared with the tasks, which end after their server.
struct StatusServer::State {
  State(asio::io_context& loop, Log& to, StatusServerOptions how)
      : io(loop), log(to), options(std::move(how)), acceptor(loop) {}

  Status listen(const Endpoint& endpoint);
  static Task<void> accept(std::shared_ptr<State> self);
  static Task<void> serve(std::shared_ptr<State> self, Shared connection);
  Task<void> answer(Connection& connection);
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
    const auto connection = std::make_shared<Connection>(self->io);
    Failure failure;
    co_await self->acceptor.async_accept(connection->socket,
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
  limit(connection, self->options.deadline);
  self->tasks->spawn(serve(self, connection));
}

Task<void> StatusServer::State::serve(std::shared_ptr<State> self, Shared connection) {
  co_await self->answer(*connection);
  connection->close();
  self->open.remove(connection);
}

Task<void> StatusServer::State::answer(Connection& connection) {
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    if (connection.received.size() > options.most_head) break;
    const bool more = co_await receive(connection);
    if (!more) co_return;
    end = head_end(connection.received);
  }
  const StatusPages* const shown = pages ? &*pages : nullptr;
  const std::string text =
      end > options.most_head
          ? format({431, "Request Header Fields Too Large", "a shorter request, please\n"}, true)
          : status_answer(std::string_view(connection.received).substr(0, end), shown, options);
  Failure failure;
  const auto bytes = asio::buffer(text);
  co_await asio::async_write(connection.socket, bytes,
                             asio::redirect_error(asio::use_awaitable, failure));
  if (failure) co_return;
  co_await linger(connection);
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
