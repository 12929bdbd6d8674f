#include "test/unit/kube/scripted_server.h"

#include <algorithm>
#include <boost/asio/detached.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <set>

#include "flexvolume/base/text.h"

namespace flexlocal::kube::test {

using asio::ip::tcp;

struct ScriptedServer::State {
  State(asio::io_context& loop, Script answers)
      : io(loop), script(std::move(answers)), acceptor(loop) {}

  asio::io_context& io;
  Script script;
  tcp::acceptor acceptor;
  unsigned short port = 0;
  std::vector<Seen> seen;
  std::size_t connections = 0;
  std::set<tcp::socket*> open;
};

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

Seen parse_head(std::string_view head) {
  Seen seen;
  const auto lines = split(head, '\n');
  const auto words = split(trim(lines.at(0)), ' ');
  seen.method = words.at(0);
  seen.target = words.at(1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) continue;
    seen.headers[lower(lines[i].substr(0, colon))] = trim(lines[i].substr(colon + 1));
  }
  return seen;
}

std::string hex(std::size_t number) {
  char digits[24];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

std::string format(const Reply& reply) {
  std::string out = concat("HTTP/1.1 ", reply.status, " Scripted\r\n");
  for (const std::string& header : reply.headers) out += concat(header, "\r\n");
  std::size_t length = 0;
  for (const std::string& piece : reply.pieces) length += piece.size();
  // A cut answer promises more than it brings.
  if (reply.end != Reply::End::kOrderly) length += 100;
  out += reply.chunked ? "Transfer-Encoding: chunked\r\n\r\n"
                       : concat("Content-Length: ", length, "\r\n\r\n");
  for (const std::string& piece : reply.pieces)
    out += reply.chunked ? concat(hex(piece.size()), "\r\n", piece, "\r\n") : piece;
  if (reply.chunked && reply.end == Reply::End::kOrderly) out += "0\r\n\r\n";
  return out;
}

Task<bool> read_request(tcp::socket& socket, std::string& buffer, Seen& seen) {
  boost::system::error_code error;
  auto dynamic = asio::dynamic_buffer(buffer);
  const std::size_t head = co_await asio::async_read_until(
      socket, dynamic, "\r\n\r\n", asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return false;
  seen = parse_head(std::string_view(buffer).substr(0, head));
  buffer.erase(0, head);
  unsigned long long length = 0;
  parse_number(seen.headers["content-length"], 1U << 24U, length);
  if (buffer.size() < length) {
    const std::size_t missing = length - buffer.size();
    co_await asio::async_read(socket, dynamic, asio::transfer_exactly(missing),
                              asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return false;
  }
  seen.body = buffer.substr(0, length);
  buffer.erase(0, length);
  co_return true;
}

template <typename Shared>
Task<void> serve(std::shared_ptr<Shared> state, tcp::socket socket) {
  state->open.insert(&socket);
  std::string buffer;
  boost::system::error_code error;
  for (;;) {
    Seen seen;
    const bool read = co_await read_request(socket, buffer, seen);
    if (!read) break;
    state->seen.push_back(seen);
    const Reply reply = state->script(seen);
    const std::string text = format(reply);
    const auto bytes = asio::buffer(text);
    co_await asio::async_write(socket, bytes, asio::redirect_error(asio::use_awaitable, error));
    if (error || reply.end == Reply::End::kCut) break;
    if (reply.end == Reply::End::kReset) {
      socket.set_option(tcp::socket::linger(true, 0));
      break;
    }
    if (reply.end == Reply::End::kHang) {
      co_await socket.async_wait(tcp::socket::wait_read,
                                 asio::redirect_error(asio::use_awaitable, error));
      break;
    }
  }
  state->open.erase(&socket);
}

template <typename Shared>
Task<void> accept(std::shared_ptr<Shared> state) {
  for (;;) {
    boost::system::error_code error;
    tcp::socket socket(state->io);
    co_await state->acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    ++state->connections;
    asio::co_spawn(state->io, serve(state, std::move(socket)), asio::detached);
  }
}

}  // namespace

std::string Seen::query(const std::string& name) const {
  const std::size_t mark = target.find('?');
  if (mark == std::string::npos) return {};
  for (const std::string_view pair : split(std::string_view(target).substr(mark + 1), '&'))
    if (pair.starts_with(name + "=")) return std::string(pair.substr(name.size() + 1));
  return {};
}

ScriptedServer::ScriptedServer(asio::io_context& io, Script script)
    : state_(std::make_shared<State>(io, std::move(script))) {
  start();
}

ScriptedServer::~ScriptedServer() { stop(); }

std::string ScriptedServer::url() const { return concat("http://127.0.0.1:", state_->port); }
const std::vector<Seen>& ScriptedServer::seen() const { return state_->seen; }
std::size_t ScriptedServer::connections() const { return state_->connections; }
std::size_t ScriptedServer::open_connections() const { return state_->open.size(); }

void ScriptedServer::stop() {
  state_->acceptor.close();
  for (tcp::socket* const socket : state_->open) socket->close();
}

void ScriptedServer::start() {
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), state_->port);
  state_->acceptor.open(tcp::v4());
  state_->acceptor.set_option(tcp::acceptor::reuse_address(true));
  state_->acceptor.bind(endpoint);
  state_->acceptor.listen();
  state_->port = state_->acceptor.local_endpoint().port();
  asio::co_spawn(state_->io, accept(state_), asio::detached);
}

}  // namespace flexlocal::kube::test
