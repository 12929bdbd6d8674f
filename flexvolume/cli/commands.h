// What a person may ask for on a node, carried out on the real host. No volume is made,
// mounted or removed.
#pragma once

#include <iosfwd>
#include <string>

namespace flexlocal::cli {

// Exit statuses (sysexits has none for "looked, and something is wrong").
inline constexpr int kFine = 0;
inline constexpr int kTrouble = 1;
inline constexpr int kWrongUsage = 2;

enum class Form { kText, kJson };

struct Terminal {
  std::ostream& out;
  std::ostream& err;
};

// kTrouble when a finding is an error.
int doctor(const std::string& plugin_dir, Form form, const Terminal& terminal);

// kTrouble when not everything could be looked at; what could be is listed all the same.
int list(Form form, const Terminal& terminal);

// `volume`: a volume's name or its claim's uid. kTrouble when there is no such volume here or a
// finding is an error.
int status(const std::string& volume, Form form, const Terminal& terminal);

// See uninstall() in installation.h. kTrouble when it refuses, or cannot tell whether there are
// volumes.
int uninstall_all(const std::string& plugin_folder, const Terminal& terminal);

}  // namespace flexlocal::cli
