#include "tools/attnc/prepare.h"
#include "compiler/driver/interpreter_executor.h"
#include "tools/attnc/failure.h"
#include "tools/attnc/tuned_schedules.h"

namespace attnc::cli {

Prepared prepare(const Spec &spec, const Target &target, const PrepareOptions &asked) {
  schedule::TuningDatabase tuned = tunedSchedules(target);
  driver::CompileOptions options;
  options.tuned = &tuned;
  options.target = target.name;
  options.upTo = target.interpreted ? driver::Stage::Tile : driver::Stage::Cubin;
  options.parts = driver::PartsVariant::OnFirstUse;
  options.verifyPasses = asked.verifyPasses;
  options.extents = asked.extents;
  options.params = asked.params;
  options.memoryBudget = asked.memoryBudget;
  options.images = imagesFor(target);
  Prepared prepared{compileScheduled(spec, options, asked.schedule), nullptr};
  prepared.executor =
      orFail(target.interpreted ? driver::makeInterpreterExecutor(prepared.compilation)
                                : driver::makeExecutor(prepared.compilation, target.device),
             Internal);
  return prepared;
}

} // namespace attnc::cli
