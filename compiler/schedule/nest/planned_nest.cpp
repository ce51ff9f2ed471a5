#include "compiler/schedule/nest/planned_nest.h"

namespace attnc::schedule {

template <typename T, typename Plan>
static auto &planned(std::optional<T> &kept, red::NestOp nest, Plan plan) {
  if (!kept) {
    kept.emplace();
    if (auto made = plan(nest, kept->why); succeeded(made))
      kept->plan = std::move(*made);
  }
  return *kept;
}

const StreamPlan *PlannedNest::stream() {
  auto &kept = planned(streamPlan, nest, planStream);
  return kept.plan ? &*kept.plan : nullptr;
}

const std::string &PlannedNest::whyNoStream() { return planned(streamPlan, nest, planStream).why; }

const RowsPlan *PlannedNest::rows() {
  auto &kept = planned(rowsPlan, nest, planRows);
  return kept.plan ? &*kept.plan : nullptr;
}

const std::string &PlannedNest::whyNoRows() { return planned(rowsPlan, nest, planRows).why; }

} // namespace attnc::schedule
