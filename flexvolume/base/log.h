// One line per event: level= msg= key=value. A stable message, and the figures beside it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace flexlocal {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

std::string_view to_string(LogLevel level);
bool parse_log_level(std::string_view text, LogLevel& out);

struct LogField {
  std::string_view key;
  std::string_view value;
};

// Where lines go. Injected by reference; errors are logged once, where they are handled.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) = 0;

  void debug(std::string_view m, std::initializer_list<LogField> f = {}) {
    write(LogLevel::kDebug, m, f);
  }
  void info(std::string_view m, std::initializer_list<LogField> f = {}) {
    write(LogLevel::kInfo, m, f);
  }
  void warning(std::string_view m, std::initializer_list<LogField> f = {}) {
    write(LogLevel::kWarning, m, f);
  }
  void error(std::string_view m, std::initializer_list<LogField> f = {}) {
    write(LogLevel::kError, m, f);
  }
};

// `level=info msg="volume made" volume=pvc-1`: values are quoted when they need it, and no value
// can start a line of its own.
std::string format_log_line(LogLevel level, std::string_view message,
                            std::initializer_list<LogField> fields);

// To standard error, with a time in front (RFC 3339, UTC): for the daemon.
class StderrLog final : public Log {
 public:
  explicit StderrLog(LogLevel least) : least_(least) {}
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override;

 private:
  LogLevel least_;
};

// To syslog(3): for the plugin, whose standard error belongs to kubelet.
class SyslogLog final : public Log {
 public:
  SyslogLog();
  ~SyslogLog() override;
  void set_least(LogLevel least) { least_ = least; }
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override;

 private:
  LogLevel least_ = LogLevel::kInfo;
};

}  // namespace flexlocal
