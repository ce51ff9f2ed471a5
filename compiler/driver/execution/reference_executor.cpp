#include "compiler/driver/execution/reference_executor.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/execution/evaluator_run.h"
#include "compiler/driver/kernels/manifest_builder.h"
#include "dialects/Tile/ElementTypes.h"

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
      manifest.inputs.push_back({input.getName().str(),
                                 tile::elementType(input.getType().getElementType()).dtype,
                                 namesOf(input.getType().getDims())});
    } else if (auto output = dyn_cast<attn::OutputOp>(op)) {
      DType type = tile::elementType(output.getType()).dtype;
      manifest.outputs.push_back({output.getName().str(), isFloat(type) ? DType::F64 : type,
                                  namesOf(attn::dimNames(output.getDims()))});
    } else if (auto param = dyn_cast<attn::ParamOp>(op)) {
      manifest.params.push_back({param.getName().str(),
                                 tile::elementType(param.getType().getElementType()).dtype,
                                 std::nullopt, std::nullopt, std::nullopt});
    }
  }
  return manifest;
}

class ReferenceExecutor : public Executor {
public:
  explicit ReferenceExecutor(const Spec &spec)
      : Executor(signatureOf(programOf(spec))), program(programOf(spec)) {}

  Result<RunResult> run(const RunRequest &request) const override {
    return runEvaluator(program, manifest(), evaluator::Precision::Double, request);
  }

private:
  attn::ProgramOp program;
};

} // namespace

std::unique_ptr<Executor> makeReferenceExecutor(const Spec &spec) {
  return std::make_unique<ReferenceExecutor>(spec);
}

} // namespace attnc::driver
