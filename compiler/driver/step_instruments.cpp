#include "compiler/driver/step_instruments.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace attnc::driver {

void StepInstrument::runBeforePass(Pass *pass, Operation *op) {
  if (const Step *step = findStep(pass->getArgument()); step && !error)
    endIfFailed(pass, before(*step, op));
}

void StepInstrument::runAfterPass(Pass *pass, Operation *op) {
  if (const Step *step = findStep(pass->getArgument()); step && !error)
    endIfFailed(pass, after(*step, op));
}

void StepInstrument::endIfFailed(Pass *pass, Status status) {
  if (status)
    return;
  error = status.error();
  signalPassFailure(pass);
}

Status WatchInstrument::before(const Step &step, Operation *op) {
  auto kernel = dyn_cast<tile::KernelOp>(op);
  return watch.enter(step.name, kernel ? kernel.getSymName().str() : "");
}

Status RecordInstrument::before(const Step &, Operation *) {
  start = std::chrono::steady_clock::now();
  return {};
}

// Kernels alone, of a module that has some.
static std::string irAfter(const Step &step, Operation *op) {
  if (step.on == Step::On::Program)
    return printIr(op->getParentOp());
  if (step.on == Step::On::Kernel)
    return printIr(op) + "\n";
  std::string kernels;
  for (auto kernel : cast<ModuleOp>(op).getOps<tile::KernelOp>())
    kernels += printIr(kernel) + "\n";
  return kernels.empty() ? printIr(op) : kernels;
}

Status RecordInstrument::after(const Step &step, Operation *op) {
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  auto record =
      llvm::find_if(records, [&](const PassRecord &known) { return known.name == step.name; });
  if (record == records.end())
    record = records.insert(record, {step.name, step.summary, "", 0});
  record->seconds += took.count();
  if (keepIr)
    record->ir += irAfter(step, op);
  return {};
}

Status ValidInstrument::after(const Step &step, Operation *op) {
  bool isLast = &step == &pipelineSteps().back();
  if ((step.on != Step::On::Program && !isLast) || succeeded(verify(op)))
    return {};
  return internalError("the program is not valid after " + std::string(step.name) + ": " +
                           reported.str(),
                       "report this with the spec");
}

Status MeaningInstrument::after(const Step &step, Operation *) {
  if (step.on == Step::On::Kernel)
    return {};
  std::string now = printIr(programs.back());
  if (now == std::exchange(text, now))
    return {};
  return verifier.check(programs, step.name);
}

} // namespace attnc::driver
