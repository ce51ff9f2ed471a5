#include "compiler/driver/emulated_executor.h"
#include "compiler/driver/check.h"
#include "compiler/driver/run_times.h"

#include "mlir/Parser/Parser.h"
#include <chrono>

using namespace mlir;

namespace attnc::driver {

namespace {

class EmulatedExecutor : public Executor {
public:
  EmulatedExecutor(Manifest manifest, const std::string &red)
      : Executor(std::move(manifest)), context(MLIRContext::Threading::DISABLED) {
    loadDialects(context);
    module = parseSourceString<ModuleOp>(red, &context);
  }

  bool isValid() const { return bool(module); }

  Result<RunResult> run(const RunRequest &request) const override {
    evaluator::EvalInputs inputs;
    inputs.extents = request.extents;
    for (const auto &[name, value] : request.params)
      inputs.params[name] = toReal(value);
    for (const auto &[name, tensor] : request.inputs)
      if (const TensorDecl *decl = manifest().findTensor(name))
        inputs.tensors[name] = toArray(tensor, decl->dims);
    evaluator::EvalOptions options;
    options.precision = evaluator::Precision::EmulatedF32;

    RunResult result;
    std::vector<double> times;
    for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
      auto start = std::chrono::steady_clock::now();
      llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program(), inputs, options);
      if (!outputs)
        return invalidArgument(llvm::toString(outputs.takeError()));
      std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      if (run >= request.warmup)
        times.push_back(time.count());
      for (const TensorDecl &output : manifest().outputs)
        result.outputs[output.name] = toHostTensor(outputs->at(output.name), output.dtype);
    }
    result.milliseconds = median(std::move(times));
    return result;
  }

private:
  attn::ProgramOp program() const {
    return *const_cast<OwningOpRef<ModuleOp> &>(module)->getOps<attn::ProgramOp>().begin();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

Result<std::unique_ptr<Executor>> makeEmulatedExecutor(const Compilation &compilation) {
  auto executor = std::make_unique<EmulatedExecutor>(compilation.program.manifest, compilation.red);
  if (!executor->isValid())
    return internalError("the IR of '" + compilation.name + "' does not parse",
                         "report this with the spec");
  return std::unique_ptr<Executor>(std::move(executor));
}

} // namespace attnc::driver
