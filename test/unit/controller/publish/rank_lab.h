// A RankPlacer on a node of the lab, and what the other nodes tell of their room.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "provisioner/controller/publish/rank_placer.h"
#include "provisioner/controller/ranking/immediate_rank.h"
#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {

inline const std::string kTake = "PATCH " + kClaimPath;
inline const std::string kLook = "GET " + kClaimPath;
inline const std::string kList =
    "GET /apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities"
    "?labelSelector=flexlocal.io%2Fimmediate&resourceVersion=0";

// A claim of 1 GiB of an Immediate class that waits, this node with room for two, and what others
// tell.
struct RankLab : ClusterLab {
  const std::string own_node = (view.own_node = kNode);
  CapacitySurvey survey{api, classes, "ns", manual, log, [] {}};
  Bytes room = kGiB + kGiB;
  std::vector<std::pair<std::string, std::chrono::nanoseconds>>
      admitted;  // in line, to be taken next
  ClaimTaker taker{api, view, [this](const std::string&) { return room; }, log, ClusterLab::work};
  RankPlacer placer{view, survey, taker, manual,
                    [this](const std::string& key, std::chrono::nanoseconds after) {
                      admitted.emplace_back(key, after);
                    }};
  Claim claim = sample_claim();

  RankLab() {
    claims.on_change([this](const std::string& key) { placer.notice(key); });
    have_class("");
    have_node("");
    answers["GET /apis/storage.k8s.io/v1"] = {
        {200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
    claim.selected_node.clear();
    know_claim(claim);
    others_have({});
    answers[kTake] = {{200, chosen(kNode)}};
  }
  // more: a field of the class, and of the Node's spec.
  void have_class(const std::string& more) {
    put(classes, with(class_text(), R"("WaitForFirstConsumer")", concat(R"("Immediate")", more)));
  }
  void have_node(const std::string& spec, bool ready = true) {
    put(nodes,
        concat(R"({"metadata":{"name":")", kNode, R"(","resourceVersion":")", next_version(),
               R"(","labels":{"kubernetes.io/hostname":"host-a","zone":"1"}},)", R"("spec":{)",
               spec, R"(},"status":{"conditions":[{"type":"Ready","status":")",
               ready ? "True" : "False", R"("}]}})"));
  }
  void know_claim(const Claim& known) { put(claims, claim_text(known)); }
  // The body of the only request that takes the claim.
  std::string body_of_take() const {
    std::vector<std::string> found;
    for (const kube::HttpRequest& request : http.seen)
      if (request.method == kube::Method::kPatch && request.target == kClaimPath)
        found.push_back(request.body);
    REQUIRE(found.size() == 1);
    return found.front();
  }
  // Further claims of that kind, which wait too.
  void know_more(const std::vector<std::string>& names) {
    Claim more = claim;
    for (std::size_t i = 0; i < names.size(); ++i) {
      more.name = names[i];
      more.uid = concat("22222222-2222-3333-4444-", 100'000'000'000 + static_cast<long>(i));
      know_claim(more);
    }
  }
  // Each of them 1 GiB, on hosts of the nodes' names; `own`: what this node told, if it did.
  void others_have(const std::vector<std::string>& others, const std::string& own = {}) {
    std::vector<std::string> items;
    items.reserve(others.size() + 1);
    for (const std::string& node : others)
      items.push_back(concat(R"({"metadata":{"labels":{"flexlocal.io/node":")", node,
                             R"("}},"nodeTopology":{"matchLabels":{"kubernetes.io/hostname":")",
                             node, R"("}},"storageClassName":"local","capacity":"1Gi"})"));
    if (!own.empty())
      items.push_back(concat(R"({"metadata":{"labels":{"flexlocal.io/node":")", kNode,
                             R"("}},"storageClassName":"local","capacity":")", own, R"("})"));
    answers[kList] = {
        {200, concat(R"({"metadata":{"resourceVersion":"7"},"items":[)", join(items, ","), "]}")}};
    REQUIRE(wait_for(survey.look()).ok());
    journal.clear();
  }
  // Nodes that are before this one for the claim, as many as are asked for.
  std::vector<std::string> better_nodes(std::size_t count) const {
    std::vector<std::string> better;
    for (int i = 0; better.size() < count; ++i) {
      const std::string name = concat("other-", i);
      const NodeHash own = hash_of_node(kNode);
      if (rank_of({own, room}, {{hash_of_node(name), kGiB}}, claim.uid, kGiB) == 1)
        better.push_back(name);
    }
    return better;
  }
  std::string chosen(const std::string& node) const {
    Claim now = claim;
    now.selected_node = node;
    return claim_text(now);
  }
  RequeueAfter work() {
    auto requeue = wait_for(placer.work("shop/data"));
    REQUIRE(requeue.ok());
    return *requeue;
  }
  long taken() const { return std::count(journal.begin(), journal.end(), kTake); }
};

}  // namespace flexlocal::provisioner::test
