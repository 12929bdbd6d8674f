#include "provisioner/kube/complete_list.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr unsigned kPage = 500;
// A server that always has one more page must not keep us for ever: 500,000 objects.
constexpr int kMostPages = 1000;

Status visit_page(JsonView list, const std::string& path, const Visit& visit) {
  const JsonView items = list["items"];
  if (!items.is_array() || list["metadata"]["resourceVersion"].text().empty())
    return Error(ErrorCode::kCorrupt, concat("GET ", path, ": the answer is no list"));
  for (std::size_t i = 0; i < items.size(); ++i)
    if (auto visited = visit(items.at(i)); !visited) return visited;
  return {};
}

}  // namespace

Task<Status> visit_all(kube::ApiClient& api, const std::string& path, const kube::Query& selectors,
                       const Visit& visit) {
  std::string next;
  unsigned limit = kPage;
  for (int page = 0; page < kMostPages; ++page) {
    kube::Query query = selectors;
    query.add("limit", concat(limit)).add("continue", next);
    const auto answer = co_await api.list(path, query);
    if (!answer && answer.error().code() == ErrorCode::kNoSpace && limit > 1) {
      limit /= 2;  // too large to be kept
      continue;
    }
    if (!answer) co_return answer.error();
    if (auto visited = visit_page(answer->root(), path, visit); !visited) co_return visited;
    next = answer->root()["metadata"]["continue"].text();
    if (next.empty()) co_return Status();
  }
  co_return Error(ErrorCode::kCorrupt, concat("GET ", path, ": the list has no end"));
}

Task<Result<std::set<std::string>>> complete_list(kube::ApiClient& api, const std::string& path,
                                                  const std::string& label_selector,
                                                  const std::string& field) {
  std::set<std::string> found;
  kube::Query selectors;
  selectors.add("labelSelector", label_selector);
  const Visit visit = [&](JsonView object) -> Status {
    const std::string_view text = object["metadata"][field].text();
    if (text.empty())
      return Error(ErrorCode::kCorrupt, concat("GET ", path, ": an object has no ", field));
    found.emplace(text);
    return {};
  };
  const auto visited = co_await visit_all(api, path, selectors, visit);
  if (!visited) co_return visited.error();
  co_return found;
}

}  // namespace flexlocal::provisioner
