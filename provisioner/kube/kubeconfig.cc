#include <yaml-cpp/yaml.h>

#include <array>
#include <filesystem>

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
  for (const char* const key :
       {"username", "password", "as", "as-uid", "as-groups", "as-user-extra", "auth-provider"})
    if (user[key]) throw Refusal{concat("its user has \"", key, "\", which is not supported")};
}

// tokenFile is preferred, for it can be renewed. Source: k8s.io/client-go/tools/clientcmd/api
FileOrData token_of(const YAML::Node& user, const std::string& kubeconfig) {
  const std::string file = scalar(user, "tokenFile");
  if (!file.empty()) return {.file = beside(kubeconfig, file), .data = {}};
  return {.file = {}, .data = scalar(user, "token")};
}

constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

// Never part of a program's arguments or variables, which end at it.
std::string without_nul(std::string text) {
  if (text.find('\0') != std::string::npos) throw Refusal{"exec: a text has a zero byte in it"};
  return text;
}

std::string exec_command(const YAML::Node& exec, const std::string& kubeconfig) {
  std::string command = without_nul(scalar(exec, "command"));
  if (command.empty()) throw Refusal{"exec: command is missing"};
  if (command.find('/') == std::string::npos) return command;
  // The program starts in another folder than ours.
  std::error_code error;
  const auto path = std::filesystem::absolute(beside(kubeconfig, command), error);
  if (error) throw Refusal{concat("exec: where ", printable(command), " is: ", error.message())};
  return path.string();
}

std::vector<std::string> exec_arguments(const YAML::Node& exec) {
  std::vector<std::string> arguments;
  const YAML::Node list = exec["args"];
  if (!list || list.IsNull()) return arguments;
  if (!list.IsSequence()) throw Refusal{"exec: args is not a list"};
  for (const YAML::Node& argument : list) {
    if (!argument.IsScalar()) throw Refusal{"exec: one of args is not a text"};
    arguments.push_back(without_nul(argument.Scalar()));
  }
  return arguments;
}

std::map<std::string, std::string> exec_environment(const YAML::Node& exec) {
  std::map<std::string, std::string> environment;
  const YAML::Node list = exec["env"];
  if (!list || list.IsNull()) return environment;
  if (!list.IsSequence()) throw Refusal{"exec: env is not a list"};
  for (const YAML::Node& variable : list) {
    if (!variable.IsMap()) throw Refusal{"exec: one of env is not a map"};
    const std::string name = without_nul(scalar(variable, "name"));
    if (name.empty() || name.find('=') != std::string::npos)
      throw Refusal{concat("exec: \"", printable(name), "\" cannot be a variable's name")};
    environment[name] = without_nul(scalar(variable, "value"));
  }
  return environment;
}

bool boolean(const YAML::Node& node, const char* key) {
  const std::string text = scalar(node, key);
  if (!text.empty() && text != "true" && text != "false")
    throw Refusal{concat(key, ": accepted are true, false")};
  return text == "true";
}

void refuse_terminal(const YAML::Node& exec) {
  const std::string mode = scalar(exec, "interactiveMode");
  if (mode == "Always")
    throw Refusal{"exec: interactiveMode is Always, but a daemon has no terminal to ask at"};
  if (!mode.empty() && mode != "Never" && mode != "IfAvailable")
    throw Refusal{concat("exec: interactiveMode \"", printable(mode),
                         "\" is not known; accepted: Never, IfAvailable")};
}

// What the cluster's extension holds would have to reach the program as JSON of the same types.
void refuse_extension(const YAML::Node& cluster) {
  const YAML::Node list = cluster["extensions"];
  if (!list || !list.IsSequence()) return;
  for (const YAML::Node& extension : list)
    if (extension.IsMap() && scalar(extension, "name") == kExecExtension)
      throw Refusal{concat("exec: the cluster's extension ", kExecExtension, " is not supported")};
}

std::optional<ExecProgram> exec_of(const YAML::Node& user, const YAML::Node& cluster,
                                   const std::string& kubeconfig) {
  const YAML::Node exec = user["exec"];
  if (!exec || exec.IsNull()) return std::nullopt;
  if (!exec.IsMap()) throw Refusal{"exec is not a map"};
  ExecProgram program;
  program.api_version = scalar(exec, "apiVersion");
  constexpr std::array<std::string_view, 2> kVersions = {"client.authentication.k8s.io/v1",
                                                         "client.authentication.k8s.io/v1beta1"};
  if (program.api_version != kVersions[0] && program.api_version != kVersions[1])
    throw Refusal{concat("exec: apiVersion \"", printable(program.api_version),
                         "\" is not known; accepted: ", kVersions[0], ", ", kVersions[1])};
  refuse_terminal(exec);
  program.command = exec_command(exec, kubeconfig);
  program.arguments = exec_arguments(exec);
  program.environment = exec_environment(exec);
  program.install_hint = scalar(exec, "installHint");
  program.wants_cluster = boolean(exec, "provideClusterInfo");
  if (program.wants_cluster) refuse_extension(cluster);
  return program;
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
  config.exec = exec_of(user, cluster, path);
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
