#include "tools/attncd/metrics.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <prometheus/text_serializer.h>
#include <sstream>
#include <unistd.h>

namespace attnc::service {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct EventName {
  std::string_view event, detail;
};

// In the order of EntryEvent.
constexpr EventName eventNames[entryEventCount] = {
    {"hit", "memory"},          {"hit", "disk"},        {"miss", ""},
    {"put", "stored"},          {"put", "present"},     {"refused", "not_sealed"},
    {"refused", "other_entry"}, {"refused", "damaged"}, {"refused", "not_written"}};

constexpr std::string_view failureKinds[] = {
    "invalid_argument", "other_build", "spec", "compilation", "limit", "environment", "internal"};

/// From a warm hit to the longest compilation.
const prometheus::Histogram::BucketBoundaries bounds = {0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                                        0.025,  0.05,   0.1,   0.25,  0.5,   1,
                                                        2.5,    5,      10,    30,    60,    120};

/// Values that are so when they are asked for.
class Snapshot {
public:
  void add(MetricType type, const char *name, const char *help, double value,
           std::vector<ClientMetric::Label> labels = {}) {
    if (families.empty() || families.back().name != name)
      families.push_back({name, help, type, {}});
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = value;
    families.back().metric.push_back(std::move(metric));
  }
  void gauge(const char *name, const char *help, double value) {
    add(MetricType::Gauge, name, help, value);
  }
  void counter(const char *name, const char *help, double value) {
    add(MetricType::Counter, name, help, value);
  }

  std::vector<MetricFamily> families;
};

double residentBytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void addJobs(Snapshot &snapshot, const CompilePoolStats &stats) {
  auto add = [&](std::string_view result, std::uint64_t count) {
    snapshot.add(MetricType::Counter, "attncd_compile_jobs_total",
                 "Compilations that ended, by result", static_cast<double>(count),
                 {{"result", std::string(result)}});
  };
  for (std::string_view source : {"compiler", "disk", "remote"}) {
    auto found = stats.done.find(std::string(source));
    add(source, found == stats.done.end() ? 0 : found->second);
  }
  std::uint64_t others = 0;
  for (const auto &[kind, count] : stats.failed)
    if (std::find(std::begin(failureKinds), std::end(failureKinds), kind) == std::end(failureKinds))
      others += count;
  for (std::string_view kind : failureKinds) {
    auto found = stats.failed.find(std::string(kind));
    add(kind, found == stats.failed.end() ? 0 : found->second);
  }
  add("other", others);
}

void addCompiler(Snapshot &snapshot, const CompilePoolStats &stats) {
  addJobs(snapshot, stats);
  snapshot.counter("attncd_compile_joined_total",
                   "Requests that the compilation of an equal one answered",
                   static_cast<double>(stats.joined));
  snapshot.counter("attncd_compile_seconds_total", "Time of compilations, all together",
                   stats.secondsOfJobs);
  snapshot.gauge("attncd_compile_waiting", "Compilations in the queue",
                 static_cast<double>(stats.waiting));
  snapshot.gauge("attncd_compile_running", "Compilations that run",
                 static_cast<double>(stats.running));
  snapshot.gauge("attncd_workers", "Worker processes that there should be", stats.workers);
  snapshot.gauge("attncd_workers_alive", "Worker processes that work", stats.alive);
  snapshot.counter("attncd_workers_started_total", "Worker processes that were started",
                   static_cast<double>(stats.workersStarted));
  snapshot.counter("attncd_workers_killed_total", "Worker processes that were ended at a limit",
                   static_cast<double>(stats.workersKilled));
}

} // namespace

Metrics::Metrics(std::string_view version, std::string_view build)
    : requests(prometheus::BuildCounter()
                   .Name("attncd_requests_total")
                   .Help("Requests that were answered, by route, method and status")
                   .Register(registry)) {
  auto &latency = prometheus::BuildHistogram()
                      .Name("attncd_request_seconds")
                      .Help("From a request's first line to the last byte of its answer")
                      .Register(registry);
  for (std::size_t place = 0; place < placeCount; ++place)
    seconds[place] =
        &latency.Add({{"route", std::string(nameOf(static_cast<Place>(place)))}}, bounds);
  auto &entries = prometheus::BuildCounter()
                      .Name("attncd_entries_total")
                      .Help("What happened to entries: hits, misses, puts, and what was refused")
                      .Register(registry);
  for (std::size_t event = 0; event < entryEventCount; ++event)
    events[event] = &entries.Add({{"event", std::string(eventNames[event].event)},
                                  {"detail", std::string(eventNames[event].detail)}});
  prometheus::BuildGauge()
      .Name("attncd_build_info")
      .Help("Always 1; the labels say which build this is")
      .Register(registry)
      .Add({{"version", std::string(version)}, {"build", std::string(build)}})
      .Set(1);
}

prometheus::Counter &Metrics::requestsOf(Place place, Method method, unsigned status) {
  auto at = static_cast<std::size_t>(std::find(statuses.begin(), statuses.end() - 1, status) -
                                     statuses.begin());
  std::size_t index =
      (static_cast<std::size_t>(place) * methodCount + static_cast<std::size_t>(method)) *
          statuses.size() +
      at;
  prometheus::Counter *counter = counters[index];
  if (!counter) { // two threads add the same one, and get the same one
    counter = &requests.Add({{"route", std::string(nameOf(place))},
                             {"method", std::string(nameOf(method))},
                             {"status", statuses[at] ? std::to_string(statuses[at]) : "other"}});
    counters[index] = counter;
  }
  return *counter;
}

void Metrics::answered(Place place, Method method, unsigned status, double duration) {
  requestsOf(place, method, status).Increment();
  seconds[static_cast<std::size_t>(place)]->Observe(duration);
}

std::string Metrics::text(const Moment &moment) const {
  Snapshot snapshot;
  snapshot.gauge("attncd_connections", "Connections that are open",
                 static_cast<double>(moment.connections));
  snapshot.gauge("attncd_requests_in_flight", "Requests that are not answered yet",
                 static_cast<double>(moment.requests));
  snapshot.gauge("attncd_uploads_in_flight", "Bodies that are being read",
                 static_cast<double>(moment.uploads));
  snapshot.gauge("attncd_upload_bytes", "Memory that bodies take",
                 static_cast<double>(moment.uploadBytes));
  snapshot.gauge("attncd_memory_entries", "Entries that are kept in memory",
                 static_cast<double>(moment.memoryEntries));
  snapshot.gauge("attncd_memory_entry_bytes", "Memory that they take",
                 static_cast<double>(moment.memoryBytes));
  snapshot.counter("attncd_connections_cut_total", "Connections of clients that were too slow",
                   static_cast<double>(moment.connectionsCut));
  snapshot.counter("attncd_log_lines_dropped_total", "Lines of the log that nobody took in time",
                   static_cast<double>(moment.logLinesDropped));
  snapshot.gauge("attncd_draining", "1 after SIGTERM", moment.drains);
  addCompiler(snapshot, moment.compiler);
  snapshot.gauge("process_resident_memory_bytes", "Memory of the process, without its workers'",
                 residentBytes());

  std::vector<MetricFamily> families = registry.Collect();
  std::move(snapshot.families.begin(), snapshot.families.end(), std::back_inserter(families));
  std::ostringstream stream;
  prometheus::TextSerializer().Serialize(stream, families);
  return stream.str();
}

} // namespace attnc::service
