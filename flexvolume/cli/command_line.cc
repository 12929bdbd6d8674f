#include "flexvolume/cli/command_line.h"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <ostream>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "flexvolume/cli/commands.h"
#include "flexvolume/cli/installation.h"
#include "flexvolume/cli/survey.h"

namespace flexlocal::cli {
namespace {

namespace options = boost::program_options;

struct Call {
  std::string operand;
  std::string plugin_dir;
  Form form = Form::kText;
};

int report(const Status& done, const Terminal& terminal) {
  if (done) return kFine;
  terminal.err << "flexlocal: " << done.error().message() << '\n';
  return kTrouble;
}

int refuse(std::string_view why, const Terminal& terminal) {
  terminal.err << "flexlocal: " << why << '\n';
  return kWrongUsage;
}

int refuse_folder(const std::string& folder, const Terminal& terminal) {
  return refuse(concat('"', printable(folder), "\" is no absolute path of a volume plugin folder"),
                terminal);
}

int install_program(const Call& call, const Terminal& terminal) {
  if (!call.operand.starts_with('/')) return refuse_folder(call.operand, terminal);
  return report(install("/proc/self/exe", call.operand), terminal);
}

int uninstall_program(const Call& call, const Terminal& terminal) {
  if (!call.operand.starts_with('/')) return refuse_folder(call.operand, terminal);
  return uninstall_all(call.operand, terminal);
}

int run_doctor(const Call& call, const Terminal& terminal) {
  return doctor(call.plugin_dir, call.form, terminal);
}
int run_list(const Call& call, const Terminal& terminal) { return list(call.form, terminal); }
int run_status(const Call& call, const Terminal& terminal) {
  return status(call.operand, call.form, terminal);
}

struct Command {
  std::string_view word;
  std::string_view operand;  // what --help calls it; empty: it takes none
  std::string_view purpose;
  bool has_output;      // takes --output
  bool has_plugin_dir;  // takes --plugin-dir
  int (*run)(const Call& call, const Terminal& terminal);
};

constexpr std::array<Command, 5> kCommands = {
    {{"install", "FOLDER", "put this program into kubelet's volume plugin folder, or update it",
      false, false, install_program},
     {"uninstall", "FOLDER", "take it and all its files away; refuses while there are volumes",
      false, false, uninstall_program},
     {"doctor", "", "check everything that a mount needs, and say what to do", true, true,
      run_doctor},
     {"list", "", "list the volumes of this node", true, false, run_list},
     {"status", "VOLUME", "show all of one volume, by its name or its claim's uid", true, false,
      run_status}}};

const Command* find_command(std::string_view word) {
  const auto found = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const Command& command) { return command.word == word; });
  return found == kCommands.end() ? nullptr : &*found;
}

std::string synopsis(const Command& command) {
  return concat("flexlocal ", command.word, command.has_plugin_dir ? " [--plugin-dir FOLDER]" : "",
                command.has_output ? " [--output text|json]" : "",
                command.operand.empty() ? "" : " ", command.operand);
}

void print_usage(std::ostream& out) {
  out << "flexlocal: FlexVolume driver for hard-limited local volumes\n\n"
         "kubelet calls it:  flexlocal init | mount <folder> <json> | unmount <folder> | ...\n"
         "and people may:\n";
  for (const Command& command : kCommands)
    out << "  " << synopsis(command) << "\n      " << command.purpose << '\n';
  out << "  flexlocal --version | --help | COMMAND --help\n\n"
         "FOLDER is kubelet's --volume-plugin-dir, most often\n"
      << kDefaultPluginDir
      << ".\nThe node is configured in /etc/flexlocal/node.conf; what is done is in syslog.\n"
         "man flexlocal says more.\n";
}

options::options_description options_of(const Command& command) {
  options::options_description known("Options");
  auto add = known.add_options();
  add("help", "say this");
  if (command.has_output)
    add("output", options::value<std::string>()->default_value("text"), "text or json");
  if (command.has_plugin_dir)
    add("plugin-dir", options::value<std::string>()->default_value(std::string(kDefaultPluginDir)),
        "kubelet's --volume-plugin-dir");
  return known;
}

Result<Form> parse_form(const std::string& text) {
  if (text == "text") return Form::kText;
  if (text == "json") return Form::kJson;
  return Error(ErrorCode::kInvalid,
               concat("output \"", printable(text, 40), "\" is not known; accepted: text, json"));
}

// Boost throws for what it cannot parse.
options::variables_map parse_words(const std::vector<std::string>& words,
                                   const options::options_description& known) {
  options::options_description all;
  all.add(known).add_options()("operand", options::value<std::vector<std::string>>());
  options::positional_options_description positional;
  positional.add("operand", -1);
  // No guessing: an abbreviation that works today could mean two things tomorrow.
  const int style =
      options::command_line_style::default_style & ~options::command_line_style::allow_guessing;
  options::variables_map values;
  options::store(
      options::command_line_parser(words).options(all).positional(positional).style(style).run(),
      values);
  return values;
}

Result<Call> to_call(const Command& command, const options::variables_map& values) {
  Call call;
  if (values.contains("output")) {
    const auto form = parse_form(values["output"].as<std::string>());
    if (!form) return form.error();
    call.form = *form;
  }
  if (values.contains("plugin-dir")) call.plugin_dir = values["plugin-dir"].as<std::string>();
  const auto operands = values.contains("operand")
                            ? values["operand"].as<std::vector<std::string>>()
                            : std::vector<std::string>();
  if (operands.size() != (command.operand.empty() ? 0U : 1U))
    return Error(ErrorCode::kInvalid, concat("usage: ", synopsis(command)));
  if (!operands.empty()) call.operand = operands.front();
  return call;
}

int run(const Command& command, const std::vector<std::string>& words, const Terminal& terminal) {
  const auto known = options_of(command);
  try {
    const auto values = parse_words(words, known);
    if (values.contains("help")) {
      terminal.out << "usage: " << synopsis(command) << "\n\n"
                   << command.purpose << "\n\n"
                   << known;
      return kFine;
    }
    const auto call = to_call(command, values);
    if (!call) return refuse(call.error().message(), terminal);
    return command.run(*call, terminal);
  } catch (const options::error& error) {
    return refuse(concat(printable(error.what()), "; usage: ", synopsis(command)), terminal);
  }
}

}  // namespace

bool is_cli_call(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return false;
  const std::string& word = arguments[0];
  return word == "--help" || word == "--version" || find_command(word) != nullptr;
}

int run_cli(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  if (arguments[0] == "--help") {
    print_usage(out);
    return kFine;
  }
  if (arguments[0] == "--version") {
    out << "flexlocal " << version() << '\n';
    return kFine;
  }
  return run(*find_command(arguments[0]), {arguments.begin() + 1, arguments.end()}, {out, err});
}

std::vector<std::string_view> cli_words() {
  std::vector<std::string_view> words;
  words.reserve(std::size(kCommands));
  for (const Command& command : kCommands) words.push_back(command.word);
  return words;
}

}  // namespace flexlocal::cli
