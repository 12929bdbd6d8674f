// The objects of copies whose Node is gone for good: nobody is left who could answer for them.
#pragma once

#include "provisioner/controller/ends/orphan.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/node_absence.h"

namespace flexlocal::provisioner {

class NodelessCopies {
 public:
  // `options`: of which the policy counts; they outlive it.
  NodelessCopies(const ClusterView& view, NodeAbsence& absence, OrderDesk& desk,
                 const OrphanOptions& options, Log& log)
      : view_(view), absence_(absence), desk_(desk), options_(options), log_(log) {}

  // Lets the object go where the policy says so and its Node is gone by the API server's own word;
  // does nothing for any other. The disks are as they are: should they come back, their node tells
  // of the copy.
  Task<Status> release(const VolumeCopy& copy);

 private:
  const ClusterView& view_;
  NodeAbsence& absence_;
  OrderDesk& desk_;
  const OrphanOptions& options_;
  Log& log_;
};

}  // namespace flexlocal::provisioner
