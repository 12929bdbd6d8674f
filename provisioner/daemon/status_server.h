// A few fixed pages by HTTP, for kubelet's probes and for Prometheus.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/log.h"
#include "provisioner/daemon/endpoint.h"
#include "provisioner/kube/async.h"

namespace flexlocal::provisioner {

using kube::Task;

struct StatusPages {
  std::function<Status()> ready;         // an Error: not ready, and why
  std::function<std::string()> metrics;  // text format 0.0.4
};

struct StatusServerOptions {
  std::string metrics_path = "/metrics";
  // Until a connection is closed, whatever it does. Probes give up sooner, scrapes after 10 s.
  std::chrono::milliseconds deadline = std::chrono::seconds(10);
  // Those that are over it make the oldest one give way: whoever holds connections open and says
  // nothing cannot keep a probe out, which is answered at once.
  std::size_t most_connections = 32;
  // Of a request's first line, and of its headers. Parsed, each takes up to 20 times its length.
  std::size_t most_head = 8192;
};

// One request a connection. Who connects is not asked: the pages hold no secrets.
//   GET /healthz    200 when there is anything that answers: the event loop is alive
//   GET /readyz     200, or 503 with the reason
//   GET <metrics>   200
// Others are 404, 405, 400 or, with too long a head, 431. A body is not read.
class StatusServer {
 public:
  // An Error says why nothing can listen there.
  static Result<std::unique_ptr<StatusServer>> open(boost::asio::io_context& io, Log& log,
                                                    const Endpoint& endpoint,
                                                    const StatusServerOptions& options = {});
  // Cuts the connections that are open.
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

  // What it really listens at: "127.0.0.1:8080".
  std::string address() const;
  std::size_t connections() const;

  // From now on these are shown; before, and after hide(), the daemon is not ready.
  void show(StatusPages pages);
  void hide();

 private:
  struct State;
  explicit StatusServer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// By a daemon's flags: no endpoint, no server, which is success and a nullptr. Where it listens is
// logged, for a port that the kernel chose.
Result<std::unique_ptr<StatusServer>> open_status_server(boost::asio::io_context& io, Log& log,
                                                         const std::optional<Endpoint>& endpoint,
                                                         const std::string& metrics_path);

// Shows the pages as long as it lives: as what they are made from. `server` may be nullptr.
class ShownPages {
 public:
  ShownPages(StatusServer* server, StatusPages pages) : server_(server) {
    if (server_ != nullptr) server_->show(std::move(pages));
  }
  ~ShownPages() {
    if (server_ != nullptr) server_->hide();
  }
  ShownPages(const ShownPages&) = delete;
  ShownPages& operator=(const ShownPages&) = delete;

 private:
  StatusServer* server_;
};

}  // namespace flexlocal::provisioner
