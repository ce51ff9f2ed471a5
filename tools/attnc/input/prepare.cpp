#include "tools/attnc/input/prepare.h"
#include "compiler/driver/execution/emulated_executor.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/jit/open_program.h"
#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/timing_report.h"

#include <chrono>

namespace attnc::cli {

const char *nameOf(Origin origin) { return origin ? cache::nameOf(*origin) : "file"; }

static Prepared executable(ReadyProgram ready, const Target &target, Origin origin) {
  Prepared prepared{std::move(ready.compilation), nullptr, origin, ready.seconds};
  prepared.executor = orFail(driver::makeExecutor(prepared.compilation, target.device), Internal);
  return prepared;
}

/// For an executor that runs the IR.
static Prepared evaluable(driver::Compilation compilation, bool emulated) {
  Prepared prepared{std::move(compilation), nullptr};
  prepared.seconds = secondsOfAll(prepared.compilation);
  prepared.executor = orFail(emulated ? driver::makeEmulatedExecutor(prepared.compilation)
                                      : driver::makeInterpreterExecutor(prepared.compilation),
                             Internal);
  return prepared;
}

Prepared prepare(const Spec &spec, const Target &target, const PrepareOptions &asked) {
  schedule::TuningDatabase tuned = tunedSchedules(target);
  driver::CompileOptions options;
  options.tuned = &tuned;
  options.target = target.name;
  options.upTo = target.interpreted ? driver::Stage::Tile : driver::Stage::Cubin;
  if (asked.emulated) // up to the nests, and for a GPU to the manifest
    options.upTo = target.isCpu() ? driver::Stage::Red : driver::Stage::Tile;
  options.parts = driver::SplitVariant::OnFirstUse;
  options.keepTexts = target.interpreted || asked.emulated;
  options.verifyPasses = asked.verifyPasses;
  options.extents = asked.extents;
  options.params = asked.params;
  options.memoryBudget = asked.memoryBudget;
  if (target.interpreted || asked.emulated)
    return evaluable(compileScheduled(spec, options, asked.schedule), asked.emulated);
  options.images = imagesFor(target);
  ReadyProgram ready = compileReady(spec, options, asked.schedule);
  Origin origin = ready.source;
  return executable(std::move(ready), target, origin);
}

Prepared prepare(Program program, const Target &target) {
  auto start = std::chrono::steady_clock::now();
  ReadyProgram ready{orFail(openProgram(std::move(program), ImageCompiler::ofUser()), Usage)};
  ready.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return executable(std::move(ready), target, std::nullopt);
}

} // namespace attnc::cli
