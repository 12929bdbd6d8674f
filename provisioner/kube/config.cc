#include "provisioner/kube/config.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

Error wrong(std::string message) { return Error(ErrorCode::kInvalid, std::move(message)); }

// The host of "http://host:port": enough of it to tell this machine from others.
bool is_this_machine(std::string_view server) {
  const std::string_view host = server.substr(server.find("//") + 2);
  for (const std::string_view local : {"127.0.0.1", "localhost", "[::1]"})
    if (host == local || host.starts_with(concat(local, ':'))) return true;
  return false;
}

}  // namespace

Status validate(const ClusterConfig& config) {
  const std::string_view server = config.server;
  if (!server.starts_with("https://") && !server.starts_with("http://"))
    return wrong(concat("the server \"", printable(server), "\" is not an https:// address"));
  if (server.find_first_of(" \t\r\n") != std::string_view::npos)
    return wrong("the server's address has a space in it");
  const bool has_secret =
      !config.token.empty() || !config.client_key.empty() || config.exec.has_value();
  if (server.starts_with("http://") && has_secret && !is_this_machine(server))
    return wrong(concat("credentials would go unencrypted to ", printable(server)));
  if (config.client_certificate.empty() != config.client_key.empty())
    return wrong("a client certificate and its key are only of use together");
  if (config.exec && (!config.token.empty() || !config.client_key.empty()))
    return wrong("an exec program beside a token or client certificate: one of them is enough");
  return {};
}

Result<ClusterConfig> in_cluster_config(const std::string& folder, const std::string& host,
                                        const std::string& port) {
  if (host.empty() || port.empty())
    return wrong("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  ClusterConfig config;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  config.server =
      is_ipv6 ? concat("https://[", host, "]:", port) : concat("https://", host, ':', port);
  config.ca.file = folder + "/ca.crt";
  config.token.file = folder + "/token";
  auto name = read_file(folder + "/namespace", kKiB);
  if (!name) return name.error().context("reading the service account");
  config.namespace_name = std::string(trim(*name));
  if (auto valid = validate(config); !valid) return valid.error();
  return config;
}

}  // namespace flexlocal::kube
