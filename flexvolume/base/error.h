// The error that every fallible call of this project returns: a code to branch on
// and a text for a person. Base is the bottom tier: its names live in `flexlocal` itself.
#pragma once

#include <string>
#include <string_view>

namespace flexlocal {

// A closed set. Callers branch on these and never on text.
enum class ErrorCode {
  kInvalid,      // the input is wrong and will be wrong again
  kNotFound,     // what was named does not exist
  kExists,       // what was to be made is there already
  kConflict,     // someone else changed it first: read again, plan again
  kGone,         // the version asked for is no longer kept (HTTP 410)
  kDenied,       // not proven ours, or not allowed
  kNoSpace,      // it does not fit
  kBusy,         // in use now
  kUnavailable,  // cannot be reached now; trying again may help
  kDeadline,     // did not end in time
  kCorrupt,      // what was read makes no sense; a person must look
  kOutdated,     // what was read is older than what is known; a person must bring the newer back
  kCancelled,    // given up because the caller is stopping
  kFailed,       // anything else: the text says what
};

// A stable word for logs and tests: "no-space".
std::string_view to_string(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  // From an errno value: "<doing>: No such file or directory", with the code that fits.
  static Error from_errno(int number, std::string_view doing);

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Each layer puts what it was doing in front: "mounting x: opening y: Permission denied".
  Error context(std::string_view doing) const;

 private:
  ErrorCode code_;
  std::string message_;
};

}  // namespace flexlocal
