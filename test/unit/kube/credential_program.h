// A credential program that a test writes: a shell script beside which its behaviour lies.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/config.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::kube::test {

constexpr const char* kExecVersion = "client.authentication.k8s.io/v1";

// `status`: the members of the answer's status.
inline std::string exec_credential(std::string_view status) {
  return concat(R"({"kind":"ExecCredential","apiVersion":")", kExecVersion, R"(","status":{)",
                status, "}}");
}

class CredentialProgram {
 public:
  CredentialProgram() { run_script("cat \"$0.answer\""); }

  void run_script(std::string_view script) {
    write(path_, concat("#!/bin/sh\necho run >>\"$0.runs\"\n", script, "\n"), 0700);
  }
  void answer(std::string_view text) { write(path_ + ".answer", text, 0600); }
  void give_token(std::string_view token, std::string_view more = "") {
    answer(exec_credential(concat(R"("token":")", token, '"', more)));
  }
  std::size_t runs() const {
    const auto lines = read_file(path_ + ".runs");
    return lines ? static_cast<std::size_t>(std::count(lines->begin(), lines->end(), '\n')) : 0;
  }
  ExecProgram program() const {
    ExecProgram program;
    program.command = path_;
    program.api_version = kExecVersion;
    return program;
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  static void write(const std::string& path, std::string_view text, unsigned mode) {
    REQUIRE(write_file_atomically(path, text, mode).ok());
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path("credential-program");
};

}  // namespace flexlocal::kube::test
