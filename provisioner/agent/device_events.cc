#include "provisioner/agent/device_events.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mapper_control.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kMetadataBackups = "/etc/lvm/backup";

}  // namespace

Status KernelDeviceEvents::open() {
  auto control = open_file(concat(root_, engine::kMapperControl), O_RDWR);
  if (!control) return control.error();
  const int fd = ::fcntl(control->get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Error::from_errno(errno, concat("opening ", engine::kMapperControl));
  boost::system::error_code failed;
  control_.assign(fd, failed);
  if (!failed) return {};
  UniqueFd(fd).reset();
  return Error::from_errno(failed.value(), concat("waiting for ", engine::kMapperControl));
}

Status KernelDeviceEvents::arm() {
  metadata_ = last_metadata();
  if (!control_.is_open())
    if (auto opened = open(); !opened) return opened;
  dm_ioctl call = engine::mapper_call();
  if (::ioctl(control_.native_handle(), DM_DEV_ARM_POLL, &call) == 0) return {};
  const int failure = errno;
  boost::system::error_code ignored;
  control_.close(ignored);
  return Error::from_errno(failure, concat("asking ", engine::kMapperControl, " for events"));
}

Task<Result<bool>> KernelDeviceEvents::wait(std::chrono::nanoseconds most) {
  if (co_await kube::is_cancelled()) co_return kube::cancelled_error();
  if (has_changed()) co_return true;
  const auto executor = co_await asio::this_coro::executor;
  const auto timer = std::make_shared<asio::steady_timer>(executor, most);
  watch(timer);
  boost::system::error_code ignored;  // a cancelled timer is the signal itself
  auto token = asio::redirect_error(asio::use_awaitable, ignored);
  co_await timer->async_wait(token);
  if (control_.is_open()) control_.cancel(ignored);
  if (co_await kube::is_cancelled()) co_return kube::cancelled_error();
  co_return has_changed() || last_metadata() != metadata_;
}

// What cannot be waited for leaves the time. The timer is shared with what the event loop calls,
// which may come after the task that waits has ended.
void KernelDeviceEvents::watch(const std::shared_ptr<asio::steady_timer>& timer) {
  if (!control_.is_open()) return;
  control_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [timer](const boost::system::error_code& failed) {
                        if (!failed) timer->cancel();
                      });
}

// Asked of the kernel, which says so until it is armed anew: the event loop may have heard of a
// change while nobody waited.
bool KernelDeviceEvents::has_changed() {
  if (!control_.is_open()) return false;
  pollfd control{control_.native_handle(), POLLIN, 0};
  return ::poll(&control, 1, 0) == 1 && (control.revents & POLLIN) != 0;
}

// When LVM put the last copy of its metadata into that folder; 0: there is none.
std::int64_t KernelDeviceEvents::last_metadata() const {
  struct stat status {};
  if (::stat(concat(root_, kMetadataBackups).c_str(), &status) != 0) return 0;
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace flexlocal::provisioner
