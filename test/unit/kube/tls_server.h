// A TLS server on loopback (openssl s_server) with a certificate made for the test.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "flexvolume/base/fd.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::kube::test {

// A key and a certificate that signs itself, so that it is its own CA.
struct Identity {
  std::string certificate_file;
  std::string key_file;
};

// `names`: a subjectAltName, "IP:127.0.0.1,DNS:api.test".
Identity make_identity(const TemporaryFolder& folder, const std::string& name,
                       const std::string& names);

class TlsServer {
 public:
  explicit TlsServer(const Identity& identity, const std::vector<std::string>& options = {});
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer();

  std::string url() const;

 private:
  pid_t pid_ = -1;
  UniqueFd output_;
  std::string port_;
};

}  // namespace flexlocal::kube::test
