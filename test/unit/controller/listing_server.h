// An API server in memory that also lists and watches, for whole roles.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "provisioner/objects/names.h"
#include "provisioner/objects/objects.h"
#include "test/unit/controller/object_server.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/objects/json_merge.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

using kube::HttpRequest;
using kube::HttpResponse;

inline const std::string kSystemPath = "/api/v1/namespaces/kube-system";
inline const std::string kSystem =
    R"({"metadata":{"name":"kube-system","uid":")" + kCluster + R"("}})";

// Lists by their selectors; watches never end, and bring nothing but that nodes beat, and that
// VolumeCopies are gone.
struct ListingServer final : kube::Http {
  ObjectServer objects;
  std::map<std::string, std::function<std::string()>> beats;  // by node: its Lease as it is now
  std::string denied;                                         // a list that is refused
  std::vector<std::string> gone;                              // VolumeCopies, to be told once
  std::vector<std::string> news;                              // claims, to be told once
  std::vector<std::string> asked;                             // lists and watches
  kube::Condition never;

  HttpResponse answer(const HttpRequest& request) {
    const std::size_t query = request.target.find('?');
    if (request.method != kube::Method::kGet || query == std::string::npos)
      return objects.answer(request);
    const std::string path = request.target.substr(0, query);
    const std::string resource = path.substr(path.rfind('/') + 1);
    if (resource == denied) return {.status = 403, .body = "{}", .retry_after = {}};
    asked.push_back(request.target);
    const auto is_selected = [&](const std::string& object) {
      return is_named(request.target, object) && is_labelled(request.target, object);
    };
    return {.status = 200, .body = objects.list(resource, is_selected), .retry_after = {}};
  }
  // Whether a target's fieldSelector, if it has one, names the object.
  static bool is_named(const std::string& target, const std::string& object) {
    if (target.find("fieldSelector=") == std::string::npos) return true;
    const auto document = parsed(object);
    const std::string_view name = document.root()["metadata"]["name"].text();
    return target.find(concat("fieldSelector=metadata.name%3D", name)) != std::string::npos;
  }
  // And whether its labelSelector is for the node of the object's label.
  static bool is_labelled(const std::string& target, const std::string& object) {
    const std::string selects = "labelSelector=flexlocal.io%2Fnode%3D";
    if (target.find(selects) == std::string::npos) return true;
    const auto document = parsed(object);
    const std::string_view node = document.root()["metadata"]["labels"][kNodeLabel].text();
    return target.find(concat(selects, node)) != std::string::npos;
  }
  kube::Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    co_return answer(request);
  }
  kube::Task<Result<HttpResponse>> stream(const HttpRequest& request,
                                          kube::ByteSink& sink) override {
    if (!request.trickles) co_return kube::test::deliver(answer(request), sink);
    if (request.target.find("sendInitialEvents") != std::string::npos)
      co_return HttpResponse{.status = 422, .body = "{}", .retry_after = {}};
    Status waited;
    asked.push_back(request.target);
    while (waited && request.target.find("/leases?") != std::string::npos) {
      waited = co_await kube::sleep_for(std::chrono::milliseconds(1));
      for (const auto& [node, beat] : beats) {
        const std::string lease = beat();
        if (waited && is_named(request.target, lease))
          waited = sink.take(concat(R"({"type":"MODIFIED","object":)", lease, "}\n"));
      }
    }
    while (waited && request.target.find("/persistentvolumeclaims?") != std::string::npos) {
      waited = co_await kube::sleep_for(std::chrono::milliseconds(1));
      for (const std::string& claim : std::exchange(news, {}))
        if (waited) waited = sink.take(concat(R"({"type":"ADDED","object":)", claim, "}\n"));
    }
    while (waited && request.target.find("/volumecopies?") != std::string::npos) {
      waited = co_await kube::sleep_for(std::chrono::milliseconds(1));
      for (const std::string& copy : std::exchange(gone, {}))
        if (waited) waited = sink.take(concat(R"({"type":"DELETED","object":)", copy, "}\n"));
    }
    while (waited) waited = co_await never.wait();
    co_return waited.error();
  }
};

}  // namespace flexlocal::provisioner::test
