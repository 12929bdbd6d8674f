// Carries out the plan for a PersistentVolume: what is desired of its copy, and its own end.
#pragma once

#include <string>

#include "provisioner/controller/cluster_parts.h"
#include "provisioner/controller/copy_index.h"
#include "provisioner/controller/order_desk.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {

class VolumeEndWorker {
 public:
  VolumeEndWorker(ClusterParts& parts, OrderDesk& desk, const CopyIndex& index)
      : parts_(parts), desk_(desk), index_(index) {}

  // One pass over the PersistentVolume of that name.
  Task<Status> work(const std::string& name);
  // A pass would find it as it is to stay, until it or its copy changes.
  bool rests(const Volume& volume) const;
  // Of a PersistentVolume whose node is gone: only that its copy is kept, where it is to be.
  Task<Status> keep(const std::string& name);

 private:
  EndPlan plan(const Volume& volume) const;
  KnownCopy copy_of(const Volume& volume) const;
  Task<Status> carry_out(const Volume& volume, const EndPlan& plan);
  Task<Status> order(const Volume& volume, DesiredState desired);
  Task<Status> remove_object(const Volume& volume);
  Task<Status> let_go(const Volume& volume);
  void tell_of_loss(const Volume& volume);
  void tell_of_trouble(const Volume& volume);
  void tell(const Volume& volume, kube::EventType type, std::string_view reason,
            const std::string& message);
  void count_removed(const Volume& volume);
  void say(const Volume& volume, kube::EventType type, std::string_view reason,
           const std::string& message);

  ClusterParts& parts_;
  OrderDesk& desk_;
  const CopyIndex& index_;
  NewsFilter news_;  // by PersistentVolume
};

}  // namespace flexlocal::provisioner
