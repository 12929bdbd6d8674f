#include "flexvolume/base/json_log.h"

#include <unistd.h>

#include <cstdio>

#include "flexvolume/base/text.h"
#include "flexvolume/base/wall_time.h"

namespace flexlocal {
namespace {

// As RFC 8259 has it. What is no UTF-8 becomes '?', as do the control characters that JSON allows.
void append_string(std::string& out, std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      escaped += c;
    } else if (c == '\n') {
      escaped += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      escaped += code;
    } else {
      escaped += c;
    }
  }
  out += concat('"', printable(escaped, escaped.size()), '"');
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
  out += out.empty() ? '{' : ',';
  append_string(out, key);
  out += ':';
  append_string(out, value);
}

}  // namespace

bool parse_log_format(std::string_view text, LogFormat& out) {
  if (text != "text" && text != "json") return false;
  out = text == "json" ? LogFormat::kJson : LogFormat::kText;
  return true;
}

std::string format_json_line(std::string_view time, LogLevel level, std::string_view message,
                             std::initializer_list<LogField> fields) {
  std::string line;
  append_member(line, "time", time);
  append_member(line, "level", to_string(level));
  append_member(line, "message", message);
  for (const LogField& field : fields) append_member(line, field.key, field.value);
  return line + '}';
}

void JsonStderrLog::write(LogLevel level, std::string_view message,
                          std::initializer_list<LogField> fields) {
  if (level < least_) return;
  const std::string now = format_wall_time(std::chrono::system_clock::now());
  const std::string line = format_json_line(now, level, message, fields) + '\n';
  // One write a line, as StderrLog does it.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::unique_ptr<Log> make_stderr_log(LogFormat format, LogLevel least) {
  if (format == LogFormat::kJson) return std::make_unique<JsonStderrLog>(least);
  return std::make_unique<StderrLog>(least);
}

}  // namespace flexlocal
