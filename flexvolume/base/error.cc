#include "flexvolume/base/error.h"

#include <cerrno>
#include <cstring>

#include "flexvolume/base/text.h"

namespace flexlocal {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kExists:
      return "exists";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kGone:
      return "gone";
    case ErrorCode::kDenied:
      return "denied";
    case ErrorCode::kNoSpace:
      return "no-space";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kDeadline:
      return "deadline";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kOutdated:
      return "outdated";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kFailed:
      return "failed";
  }
  return "failed";
}

namespace {

ErrorCode code_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return ErrorCode::kNotFound;
    case EEXIST:
      return ErrorCode::kExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kDenied;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case EBUSY:
    case ETXTBSY:
      return ErrorCode::kBusy;
    case EAGAIN:
    case EINTR:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kUnavailable;
    case ETIMEDOUT:
      return ErrorCode::kDeadline;
    case EINVAL:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return ErrorCode::kInvalid;
    case EUCLEAN:  // what a file system says of itself when it is damaged
    case EBADMSG:  // and what XFS says of a block whose checksum is wrong
      return ErrorCode::kCorrupt;
    default:
      return ErrorCode::kFailed;
  }
}

}  // namespace

Error Error::from_errno(int number, std::string_view doing) {
  return Error(code_of_errno(number), concat(doing, ": ", std::strerror(number)));
}

Error Error::context(std::string_view doing) const {
  return Error(code_, concat(doing, ": ", message_));
}

}  // namespace flexlocal
