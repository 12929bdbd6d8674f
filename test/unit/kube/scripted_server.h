// An HTTP/1.1 server on loopback that answers as a test's script says, faults included.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "provisioner/kube/async.h"

namespace flexlocal::kube::test {

struct Seen {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string query(const std::string& name) const;
};

struct Reply {
  enum class End {
    kOrderly,  // the answer ends as HTTP wants it
    kCut,      // the connection is closed in mid-answer
    kReset,    // the same, and what is on its way may be lost
    kHang,     // nothing more comes until the client goes away
  };
  int status = 200;
  std::vector<std::string> pieces;  // each is one chunk, or all together the body
  std::vector<std::string> headers;
  bool chunked = false;
  End end = End::kOrderly;
};

inline Reply body(std::string text, int status = 200) {
  Reply reply;
  reply.status = status;
  reply.pieces = {std::move(text)};
  return reply;
}

inline Reply stream(std::vector<std::string> pieces, Reply::End end) {
  Reply reply;
  reply.pieces = std::move(pieces);
  reply.chunked = true;
  reply.end = end;
  return reply;
}

class ScriptedServer {
 public:
  using Script = std::function<Reply(const Seen&)>;

  ScriptedServer(asio::io_context& io, Script script);
  ~ScriptedServer();

  std::string url() const;
  const std::vector<Seen>& seen() const;
  std::size_t connections() const;
  std::size_t open_connections() const;

  void stop();   // refuses connections, and cuts those that are open
  void start();  // again, at the same port

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flexlocal::kube::test
