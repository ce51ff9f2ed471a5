// What is counted, in the text format of Prometheus.
#ifndef ATTNC_TOOLS_ATTNCD_METRICS_H
#define ATTNC_TOOLS_ATTNCD_METRICS_H

#include "tools/attncd/http/route.h"
#include "tools/attncd/workers/compiler.h"

#include <array>
#include <atomic>
#include <memory>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <string>

namespace attnc::service {

/// What happens to entries.
enum class EntryEvent {
  HitInMemory,
  HitOnDisk,
  Missed,
  Stored,
  WasThere,
  NotSealed,    ///< refused: no sealed entry, or not sealed by this fleet
  AnotherEntry, ///< refused: of another key or tier than the path says
  Damaged,      ///< refused: sealed, and not as it was made
  NotWritten,   ///< the disk
};
inline constexpr std::size_t entryEventCount = 9;

/// What is so at a moment; it is asked for when somebody reads the metrics.
struct Moment {
  std::size_t connections = 0, requests = 0, uploads = 0;
  std::size_t uploadBytes = 0;
  std::size_t memoryEntries = 0, memoryBytes = 0;
  std::uint64_t logLinesDropped = 0, connectionsCut = 0;
  bool drains = false;
  CompilePoolStats compiler;
};

/// All label values come from lists that the code has: nothing that a client sends makes the text
/// longer. Thread-safe.
class Metrics {
public:
  Metrics(std::string_view version, std::string_view build);

  void answered(Place place, Method method, unsigned status, double seconds);
  void count(EntryEvent event) { events[static_cast<std::size_t>(event)]->Increment(); }

  std::string text(const Moment &moment) const;

private:
  static constexpr std::array<unsigned, 18> statuses = {200, 201, 204, 400, 401, 403, 404, 405, 409,
                                                        413, 422, 429, 431, 500, 501, 503, 507, 0};
  prometheus::Counter &requestsOf(Place place, Method method, unsigned status);

  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter> &requests;
  std::array<std::atomic<prometheus::Counter *>, placeCount * methodCount * statuses.size()>
      counters = {};
  std::array<prometheus::Histogram *, placeCount> seconds = {};
  std::array<prometheus::Counter *, entryEventCount> events = {};
};

} // namespace attnc::service

#endif
