#include "provisioner/controller/publish/driver_registrar.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

Task<Status> DriverRegistrar::reconcile(kube::Informer<RegisteredDriver>& known) {
  if (const RegisteredDriver* const present = known.get(std::string(engine::kProvisioner))) {
    check_driver(*present);
    co_return Status();
  }
  const Status made = co_await make_driver(known);
  co_return made;
}

Task<Status> DriverRegistrar::make_driver(kube::Informer<RegisteredDriver>& known) {
  const std::string path = drivers_path();
  const std::string body = driver_json();
  const auto made = co_await api_.create(path, body);
  // Somebody was faster: theirs is looked at the next time.
  if (!made && made.error().code() == ErrorCode::kExists) co_return Status();
  if (!made) co_return made.error();
  log_.info("CSIDriver made: the scheduler asks for room", {{"name", engine::kProvisioner}});
  known.put(made->root());
  check_driver(decode_driver(made->root()));
  co_return Status();
}

// Never overwritten: somebody may have meant it so.
void DriverRegistrar::check_driver(const RegisteredDriver& driver) {
  const std::string& differs = driver.differs;
  if (!differs.empty() && differs != reported_) {
    const std::string text =
        concat("this CSIDriver is not as flexlocal needs it: ", differs,
               "; delete it, and it is made anew, or change it, or run the cluster daemon with "
               "--register=false");
    log_.warning(text, {{"name", engine::kProvisioner}});
    events_.record({driver.reference, kube::EventType::kWarning, "DriverDiffers", text});
  }
  reported_ = differs;
}

}  // namespace flexlocal::provisioner
