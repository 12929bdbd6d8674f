// Where the API server is and who we are to it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/result.h"

namespace flexlocal::kube {

// PEM or a token: in a file, which is read again when it changes, or given inline. At most one is
// set; neither: there is none.
struct FileOrData {
  std::string file;
  std::string data;

  bool empty() const { return file.empty() && data.empty(); }
};

// A program that gives out our credentials, `exec` in a kubeconfig.
// Source: k8s.io/client-go/tools/clientcmd/api (ExecConfig)
struct ExecProgram {
  std::string command;  // absolute, or a bare name that is looked for in kExecFolders
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // beside our own, or instead of it
  std::string api_version;                         // of its answer
  std::string install_hint;                        // for a person, when it is not there
  bool wants_cluster = false;                      // it is told where the server is
};

struct ClusterConfig {
  std::string server;           // "https://10.0.0.1:6443", without a slash at its end
  std::string tls_server_name;  // the name in the server's certificate, when not the address's
  FileOrData ca;                // none: the system's
  FileOrData token;
  FileOrData client_certificate;
  FileOrData client_key;
  std::optional<ExecProgram> exec;  // then token, certificate and key come from it alone
  std::string namespace_name = "default";
};

// kInvalid, in one sentence, when this cannot work or would not be safe: no https or http server,
// a token or client key over plain http to another host than this one, a certificate without its
// key.
Status validate(const ClusterConfig& config);

// Reads a kubeconfig of at most 1 MiB. `context`: empty for its current-context. Inline data is
// decoded and stays in memory. Relative file names are taken from the kubeconfig's own folder, and
// so is an exec command with a slash in it.
// Refused in words (kInvalid): insecure-skip-tls-verify, proxy-url, basic authentication,
// impersonation, auth-provider, and an exec program that wants a terminal.
Result<ClusterConfig> load_kubeconfig(const std::string& path, const std::string& context);

// What a pod finds in its service account's folder (/var/run/secrets/kubernetes.io/serviceaccount)
// and in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
Result<ClusterConfig> in_cluster_config(const std::string& folder, const std::string& host,
                                        const std::string& port);

}  // namespace flexlocal::kube
