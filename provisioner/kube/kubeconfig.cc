#include <yaml-cpp/yaml.h>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"
#include "provisioner/kube/config.h"

namespace flexlocal::kube {
namespace {

// yaml-cpp throws; everything between here and load_kubeconfig() does so too, and is caught there.
struct Refusal {
  std::string why;
};

std::string scalar(const YAML::Node& node, const char* key) {
  const YAML::Node value = node[key];
  if (!value || value.IsNull()) return {};
  if (!value.IsScalar()) throw Refusal{concat(key, " is not a text")};
  return value.Scalar();
}

// The entry called `name` in a list of {name, <what>}.
YAML::Node named(const YAML::Node& root, const char* list, const char* what,
                 const std::string& name) {
  const YAML::Node entries = root[list];
  if (entries && entries.IsSequence())
    for (const YAML::Node& entry : entries)
      if (entry.IsMap() && scalar(entry, "name") == name && entry[what] && entry[what].IsMap())
        return entry[what];
  throw Refusal{concat("it has no ", what, " named \"", printable(name), "\"")};
}

std::string beside(const std::string& kubeconfig, const std::string& file) {
  if (file.empty() || file.front() == '/') return file;
  const std::size_t slash = kubeconfig.rfind('/');
  return slash == std::string::npos ? file : kubeconfig.substr(0, slash + 1) + file;
}

// Inline data wins over a file, as in kubectl.
FileOrData material(const YAML::Node& node, const char* file_key, const char* data_key,
                    const std::string& kubeconfig) {
  const std::string encoded = scalar(node, data_key);
  if (encoded.empty()) return {.file = beside(kubeconfig, scalar(node, file_key)), .data = {}};
  auto data = decode_base64(encoded);
  if (!data) throw Refusal{concat(data_key, " is not base64")};
  return {.file = {}, .data = std::move(*data)};
}

void refuse_cluster(const YAML::Node& cluster) {
  const std::string insecure = scalar(cluster, "insecure-skip-tls-verify");
  if (!insecure.empty() && insecure != "false")
    throw Refusal{
        "it asks for insecure-skip-tls-verify: the server is always verified here, give its CA in "
        "certificate-authority-data"};
  if (!scalar(cluster, "proxy-url").empty()) throw Refusal{"proxy-url is not supported"};
}

void refuse_user(const YAML::Node& user) {
  for (const char* const key : {"username", "password", "as", "as-uid", "as-groups",
                                "as-user-extra", "auth-provider", "exec"})
    if (user[key]) throw Refusal{concat("its user has \"", key, "\", which is not supported")};
}

// tokenFile is preferred, for it can be renewed. Source: k8s.io/client-go/tools/clientcmd/api
FileOrData token_of(const YAML::Node& user, const std::string& kubeconfig) {
  const std::string file = scalar(user, "tokenFile");
  if (!file.empty()) return {.file = beside(kubeconfig, file), .data = {}};
  return {.file = {}, .data = scalar(user, "token")};
}

ClusterConfig read_config(const std::string& path, const std::string& text,
                          const std::string& wanted) {
  const YAML::Node root = YAML::Load(text);
  if (!root.IsMap()) throw Refusal{"it is not a map"};
  const std::string name = wanted.empty() ? scalar(root, "current-context") : wanted;
  if (name.empty()) throw Refusal{"it has no current-context and none was asked for"};
  const YAML::Node context = named(root, "contexts", "context", name);
  const YAML::Node cluster = named(root, "clusters", "cluster", scalar(context, "cluster"));
  const YAML::Node user = named(root, "users", "user", scalar(context, "user"));
  refuse_cluster(cluster);
  refuse_user(user);

  ClusterConfig config;
  config.server = scalar(cluster, "server");
  while (config.server.ends_with('/')) config.server.pop_back();
  config.tls_server_name = scalar(cluster, "tls-server-name");
  config.ca = material(cluster, "certificate-authority", "certificate-authority-data", path);
  config.token = token_of(user, path);
  config.client_certificate = material(user, "client-certificate", "client-certificate-data", path);
  config.client_key = material(user, "client-key", "client-key-data", path);
  if (const std::string space = scalar(context, "namespace"); !space.empty())
    config.namespace_name = space;
  return config;
}

}  // namespace

Result<ClusterConfig> load_kubeconfig(const std::string& path, const std::string& context) {
  const std::string doing = concat("kubeconfig ", path);
  const auto text = read_file(path, kMiB);
  if (!text) return text.error().context("kubeconfig");
  try {
    ClusterConfig config = read_config(path, *text, context);
    if (auto valid = validate(config); !valid) return valid.error().context(doing);
    return config;
  } catch (const Refusal& refusal) {
    return Error(ErrorCode::kInvalid, refusal.why).context(doing);
  } catch (const YAML::Exception& exception) {
    return Error(ErrorCode::kInvalid, exception.what()).context(doing);
  }
}

}  // namespace flexlocal::kube
