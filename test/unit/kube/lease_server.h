// An API server that has one Lease, with the API server's own rules about versions.
#pragma once

#include <optional>

#include "flexvolume/base/text.h"
#include "provisioner/kube/lease.h"
#include "test/unit/kube/fake_http.h"

namespace flexlocal::kube::test {

class LeaseServer {
 public:
  std::optional<Lease> lease;

  Result<Lease> read() const {
    if (!lease) return Error(ErrorCode::kNotFound, "no Lease");
    return *lease;
  }
  Result<Lease> create(const Lease& asked) {
    if (lease) return Error(ErrorCode::kExists, "there is one");
    return keep(asked);
  }
  Result<Lease> update(const Lease& asked) {
    if (!lease) return Error(ErrorCode::kNotFound, "no Lease");
    if (asked.resource_version != lease->resource_version)
      return Error(ErrorCode::kConflict, "changed meanwhile");
    return keep(asked);
  }

  // The same over HTTP; any other object is taken and forgotten.
  HttpResponse answer(const HttpRequest& request) {
    if (request.target.find("/leases") == std::string::npos) return {200, "{}", {}};
    const auto body = JsonDocument::parse(request.body.empty() ? "{}" : request.body);
    const Lease asked = decode_lease(body->root());
    Result<Lease> answer = request.method == Method::kGet    ? read()
                           : request.method == Method::kPost ? create(asked)
                                                             : update(asked);
    if (answer) return {200, encode_lease(*answer), {}};
    const bool missing = answer.error().code() == ErrorCode::kNotFound;
    const bool exists = answer.error().code() == ErrorCode::kExists;
    return {
        missing ? 404 : 409,
        concat(R"({"kind":"Status","reason":")", exists ? "AlreadyExists" : "Conflict", R"("})"),
        {}};
  }

 private:
  // An object that is the same as before is not written, and keeps its version
  // (staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go).
  Lease keep(const Lease& asked) {
    if (lease && encode_lease(*lease) == encode_lease(asked)) return *lease;
    lease = asked;
    lease->resource_version = concat(++version_);
    return *lease;
  }
  int version_ = 100;
};

}  // namespace flexlocal::kube::test
