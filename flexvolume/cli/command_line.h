// The words that people type: which there are, what they take, and what --help says of each. What
// kubelet calls is none of them and is answered in callout.h.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace flexlocal::cli {

// Whether the arguments start with a word for people. Cheap: kubelet's calls pass here as well.
bool is_cli_call(const std::vector<std::string>& arguments);

// Returns the exit status: 0, 1 for trouble, 2 for wrong usage (with the usage on `err`).
int run_cli(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

// Every word that is_cli_call() knows, without those that start with a hyphen.
std::vector<std::string_view> cli_words();

}  // namespace flexlocal::cli
