#include "compiler/transforms/gradient/passes.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "compiler/transforms/gradient/halve.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

class DifferentiatePass : public PassWrapper<DifferentiatePass, OperationPass<ProgramOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DifferentiatePass)
  DifferentiatePass() = default;
  DifferentiatePass(const DifferentiatePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "differentiate"; }
  StringRef getDescription() const override { return "adds the gradients of inputs and params"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, red::RedDialect>();
  }

  void runOnOperation() override {
    auto independent = differentiate(getOperation(), std::vector<std::string>(of));
    if (independent)
      return;
    getOperation()->emitError(independent.error().message);
    signalPassFailure();
  }

private:
  ListOption<std::string> of{*this, "of", llvm::cl::desc("the inputs and params")};
};

class HalvePass : public PassWrapper<HalvePass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HalvePass)

  StringRef getArgument() const override { return "halve"; }
  StringRef getDescription() const override { return "a forward and a backward program"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<red::RedDialect>();
  }

  void runOnOperation() override {
    for (ProgramOp first : llvm::to_vector(getOperation().getOps<ProgramOp>())) {
      OpBuilder b(first->getContext());
      b.setInsertionPointAfter(first);
      auto second = cast<ProgramOp>(b.clone(*first));
      second.setSymName((first.getSymName() + "_grad").str());
      halve(first, second, namesOf<InputOp>(first), namesOf<OutputOp>(first));
    }
  }

private:
  /// The inputs or outputs that are gradients.
  template <typename Op> static std::set<std::string> namesOf(ProgramOp program) {
    std::set<std::string> names;
    for (auto op : program.getBodyBlock()->getOps<Op>())
      if (op.getName().starts_with(gradientName("")))
        names.insert(op.getName().str());
    return names;
  }
};

} // namespace

void registerGradientPasses() {
  PassRegistration<DifferentiatePass>();
  PassRegistration<HalvePass>();
}

} // namespace attnc
