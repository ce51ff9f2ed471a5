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

static void leaveExact(OperandTile &tile) {
  if (!tile.exact)
    return;
  tile.read = tile.exact;
  tile.element = tensorOf(tile.read.getSource()).element;
  tile.factors.clear();
  tile.exact = {};
}

const StreamPlan *PlannedNest::ofHalves() {
  if (!halvesPlan && stream()) {
    halvesPlan = *stream();
    for (const StreamState &state : halvesPlan->states)
      if (state.streamed != -1)
        halvesPlan->weights[state.weight].inHalves |=
            halvesPlan->streamed[state.streamed].element.isF32();
    llvm::for_each(halvesPlan->streamed, leaveExact);
    for (Contraction &contraction : halvesPlan->contractions)
      leaveExact(contraction.resident);
  }
  return halvesPlan ? &*halvesPlan : nullptr;
}

const RowsPlan *PlannedNest::rows() {
  auto &kept = planned(rowsPlan, nest, planRows);
  return kept.plan ? &*kept.plan : nullptr;
}

const std::string &PlannedNest::whyNoRows() { return planned(rowsPlan, nest, planRows).why; }

} // namespace attnc::schedule
