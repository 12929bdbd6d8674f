#include "provisioner/kube/client_metrics.h"

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::array kAllMethods = {Method::kGet, Method::kPost, Method::kPut, Method::kPatch,
                                    Method::kDelete};
constexpr std::array kAllPriorities = {Priority::kBackground, Priority::kNormal,
                                       Priority::kAwaited};

std::string code_text(int status) {
  if (status == RequestStats::kNoAnswer) return "<error>";  // client-go's word
  return status == RequestStats::kOtherStatus ? "other" : concat(status);
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::size_t index(Priority priority) { return static_cast<std::size_t>(priority); }

void show_queue_length(Metrics& metrics, const std::vector<NamedQueue>& queues) {
  metrics.collect<Gauge>(
      {"workqueue_depth", "Keys that are ready to be worked on.", {"name", "priority"}},
      [queues](Family<Gauge>& out) {
        for (const auto& [queue, name] : queues)
          for (const Priority priority : kAllPriorities)
            out.with({name, to_string(priority)}).set(static_cast<double>(queue->depth(priority)));
      });
  metrics.collect<Counter>(
      {"workqueue_adds_total", "Additions to the queue.", {"name", "priority"}},
      [queues](Family<Counter>& out) {
        for (const auto& [queue, name] : queues)
          for (const Priority priority : kAllPriorities)
            out.with({name, to_string(priority)}) += queue->stats().adds[index(priority)];
      });
  metrics.collect<Counter>({"workqueue_retries_total",
                            "Keys that were put off: after a failure, or with more to do.",
                            {"name"}},
                           [queues](Family<Counter>& out) {
                             for (const auto& [queue, name] : queues)
                               out.with({name}) += queue->stats().retries;
                           });
}

void show_queue_times(Metrics& metrics, const std::vector<NamedQueue>& queues) {
  metrics.collect<Histogram>(
      {"workqueue_queue_duration_seconds",
       "How long keys were ready before they were worked on.",
       {"name", "priority"}},
      [queues](Family<Histogram>& out) {
        for (const auto& [queue, name] : queues)
          for (const Priority priority : kAllPriorities)
            out.with({name, to_string(priority)}) += queue->stats().waited[index(priority)];
      });
  metrics.collect<Histogram>(
      {"workqueue_work_duration_seconds", "How long a key was worked on.", {"name"}},
      [queues](Family<Histogram>& out) {
        for (const auto& [queue, name] : queues) out.with({name}) += queue->stats().worked;
      });
  metrics.collect<Gauge>({"workqueue_unfinished_work_seconds",
                          "How long the keys that are worked on now have been so, added up.",
                          {"name"}},
                         [queues](Family<Gauge>& out) {
                           for (const auto& [queue, name] : queues)
                             out.with({name}).set(seconds(queue->unfinished().sum));
                         });
  metrics.collect<Gauge>({"workqueue_longest_running_processor_seconds",
                          "How long the oldest of the keys that are worked on now has been so.",
                          {"name"}},
                         [queues](Family<Gauge>& out) {
                           for (const auto& [queue, name] : queues)
                             out.with({name}).set(seconds(queue->unfinished().longest));
                         });
}

}  // namespace

void show_requests(Metrics& metrics, const std::vector<const ApiClient*>& apis) {
  metrics.collect<Counter>(
      {"rest_client_requests_total",
       "Requests to the API server, by method and by what came of them.",
       {"code", "method"}},
      [apis](Family<Counter>& out) {
        for (const ApiClient* const api : apis)
          for (const auto& count : api->stats().counts())
            out.with({code_text(count.status), to_string(count.method)}) += count.requests;
      });
  metrics.collect<Histogram>({"rest_client_request_duration_seconds",
                              "How long answers took, watches left out.",
                              {"verb"}},
                             [apis](Family<Histogram>& out) {
                               for (const ApiClient* const api : apis)
                                 for (const Method method : kAllMethods)
                                   out.with({to_string(method)}) += api->stats().times(method);
                             });
  metrics.collect<Gauge>({"flexlocal_api_requests_per_second_limit",
                          "Most requests a second that are sent; 0: as many as there are, and the "
                          "API server says who is served.",
                          {}},
                         [apis](Family<Gauge>& out) {
                           double most = 0;
                           for (const ApiClient* const api : apis)
                             most = std::max(most, api->limit().per_second);
                           out.with({}).set(most);
                         });
}

void show_queues(Metrics& metrics, const std::vector<NamedQueue>& queues) {
  show_queue_length(metrics, queues);
  show_queue_times(metrics, queues);
}

void show_informers(Metrics& metrics, const std::vector<InformerView>& informers) {
  struct Shown {
    const char* name;
    const char* help;
    Counter ReflectorStats::*counter;
  };
  for (const Shown& shown :
       {Shown{"flexlocal_reflector_lists_total", "Lists that were begun.", &ReflectorStats::lists},
        Shown{"flexlocal_reflector_streamed_lists_total",
              "Lists, of these, that were asked for as a stream (WatchList).",
              &ReflectorStats::streamed_lists},
        Shown{"flexlocal_reflector_list_failures_total", "Pages of lists that could not be read.",
              &ReflectorStats::list_failures},
        Shown{"flexlocal_reflector_watches_total", "Watches that were begun.",
              &ReflectorStats::watches},
        Shown{"flexlocal_reflector_watch_failures_total", "Watches that did not end in order.",
              &ReflectorStats::watch_failures},
        Shown{"flexlocal_reflector_events_total", "Events that watches brought.",
              &ReflectorStats::events},
        Shown{"flexlocal_reflector_events_passed_over_total",
              "Events about objects that do not concern us, which were not decoded.",
              &ReflectorStats::passed_over}})
    metrics.collect<Counter>({shown.name, shown.help, {"kind"}},
                             [informers, counter = shown.counter](Family<Counter>& out) {
                               for (const InformerView& informer : informers)
                                 out.with({informer.kind}) += informer.stats->*counter;
                             });
  metrics.collect<Gauge>({"flexlocal_informer_objects", "Objects that are kept.", {"kind"}},
                         [informers](Family<Gauge>& out) {
                           for (const InformerView& informer : informers)
                             out.with({informer.kind}).set(static_cast<double>(informer.objects()));
                         });
}

void show_client(Metrics& metrics, const ClientView& client) {
  show_queues(metrics, client.queues);
  show_requests(metrics, client.apis);
  show_informers(metrics, client.informers);
}

}  // namespace flexlocal::kube
