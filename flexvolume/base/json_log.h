// Log lines for programs: each is one JSON object.
#pragma once

#include <memory>

#include "flexvolume/base/log.h"

namespace flexlocal {

enum class LogFormat { kText, kJson };

bool parse_log_format(std::string_view text, LogFormat& out);

// {"time":"2024-05-01T10:00:00.250Z","level":"info","message":"volume made","volume":"pvc-1"}: one
// line, always valid UTF-8, whatever the values are. All values are strings.
std::string format_json_line(std::string_view time, LogLevel level, std::string_view message,
                             std::initializer_list<LogField> fields);

// To standard error.
class JsonStderrLog final : public Log {
 public:
  explicit JsonStderrLog(LogLevel least) : least_(least) {}
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override;

 private:
  LogLevel least_;
};

// The one that writes to standard error in that format.
std::unique_ptr<Log> make_stderr_log(LogFormat format, LogLevel least);

}  // namespace flexlocal
