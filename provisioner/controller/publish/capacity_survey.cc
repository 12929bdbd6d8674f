#include "provisioner/controller/publish/capacity_survey.h"

#include <algorithm>
#include <random>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/kube/list_decoder.h"

namespace flexlocal::provisioner {
namespace {

constexpr kube::BackoffOptions kRetry{std::chrono::milliseconds(500), std::chrono::minutes(1)};
// What the API server is left for each object of the list, before it makes the next one's answer:
// so a claim that all nodes see at once does not make all of them ask at once.
constexpr auto kSpreadPerObject = std::chrono::milliseconds(1);
constexpr std::size_t kMostSpread = 5000;
constexpr std::string_view kUnknown =
    "what other nodes have room for is not known: this node takes no claim by --immediate=rank";

// Objects on their way from the stream into what is kept of them.
class RoomReader final : public kube::ListItemSink {
 public:
  explicit RoomReader(const kube::Informer<StorageClass>& classes) : classes_(classes) {}

  Status take(std::string_view item) override {
    const auto parsed = JsonDocument::parse(item);
    if (!parsed)
      return Error(ErrorCode::kCorrupt,
                   concat("reading a CSIStorageCapacity: ", parsed.error().message()));
    ++count;
    const PublishedCapacity published = decode_capacity(parsed->root());
    const StorageClass* const known = classes_.get(published.storage_class);
    if (known == nullptr || !known->immediate || published.node.empty()) return {};
    ToldRooms& told = rooms[published.storage_class];
    told.nodes.push_back({hash_of_node(published.node), published.size});
    told.hostnames.push_back(published.hostname);
    return {};
  }

  std::map<std::string, ToldRooms> rooms;
  std::size_t count = 0;

 private:
  const kube::Informer<StorageClass>& classes_;
};

}  // namespace

CapacitySurvey::CapacitySurvey(kube::ApiClient& api, kube::Informer<StorageClass>& classes,
                               std::string namespace_name, const Clock& clock, Log& log,
                               OnDone done)
    : api_(api),
      classes_(classes),
      clock_(clock),
      log_(log),
      done_(std::move(done)),
      random_(std::random_device()()) {
  place_.namespace_name = std::move(namespace_name);
}

Task<void> CapacitySurvey::run() {
  unsigned failures = 0;
  wanted_ = true;
  bool first = true;
  for (;;) {
    Status waited;
    while (waited && !wanted_) waited = co_await asked_.wait();
    if (!waited) co_return;
    const auto pause =
        failures == 0 ? spread() : random_.jittered(kube::backoff_delay(kRetry, failures - 1));
    waited = co_await kube::sleep_for(pause);
    if (!waited) co_return;
    const Status looked = co_await look();
    if (looked && std::exchange(first, false)) good_until_ = {};
    trouble_.look(looked, log_, kUnknown);
    failures = looked ? 0 : failures + 1;
  }
}

const ToldRooms* CapacitySurvey::rooms_for(const std::string& storage_class) {
  const auto found = rooms_.find(storage_class);
  if (found != rooms_.end() && clock_.now() < good_until_) return &found->second;
  wanted_ = true;
  asked_.notify_all();
  return nullptr;
}

// Any version will do: the API server answers from its cache, without asking etcd.
Task<Status> CapacitySurvey::look() {
  const Status placed = co_await find_place();
  if (!placed) co_return placed;
  RoomReader reader(classes_);
  kube::ListDecoder decoder(reader);
  const std::string path = capacity_path(place_, "");
  kube::Query query;
  query.add("labelSelector", kImmediateLabel).add("resourceVersion", "0");
  const Status read = co_await api_.read_list(path, query, decoder);
  // Perhaps the API server has another version of them since it was made anew.
  if (!read && read.error().code() == ErrorCode::kNotFound) place_.version.clear();
  if (!read) co_return read;
  const auto shell = decoder.finish();
  if (!shell) co_return shell.error();
  if (shell->root()["metadata"]["resourceVersion"].text().empty())
    co_return Error(ErrorCode::kCorrupt, concat("GET ", path, ": the answer is no list"));
  rooms_ = std::move(reader.rooms);
  // One of which nobody tells is known, too; one that is made later is not.
  classes_.for_each([&](const std::string& name, const StorageClass& storage_class) {
    if (storage_class.immediate) rooms_[name];
  });
  objects_ = reader.count;
  const auto good_for = std::max<std::chrono::nanoseconds>(
      kGoodFor, kGoodForPerObject * static_cast<std::int64_t>(objects_));
  good_until_ = clock_.now() + random_.jittered(good_for);
  wanted_ = false;
  done_();
  co_return Status();
}

Task<Status> CapacitySurvey::find_place() {
  if (!place_.version.empty()) co_return Status();
  auto version = co_await find_capacity_version(api_);
  if (!version) co_return version.error();
  if (version->empty())
    co_return Error(ErrorCode::kNotFound, "this API server has no CSIStorageCapacity");
  place_.version = std::move(*version);
  co_return Status();
}

std::chrono::nanoseconds CapacitySurvey::spread() {
  const auto most = std::chrono::nanoseconds(kSpreadPerObject) *
                    static_cast<std::int64_t>(std::min(objects_, kMostSpread));
  return random_.jittered(most) - most;
}

}  // namespace flexlocal::provisioner
