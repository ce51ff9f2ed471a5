#include "compiler/driver/execution/emulated_executor.h"
#include "compiler/driver/execution/evaluator_run.h"
#include "compiler/driver/execution/gradient_executor.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace attnc::driver {

namespace {

class EmulatedExecutor : public Executor {
public:
  EmulatedExecutor(Manifest manifest, const std::string &red)
      : Executor(std::move(manifest)), context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(red, &context);
    if (module)
      for (auto op : module->getOps<attn::ProgramOp>())
        program = op;
  }

  bool isValid() { return bool(program); }

  Result<RunResult> run(const RunRequest &request) const override {
    return runEvaluator(program, manifest(), evaluator::Precision::EmulatedF32, request);
  }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  attn::ProgramOp program; // null if there is none
};

} // namespace

static Result<std::unique_ptr<Executor>> emulateOne(const Compilation &compilation) {
  auto executor = std::make_unique<EmulatedExecutor>(compilation.program.manifest, compilation.red);
  if (!executor->isValid())
    return internalError("the IR of '" + compilation.name + "' is not kept, or does not parse",
                         "report this with the spec");
  return std::unique_ptr<Executor>(std::move(executor));
}

Result<std::unique_ptr<Executor>> makeEmulatedExecutor(const Compilation &compilation) {
  return withBackward(compilation, emulateOne);
}

} // namespace attnc::driver
