#include "tools/attnc/input/prepare.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/jit/open_program.h"
#include "tools/attnc/input/tuned_schedules.h"
#include "tools/attnc/output/failure.h"

#include <chrono>

namespace attnc::cli {

const char *nameOf(Origin origin) { return origin ? cache::nameOf(*origin) : "file"; }

static Prepared executable(ReadyProgram ready, const Target &target, Origin origin) {
  Prepared prepared{std::move(ready.compilation), nullptr, origin, ready.seconds};
  prepared.executor = orFail(driver::makeExecutor(prepared.compilation, target.device), Internal);
  return prepared;
}

static Prepared interpreted(driver::Compilation compilation) {
  Prepared prepared{std::move(compilation), nullptr};
  prepared.seconds = prepared.compilation.seconds;
  prepared.executor = orFail(driver::makeInterpreterExecutor(prepared.compilation), Internal);
  return prepared;
}

Prepared prepare(const Spec &spec, const Target &target, const PrepareOptions &asked) {
  schedule::TuningDatabase tuned = tunedSchedules(target);
  driver::CompileOptions options;
  options.tuned = &tuned;
  options.target = target.name;
  options.upTo = target.interpreted ? driver::Stage::Tile : driver::Stage::Cubin;
  options.parts = driver::SplitVariant::OnFirstUse;
  options.keepTexts = target.interpreted;
  options.verifyPasses = asked.verifyPasses;
  options.extents = asked.extents;
  options.params = asked.params;
  options.memoryBudget = asked.memoryBudget;
  options.images = imagesFor(target);
  if (target.interpreted)
    return interpreted(compileScheduled(spec, options, asked.schedule));
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
