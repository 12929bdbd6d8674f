// Writes and reads VolumeCopies as the daemon does, for the tests of the cluster tier:
//
//   copy-call KUBECONFIG create NODE CLAIM_UID COPY      an order in which every field is set
//   copy-call KUBECONFIG order NAME SIZE DESIRED_STATE TERM
//   copy-call KUBECONFIG answer NAME promised|ready|plain
//   copy-call KUBECONFIG late-answer NAME PROGRAM ARGUMENT...   after the program, found by PATH
//   copy-call KUBECONFIG read NAME
//
// `order` reads the object and orders it anew; `answer` writes a status: promised, ready with every
// field set, or ready without what is optional. What the API server kept is compared with what was
// sent, and what is read from it with what was meant. Prints one line. Exit status: 0; 1 on
// wrong usage, and when the server refused it, kept it otherwise or the object is not understood.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/kube/api.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/objects/kept.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;
using kube::Task;
using Arguments = std::vector<std::string>;

bool run_program(Arguments arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawnp(&pid, pointers[0], nullptr, nullptr, pointers.data(), environ) != 0)
    return false;
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && status == 0;
}

Error wrong_usage() {
  return Error(ErrorCode::kInvalid, "wrong usage, see the head of its source");
}

Result<CopyOrder> full_order(const std::string& node, const std::string& uid,
                             const std::string& copy) {
  auto name = engine::VolumeName::of_claim(uid);
  if (!name) return name.error();
  CopyOrder order(std::move(*name));
  order.volume.cluster_id = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee";
  order.volume.claim_namespace = "shop";
  order.volume.pool = "fast";
  order.volume.size = Bytes(3 * kGiB.count());
  order.volume.limits = {1000, 2000, kGiB, kMiB, true};
  order.volume.mount_options = {"noatime", "discard"};
  order.volume.copy = copy;
  order.node = node;
  order.node_uid = "99999999-2222-3333-4444-555555555555";
  order.hostname = concat(node, ".Example_1");
  order.claim_name = "data-web-0";
  order.claim_uid = uid;
  order.storage_class = "flexlocal.fast";
  order.reclaim_policy = "Retain";
  order.disk_per_ram = Ratio::of_millionths(1'500'000);
  order.term = INT64_MAX - 1;
  return order;
}

CopyStatus answer_of(const std::string& word, const VolumeCopy& copy) {
  CopyStatus status;
  status.promised = true;
  status.host = "99999999-2222-3333-4444-555555555555";
  status.observed_generation = copy.generation;
  status.state = word == "promised" ? CopyState::kPromised : CopyState::kReady;
  status.made = status.state == CopyState::kReady;
  if (word != "ready") return status;
  status.size = Bytes(3 * kGiB.count());
  status.wiped = Bytes(1);
  status.mounted = true;
  const Clock::Wall now{std::chrono::seconds(1'700'000'000)};
  set_condition(status, {"GrowthRefused", true, "NoSpace", "no room: \"2 GiB\" asked"}, now);
  return status;
}

class Call {
 public:
  Call(kube::ApiClient& api, const Arguments& arguments) : api_(api), arguments_(arguments) {}

  Task<Result<std::string>> run() {
    const std::string& what = arguments_[1];
    if (what == "create" && arguments_.size() == 5) co_return co_await create();
    if (what == "order" && arguments_.size() == 6) co_return co_await order();
    if (what == "answer" && arguments_.size() == 4) co_return co_await answer({});
    if (what == "late-answer" && arguments_.size() >= 4)
      co_return co_await answer(Arguments(arguments_.begin() + 3, arguments_.end()));
    if (what == "read" && arguments_.size() == 3) co_return co_await read();
    co_return wrong_usage();
  }

 private:
  Task<Result<std::string>> create() {
    const auto order = full_order(arguments_[2], arguments_[3], arguments_[4]);
    if (!order) co_return order.error();
    const std::string path = copies_path();
    const std::string body = copy_json(*order);
    const auto made = co_await api_.create(path, body);
    co_return kept(body, made);
  }

  Task<Result<std::string>> order() {
    const auto copy = co_await get();
    if (!copy) co_return copy.error();
    if (!copy->order) co_return copy->order.error();
    CopyOrder next = *copy->order;
    const auto size = parse_quantity(arguments_[3]);
    if (!size) co_return size.error();
    next.volume.size = *size;
    if (arguments_[4] == "Retained") next.desired = DesiredState::kRetained;
    if (arguments_[4] == "Removed") next.desired = DesiredState::kRemoved;
    const std::string& term = arguments_[5];
    std::from_chars(term.data(), term.data() + term.size(), next.term);
    const std::string path = copy_path(copy->name);
    const std::string body = order_patch(*copy, next);
    const auto patched = co_await api_.merge_patch(path, body);
    co_return kept(body, patched);
  }

  Task<Result<std::string>> answer(Arguments meanwhile) {
    const auto copy = co_await get();
    if (!copy) co_return copy.error();
    const bool late = !meanwhile.empty();
    if (late && !run_program(std::move(meanwhile)))
      co_return Error(ErrorCode::kFailed, "the program has failed");
    const CopyStatus status = answer_of(late ? "promised" : arguments_[3], *copy);
    const std::string path = copy_status_path(copy->name);
    const std::string body = status_patch(*copy, status);
    const auto patched = co_await api_.merge_patch(path, body);
    auto compared = kept(body, patched);
    if (!compared) co_return compared;
    const auto now = decode_copy(patched->root());
    if (!now || now->status != status)
      co_return Error(ErrorCode::kCorrupt, "the status is read otherwise than it was written");
    co_return compared;
  }

  Task<Result<std::string>> read() {
    const auto copy = co_await get();
    if (!copy) co_return copy.error();
    if (!copy->order) co_return copy->order.error();
    co_return concat("understood, generation ", copy->generation);
  }

  Task<Result<VolumeCopy>> get() {
    const std::string path = copy_path(arguments_[2]);
    const auto answer = co_await api_.get(path);
    if (!answer) co_return answer.error();
    auto copy = decode_copy(answer->root());
    if (!copy) co_return Error(ErrorCode::kCorrupt, "it has no name");
    co_return std::move(*copy);
  }

  static Result<std::string> kept(const std::string& body, const Result<JsonDocument>& answer) {
    if (!answer) return answer.error();
    const auto sent = JsonDocument::parse(body);
    if (!sent) return sent.error();
    if (auto compared = check_kept(sent->root(), answer->root()); !compared)
      return compared.error();
    const auto copy = decode_copy(answer->root());
    if (copy && !copy->order) return copy->order.error();
    return std::string("kept as sent");
  }

  kube::ApiClient& api_;
  const Arguments& arguments_;
};

Result<std::string> run(const Arguments& arguments) {
  const auto cluster = kube::load_kubeconfig(arguments[0], "");
  if (!cluster) return cluster.error();
  asio::io_context io{1};
  SystemClock clock;
  StderrLog log(LogLevel::kWarning);
  auto http = kube::CurlHttp::make(io, clock, log, *cluster);
  if (!http) return http.error();
  kube::ApiClient api(**http, clock, {.limit = {0, 1}});
  Call call(api, arguments);
  Result<std::string> outcome = Error(ErrorCode::kCancelled, "nothing was done");
  kube::TaskGroup tasks(io);
  const auto carry = [&]() -> Task<void> { outcome = co_await call.run(); };
  tasks.spawn(carry());
  io.run();
  return outcome;
}

}  // namespace
}  // namespace flexlocal::provisioner

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr << "usage: copy-call KUBECONFIG create|order|answer|read ...\n";
    return 1;
  }
  const auto outcome = flexlocal::provisioner::run(arguments);
  std::cout << (outcome ? *outcome : outcome.error().message()) << '\n';
  return outcome ? 0 : 1;
}
