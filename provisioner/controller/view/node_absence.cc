#include "provisioner/controller/view/node_absence.h"

#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

Task<Result<bool>> NodeAbsence::is_gone(const std::string& node) {
  if (nodes_.get(node) != nullptr) {
    gone_.answered_there(node);
    co_return false;
  }
  if (gone_.verdict(node, clock_.now()) == GoneNodes::Verdict::kAsk) {
    const auto absent = co_await is_absent_now(node);
    if (!absent) co_return absent.error();
  }
  co_return gone_.verdict(node, clock_.now()) == GoneNodes::Verdict::kGone;
}

Task<Result<bool>> NodeAbsence::is_absent_now(const std::string& node) {
  const std::string path = node_path(node);
  const auto answer = co_await api_.get(path);
  if (answer) {
    nodes_.put(answer->root());
    gone_.answered_there(node);
    co_return false;
  }
  if (answer.error().code() != ErrorCode::kNotFound) co_return answer.error();
  gone_.answered_absent(node, clock_.now());
  co_return true;
}

}  // namespace flexlocal::provisioner
