// What this library counts, by the names that other controllers' dashboards know.
#pragma once

#include <string>
#include <vector>

#include "provisioner/kube/api.h"
#include "provisioner/kube/informer.h"
#include "provisioner/kube/metrics.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::kube {

// What is shown must outlive `metrics`, here and below.

// rest_client_*. Source: k8s.io/component-base/metrics/prometheus/restclient
void show_requests(Metrics& metrics, const std::vector<const ApiClient*>& apis);

struct NamedQueue {
  const WorkQueue* queue;
  std::string name;
};

// workqueue_*, with the label name. Source: k8s.io/component-base/metrics/prometheus/workqueue
void show_queues(Metrics& metrics, const std::vector<NamedQueue>& queues);

// An informer whatever its objects are.
struct InformerView {
  template <typename T>
  explicit InformerView(const Informer<T>& informer)
      : kind(informer.kind()),
        stats(&informer.stats()),
        objects([&informer] { return informer.size(); }) {}

  std::string kind;
  const ReflectorStats* stats;
  std::function<std::size_t()> objects;
};

// flexlocal_reflector_*, with the label kind.
void show_informers(Metrics& metrics, const std::vector<InformerView>& informers);

// All that a daemon does with this library: each metric is shown once, whichever parts it has.
struct ClientView {
  std::vector<NamedQueue> queues;
  std::vector<const ApiClient*> apis;
  std::vector<InformerView> informers;
};
void show_client(Metrics& metrics, const ClientView& client);

}  // namespace flexlocal::kube
