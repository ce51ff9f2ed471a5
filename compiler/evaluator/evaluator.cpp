#include "compiler/evaluator/evaluator.h"
#include "compiler/evaluator/float64/evaluation.h"
#include "compiler/evaluator/tolerance/sharpen.h"

namespace attnc::evaluator {

namespace {

llvm::Error checkSamples(const EvalOptions &options,
                         const std::map<std::string, int64_t> &extents) {
  for (const auto &[dim, indices] : options.sample) {
    auto extent = extents.find(dim);
    if (extent == extents.end())
      return llvm::createStringError("dim '%s' is to be sampled, and the program has not got it",
                                     dim.c_str());
    if (indices.empty() || indices.front() < 0 || indices.back() >= extent->second ||
        !llvm::is_sorted(indices))
      return llvm::createStringError("samples of dim '%s' must ascend within its extent %lld",
                                     dim.c_str(), static_cast<long long>(extent->second));
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Outputs> evaluate(attn::ProgramOp program, const EvalInputs &inputs,
                                 const EvalOptions &options) {
  auto extents = bindExtents(program, inputs);
  if (!extents)
    return extents.takeError();
  if (llvm::Error error = checkSamples(options, *extents))
    return error;
  llvm::Expected<Outputs> outputs = Evaluation(program, inputs, options, *extents).run();
  if (outputs && options.precision == Precision::Double)
    if (llvm::Error error = sharpenBounds(program, inputs, options, *extents, *outputs))
      return error;
  return outputs;
}

} // namespace attnc::evaluator
