#include "flexvolume/base/log.h"

#include <syslog.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "flexvolume/base/text.h"
#include "flexvolume/base/wall_time.h"

namespace flexlocal {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};

void append_value(std::string& out, std::string_view value) {
  if (!value.empty() && value.find_first_of(" =\"\\\t\r\n") == std::string_view::npos) {
    out += printable(value, value.size());
    return;
  }
  std::string escaped;
  for (const char c : value) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  out += concat('"', printable(escaped, escaped.size()), '"');
}

int syslog_priority(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return LOG_DEBUG;
    case LogLevel::kInfo:
      return LOG_INFO;
    case LogLevel::kWarning:
      return LOG_WARNING;
    case LogLevel::kError:
      return LOG_ERR;
  }
  return LOG_ERR;
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

bool parse_log_level(std::string_view text, LogLevel& out) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (text != kLevels[i]) continue;
    out = static_cast<LogLevel>(i);
    return true;
  }
  return false;
}

std::string format_log_line(LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields) {
  std::string line = concat("level=", to_string(level), " msg=");
  append_value(line, message);
  for (const LogField& field : fields) {
    line += concat(' ', field.key, '=');
    append_value(line, field.value);
  }
  return line;
}

void StderrLog::write(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  if (level < least_) return;
  const std::string line = concat("time=", format_wall_time(std::chrono::system_clock::now()), ' ',
                                  format_log_line(level, message, fields), '\n');
  // One write a line, so that lines of several threads do not mix. A log that cannot be written
  // has nowhere to say so.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

SyslogLog::SyslogLog() { ::openlog("flexlocal", LOG_PID, LOG_DAEMON); }

SyslogLog::~SyslogLog() { ::closelog(); }

void SyslogLog::write(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  if (level < least_) return;
  ::syslog(syslog_priority(level), "%s", format_log_line(level, message, fields).c_str());
}

}  // namespace flexlocal
