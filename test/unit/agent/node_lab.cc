#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {

NodeLab::NodeLab() {
  config.pools["default"].volume_group = "vg";
  http.answer = [this](const kube::HttpRequest& request) { return answer(request); };
}

Result<kube::HttpResponse> NodeLab::answer(const kube::HttpRequest& request) {
  const std::string call = concat(to_string(request.method), ' ', request.target);
  journal.push_back(call);
  if (const auto found = broken.find(call); found != broken.end())
    return Error(found->second, "no answer");
  auto& script = answers[call];
  const Answer now = script.empty() ? Answer{} : script.front();
  if (script.size() > 1) script.erase(script.begin());
  return kube::HttpResponse{.status = now.status, .body = now.body, .retry_after = {}};
}

std::string NodeLab::refused(std::string_view reason) {
  return concat(R"({"kind":"Status","reason":")", reason, R"(","message":"no"})");
}

std::string NodeLab::body_of(kube::Method method, const std::string& path) const {
  std::vector<std::string> found;
  for (const kube::HttpRequest& request : http.seen)
    if (request.method == method && request.target == path) found.push_back(request.body);
  REQUIRE(found.size() == 1);
  return found.front();
}

std::string NodeLab::events_written() {
  events.shut_down();
  tasks.spawn(events.run());
  REQUIRE(run_until([this] { return tasks.running() == 0; }));
  std::string bodies;
  for (const kube::HttpRequest& request : http.seen)
    if (request.target.ends_with("/events")) bodies += request.body + '\n';
  return bodies;
}

}  // namespace flexlocal::provisioner::test
