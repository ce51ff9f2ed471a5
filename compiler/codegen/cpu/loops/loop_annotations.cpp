#include "compiler/codegen/cpu/loops/loop_annotations.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::cpu {

// Ops of the longest body that is worth its vectorised, interleaved and remaining copies: a few
// exponentials of 25 ops and what surrounds them.
static constexpr unsigned kLongestVectorisedBody = 2000;

static constexpr StringLiteral kName = "llvm.loop_annotation";

static LLVM::LoopAnnotationAttr annotation(MLIRContext *context, bool vectorise, bool unroll,
                                           ArrayRef<LLVM::AccessGroupAttr> parallel) {
  auto yes = BoolAttr::get(context, true);
  auto vectorisation = vectorise
                           ? LLVM::LoopVectorizeAttr()
                           : LLVM::LoopVectorizeAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  auto unrolling = unroll ? LLVM::LoopUnrollAttr()
                          : LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, vectorisation, {}, unrolling, {}, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, parallel);
}

LoopAnnotations::LoopAnnotations(LLVM::AccessGroupAttr group)
    : parallel(annotation(group.getContext(), true, true, group)),
      noCopies(annotation(group.getContext(), false, false, group)),
      outer(annotation(group.getContext(), true, false, {})) {}

// Functions that the processor has no vector instruction for.
static bool isCall(Operation *op) {
  return isa<LLVM::CallOp, math::LogOp, math::Log2Op, math::PowFOp>(op) ||
         (isa<math::ExpOp, math::Exp2Op>(op) && !op->getResult(0).getType().isF32());
}

void LoopAnnotations::annotateInnermost(scf::ForOp loop) const {
  unsigned ops = 0;
  bool calls = false;
  loop.getBody()->walk([&](Operation *op) {
    ++ops;
    calls |= isCall(op);
  });
  loop->setAttr(kName, calls || ops > kLongestVectorisedBody ? noCopies : parallel);
}

void LoopAnnotations::annotateOuter(scf::ForOp loop) const { loop->setAttr(kName, outer); }

} // namespace attnc::cpu
