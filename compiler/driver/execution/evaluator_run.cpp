#include "compiler/driver/execution/evaluator_run.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/execution/run_times.h"

#include <chrono>

namespace attnc::driver {

Result<RunResult> runEvaluator(attn::ProgramOp program, const Manifest &manifest,
                               evaluator::Precision precision, const RunRequest &request) {
  evaluator::EvalInputs inputs;
  inputs.extents = request.extents;
  for (const auto &[name, value] : request.params)
    inputs.params[name] = toReal(value);
  for (const auto &[name, tensor] : request.inputs)
    if (const TensorDecl *decl = manifest.findTensor(name))
      inputs.tensors[name] = toArray(tensor, decl->dims);
  evaluator::EvalOptions options;
  options.precision = precision;

  RunResult result;
  std::vector<double> times;
  for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
    auto start = std::chrono::steady_clock::now();
    llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program, inputs, options);
    if (!outputs)
      return invalidArgument(llvm::toString(outputs.takeError()));
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (run >= request.warmup)
      times.push_back(time.count());
    for (const TensorDecl &output : manifest.outputs)
      result.outputs[output.name] = toHostTensor(outputs->at(output.name), output.dtype);
  }
  result.milliseconds = median(std::move(times));
  return result;
}

} // namespace attnc::driver
