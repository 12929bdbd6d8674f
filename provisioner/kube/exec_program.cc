#include "provisioner/kube/exec_program.h"

#include <unistd.h>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"
#include "provisioner/kube/credential_text.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::kube {
namespace {

constexpr const char* kInfoVariable = "KUBERNETES_EXEC_INFO";

Result<std::string> find_program(const ExecProgram& program) {
  if (program.command.find('/') != std::string::npos) return program.command;
  std::vector<std::string> folders;
  for (const std::string_view folder : kExecFolders) {
    std::string path = concat(folder, '/', program.command);
    if (::access(path.c_str(), X_OK) == 0) return path;
    folders.emplace_back(folder);
  }
  return Error(ErrorCode::kNotFound, concat("it is in none of ", join(folders, ", ")));
}

// KUBERNETES_EXEC_INFO: an ExecCredential without its answer.
Result<std::string> exec_info(const ClusterConfig& config) {
  JsonWriter json;
  json.begin_object().member("kind", "ExecCredential");
  json.member("apiVersion", config.exec->api_version);
  json.key("spec").begin_object().key("interactive").boolean(false);
  if (config.exec->wants_cluster) {
    json.key("cluster").begin_object().member("server", config.server);
    if (!config.tls_server_name.empty()) json.member("tls-server-name", config.tls_server_name);
    auto ca = content_of(config.ca, "reading the CA");
    if (!ca) return ca.error();
    if (!ca->empty()) json.member("certificate-authority-data", encode_base64(*ca));
    json.end_object();
  }
  json.end_object().end_object();
  return json.take();
}

// Later ones win: our own, the kubeconfig's, and the one that the protocol demands.
std::vector<std::string> environment_of(const ExecProgram& program, const std::string& info) {
  std::map<std::string, std::string> variables;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : program.environment) variables[name] = value;
  variables[kInfoVariable] = info;
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(concat(name, '=', value));
  return environment;
}

std::string first_line(std::string_view text) {
  const std::string_view trimmed = trim(text);
  return printable(trimmed.substr(0, trimmed.find('\n')));
}

Error corrupt(std::string_view why) {
  return Error(ErrorCode::kCorrupt, concat("what it printed ", why));
}

Result<CommandOutput> run(CommandRunner& runner, const ClusterConfig& config,
                          std::chrono::milliseconds deadline, int stop) {
  auto path = find_program(*config.exec);
  if (!path) return path.error();
  auto info = exec_info(config);
  if (!info) return info.error();
  Command command;
  command.path = std::move(*path);
  command.arguments = config.exec->arguments;
  command.deadline = deadline;
  command.environment = environment_of(*config.exec, *info);
  command.stop = stop;
  return runner.run(command);
}

Result<IssuedCredential> ask(CommandRunner& runner, const ClusterConfig& config,
                             std::chrono::milliseconds deadline, int stop) {
  const auto output = run(runner, config, deadline, stop);
  if (!output) return output.error();
  if (output->exit_code != 0) {
    const std::string said = first_line(output->err);
    return Error(ErrorCode::kFailed, concat("it ended with exit code ", output->exit_code,
                                            said.empty() ? ", and said nothing" : ": ", said));
  }
  return parse_exec_credential(output->out, config.exec->api_version);
}

}  // namespace

Result<IssuedCredential> run_exec_program(CommandRunner& runner, const ClusterConfig& config,
                                          std::chrono::milliseconds deadline, int stop) {
  auto issued = ask(runner, config, deadline, stop);
  if (issued) return issued;
  const ExecProgram& program = *config.exec;
  const Error error =
      issued.error().context(concat("credential program ", printable(program.command)));
  if (error.code() != ErrorCode::kNotFound || program.install_hint.empty()) return error;
  return Error(error.code(), concat(error.message(), "; hint: ", first_line(program.install_hint)));
}

Result<IssuedCredential> parse_exec_credential(std::string_view text,
                                               std::string_view api_version) {
  const auto parsed = JsonDocument::parse(text, {.bytes = kMiB.count(), .depth = 16});
  if (!parsed) return corrupt(concat("is no JSON: ", parsed.error().message()));
  const JsonView root = parsed->root();
  if (root["kind"].text() != "ExecCredential") return corrupt("is no ExecCredential");
  if (root["apiVersion"].text() != api_version)
    return corrupt(concat("has apiVersion \"", printable(root["apiVersion"].text()),
                          "\", where the kubeconfig says ", api_version));
  const JsonView status = root["status"];
  IssuedCredential issued{std::string(trim(status["token"].text())),
                          std::string(status["clientCertificateData"].text()),
                          std::string(status["clientKeyData"].text()),
                          {}};
  if (issued.token.empty() && issued.certificate.empty())
    return corrupt("has neither a token nor a client certificate");
  if (issued.certificate.empty() != issued.key.empty())
    return corrupt("has a client certificate without its key, or a key without one");
  if (!fits_header(issued.token)) return corrupt("has a token with characters that no token has");
  if (const JsonView expires = status["expirationTimestamp"]; !expires.text().empty()) {
    issued.expires = parse_zoned_time(expires.text());
    if (!issued.expires)
      return corrupt(concat("has an expirationTimestamp \"", printable(expires.text(), 40),
                            "\" that is no time"));
  }
  return issued;
}

}  // namespace flexlocal::kube
