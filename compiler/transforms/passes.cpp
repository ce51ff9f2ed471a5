#include "compiler/transforms/passes.h"
#include "compiler/transforms/choose_layouts.h"
#include "compiler/transforms/cut_finish.h"
#include "compiler/transforms/cut_vectors.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/mask_intervals.h"
#include "compiler/transforms/reassociate.h"
#include "compiler/transforms/split.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace attnc {
namespace {

/// A pass that runs one function on each program.
class ProgramPass : public PassWrapper<ProgramPass, OperationPass<attn::ProgramOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ProgramPass)
  using Transform = void (*)(attn::ProgramOp);

  ProgramPass(StringRef name, StringRef summary, Transform transform)
      : name(name), summary(summary), transform(transform) {}
  ProgramPass(const ProgramPass &) = default;

  StringRef getArgument() const override { return name; }
  StringRef getDescription() const override { return summary; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<red::RedDialect, arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override { transform(getOperation()); }

private:
  StringRef name, summary;
  Transform transform;
};

void add(StringRef name, StringRef summary, ProgramPass::Transform transform) {
  registerPass([=] { return std::make_unique<ProgramPass>(name, summary, transform); });
}

} // namespace

void registerTransformPasses() {
  add("desugar", "softmax, logsumexp and mean become reductions and maps", desugar);
  add("lower-to-nests", "attn to red: one nest for each reduction", lowerToNests);
  add("reassociate", "sums of products of sums in the order that costs least", reassociate);
  add("fuse-nests", "folds that share a pass over the stream become one nest", fuseNests);
  add("choose-layouts", "the order of axes of what nests store for each other", chooseLayouts);
  add("cut-finish", "folds after a stream become nests", [](attn::ProgramOp program) {
    for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()))
      cutFinish(nest);
  });
  add("cut-vectors", "sums that vary with rows or the stream alone become nests", cutVectors);
  add("split", "streams in parts that fold side by side, and nests that merge them", split);
  add("mask-intervals", "which part of the stream matters to a tile of rows", maskIntervals);
}

} // namespace attnc
