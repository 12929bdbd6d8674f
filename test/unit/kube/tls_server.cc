#include "test/unit/kube/tls_server.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "flexvolume/base/program.h"
#include "flexvolume/base/text.h"

namespace flexlocal::kube::test {
namespace {

constexpr const char* kOpenssl = "/usr/bin/openssl";

// Up to the line "ACCEPT 127.0.0.1:<port>", which a busy machine takes a while for.
std::string read_port(int fd) {
  std::string said;
  pollfd polled{fd, POLLIN, 0};
  while (::poll(&polled, 1, 30000) > 0) {
    char block[256];
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got <= 0) break;
    said.append(block, static_cast<std::size_t>(got));
    const std::size_t line = said.find("ACCEPT 127.0.0.1:");
    if (line == std::string::npos || said.find('\n', line) == std::string::npos) continue;
    return std::string(trim(std::string_view(said).substr(said.find(':', line) + 1)));
  }
  FAIL("openssl s_server did not start: " << said);
  return {};
}

}  // namespace

Identity make_identity(const TemporaryFolder& folder, const std::string& name,
                       const std::string& names) {
  Identity made{folder.path(name + ".crt"), folder.path(name + ".key")};
  ProcessRunner runner;
  const auto done = runner.run(
      {.path = kOpenssl,
       .arguments = {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-keyout", made.key_file, "-out", made.certificate_file, "-subj",
                     "/CN=" + name, "-days", "2", "-addext", "subjectAltName=" + names},
       .keep = {}});
  REQUIRE_MESSAGE(done.ok(), "this test needs the openssl program");
  REQUIRE_MESSAGE(done->exit_code == 0, done->err);
  return made;
}

TlsServer::TlsServer(const Identity& identity, const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {kOpenssl,
                                        "s_server",
                                        "-www",
                                        "-accept",
                                        "127.0.0.1:0",
                                        "-cert",
                                        identity.certificate_file,
                                        "-key",
                                        identity.key_file};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd writing(ends[1]);
  output_ = UniqueFd(ends[0]);
  const UniqueFd null = std::move(*open_file("/dev/null", O_RDWR));
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(writing.get(), STDOUT_FILENO);
    ::dup2(null.get(), STDERR_FILENO);
    ::execv(kOpenssl, argv.data());
    ::_exit(127);
  }
  port_ = read_port(output_.get());
}

TlsServer::~TlsServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string TlsServer::url() const { return "https://127.0.0.1:" + port_; }

}  // namespace flexlocal::kube::test
