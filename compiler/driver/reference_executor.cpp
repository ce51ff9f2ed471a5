#include "compiler/driver/reference_executor.h"
#include "compiler/driver/check.h"
#include "compiler/driver/manifest_builder.h"
#include "compiler/driver/run_times.h"

#include <chrono>
#include <cstring>

using namespace mlir;

namespace attnc::driver {

namespace {

template <typename Range> std::vector<std::string> namesOf(Range &&dims) {
  std::vector<std::string> names;
  for (StringAttr dim : dims)
    names.push_back(dim.str());
  return names;
}

/// What a caller has to know of a program that nobody launches: its tensors, dims and params.
Manifest signatureOf(attn::ProgramOp program) {
  Manifest manifest;
  manifest.name = program.getSymName().str();
  manifest.target = referenceTarget;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    manifest.dims.push_back({dim.getName().str(), std::nullopt});
    if (dim.isStatic())
      manifest.dims.back().extent = Expr::constant(dim.getExtent());
  }
  for (Operation &op : *program.getBodyBlock()) {
    if (auto input = dyn_cast<attn::InputOp>(op)) {
      manifest.inputs.push_back({input.getName().str(), dtypeOf(input.getType().getElementType()),
                                 namesOf(input.getType().getDims())});
    } else if (auto output = dyn_cast<attn::OutputOp>(op)) {
      DType type = dtypeOf(output.getType());
      manifest.outputs.push_back({output.getName().str(), isFloat(type) ? DType::F64 : type,
                                  namesOf(attn::dimNames(output.getDims()))});
    } else if (auto param = dyn_cast<attn::ParamOp>(op)) {
      manifest.params.push_back({param.getName().str(), dtypeOf(param.getType().getElementType()),
                                 std::nullopt, std::nullopt, std::nullopt});
    }
  }
  return manifest;
}

/// As toHostTensor, but 64-bit integers keep all their digits.
HostTensor exactHostTensor(const evaluator::Array &array, DType dtype) {
  if (dtype != DType::I64)
    return toHostTensor(array, dtype);
  HostTensor tensor{dtype, array.shape, std::vector<std::byte>(array.integer.size() * 8)};
  std::memcpy(tensor.data.data(), array.integer.data(), tensor.data.size());
  return tensor;
}

class ReferenceExecutor : public Executor {
public:
  explicit ReferenceExecutor(const Spec &spec)
      : Executor(signatureOf(programOf(spec))), program(programOf(spec)) {}

  Result<RunResult> run(const RunRequest &request) const override {
    evaluator::EvalInputs inputs;
    inputs.extents = request.extents;
    for (const auto &[name, value] : request.params)
      inputs.params[name] = toReal(value);
    for (const auto &[name, tensor] : request.inputs)
      if (const TensorDecl *decl = manifest().findTensor(name))
        inputs.tensors[name] = toArray(tensor, decl->dims);

    RunResult result;
    std::vector<double> times;
    for (unsigned run = 0; run < request.warmup + std::max(request.repeat, 1u); ++run) {
      auto start = std::chrono::steady_clock::now();
      llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program, inputs);
      if (!outputs)
        return invalidArgument(llvm::toString(outputs.takeError()));
      std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      if (run >= request.warmup)
        times.push_back(time.count());
      for (const TensorDecl &output : manifest().outputs)
        result.outputs[output.name] = exactHostTensor(outputs->at(output.name), output.dtype);
    }
    result.milliseconds = median(std::move(times));
    return result;
  }

private:
  attn::ProgramOp program;
};

} // namespace

std::unique_ptr<Executor> makeReferenceExecutor(const Spec &spec) {
  return std::make_unique<ReferenceExecutor>(spec);
}

} // namespace attnc::driver
