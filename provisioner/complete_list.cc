#include "provisioner/complete_list.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr unsigned kPage = 500;
// A server that always has one more page must not keep us for ever: 500,000 objects.
constexpr int kMostPages = 1000;

}  // namespace

Task<Result<std::set<std::string>>> complete_list(kube::ApiClient& api, const std::string& path,
                                                  const std::string& label_selector,
                                                  const std::string& field) {
  std::set<std::string> found;
  std::string next;
  unsigned limit = kPage;
  for (int page = 0; page < kMostPages; ++page) {
    kube::Query query;
    query.add("labelSelector", label_selector).add("limit", concat(limit)).add("continue", next);
    auto answer = co_await api.list(path, query);
    if (!answer && answer.error().code() == ErrorCode::kNoSpace && limit > 1) {
      limit /= 2;  // too large to be kept
      continue;
    }
    if (!answer) co_return answer.error();
    const JsonView list = answer->root();
    const JsonView items = list["items"];
    if (!items.is_array() || list["metadata"]["resourceVersion"].text().empty())
      co_return Error(ErrorCode::kCorrupt, concat("GET ", path, ": the answer is no list"));
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string_view text = items.at(i)["metadata"][field].text();
      if (text.empty())
        co_return Error(ErrorCode::kCorrupt, concat("GET ", path, ": an object has no ", field));
      found.emplace(text);
    }
    next = list["metadata"]["continue"].text();
    if (next.empty()) co_return found;
  }
  co_return Error(ErrorCode::kCorrupt, concat("GET ", path, ": the list has no end"));
}

}  // namespace flexlocal::provisioner
