// A kubeconfig's credential program: what it is told, how it is run, what it answers.
// Source: k8s.io/client-go/pkg/apis/clientauthentication
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/program.h"
#include "provisioner/kube/config.h"

namespace flexlocal::kube {

// Where a command without a slash is looked for, in this order.
inline constexpr std::array<std::string_view, 6> kExecFolders = {
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"};

struct IssuedCredential {
  std::string token;        // empty: none
  std::string certificate;  // PEM; empty: none
  std::string key;          // PEM
  std::optional<Clock::Wall> expires;
};

// The longest answer, and what of its complaints is read.
inline constexpr ProcessLimits kExecLimits{kMiB, Bytes(4 * kKiB.count())};

// One run of `config.exec`, which must be there. Waits for its end, so never call it on the event
// loop. The program has our own environment and what the kubeconfig adds, no standard input and no
// terminal; it is killed at `deadline`, or once `stop` can be read (see Command::stop). An Error
// is one line for a person, with the first line of the program's stderr and nothing of its stdout.
Result<IssuedCredential> run_exec_program(CommandRunner& runner, const ClusterConfig& config,
                                          std::chrono::milliseconds deadline, int stop);

// An ExecCredential of this version with a token, a certificate with its key, or both; kCorrupt on
// anything else.
Result<IssuedCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

}  // namespace flexlocal::kube
