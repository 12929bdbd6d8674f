#include "provisioner/kube/curl_engine.h"

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "provisioner/kube/curl_multi.h"

namespace flexlocal::kube {
namespace {

CurlHttpOptions with_user_agent(CurlHttpOptions options) {
  if (options.user_agent.empty()) options.user_agent = concat("flexlocal-provisioner/", version());
  return options;
}

}  // namespace

Transfer::Transfer(std::shared_ptr<CurlEngine> by, const HttpRequest& asked, bool streams)
    : engine(std::move(by)),
      request(asked),
      streaming(streams),
      wake(engine->executor()),
      handle(std::make_unique<Handle>()) {}

Transfer::~Transfer() { engine->remove(*this); }

void Transfer::finish(std::optional<Error> with) {
  done = true;
  failure = std::move(with);
  wake.cancel();
}

// Streams without an end are apart from what has one: their connections rest between two looks, and
// speak another version of HTTP.
struct CurlEngine::Parts {
  Parts(asio::io_context& loop, CurlSettings with)
      : io(loop),
        settings(std::move(with)),
        requests(loop, settings, std::chrono::milliseconds(0)),
        streams(loop, settings, settings.options.gather) {}

  asio::io_context& io;
  CurlSettings settings;
  CurlMulti requests, streams;
};

CurlEngine::CurlEngine(asio::io_context& io, ClusterConfig config, CurlHttpOptions options,
                       Credentials credentials, Log& log)
    : parts_(std::make_unique<Parts>(
          io, CurlSettings{std::move(config), with_user_agent(std::move(options)),
                           std::move(credentials), ServerWarnings(log)})) {}

CurlEngine::~CurlEngine() = default;

Executor CurlEngine::executor() const { return parts_->io.get_executor(); }

Status CurlEngine::start(Transfer& transfer) {
  return (transfer.request.trickles ? parts_->streams : parts_->requests).start(transfer);
}

void CurlEngine::remove(Transfer& transfer) {
  parts_->requests.remove(transfer);
  parts_->streams.remove(transfer);
}

void CurlEngine::close() {
  parts_->requests.close();
  parts_->streams.close();
}

}  // namespace flexlocal::kube
