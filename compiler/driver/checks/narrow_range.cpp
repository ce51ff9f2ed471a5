#include "compiler/driver/checks/narrow_range.h"
#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include <cmath>

using namespace mlir;

namespace attnc::driver {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

// x, or NaN where f32 has no number for it. What is infinite in float64 as well stays.
Value inF32(OpBuilder &b, Location loc, Value x) {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(x.getType(), value));
  };
  auto size = [&](arith::CmpFPredicate predicate, double than) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, math::AbsFOp::create(b, loc, x),
                                 constant(than));
  };
  Value large = size(arith::CmpFPredicate::OGT, kLargest);
  Value finite = size(arith::CmpFPredicate::OLT, INFINITY);
  Value beyond = arith::AndIOp::create(b, loc, large, finite);
  return arith::SelectOp::create(b, loc, beyond, constant(NAN), x);
}

void limitScalars(attn::MapOp map) {
  for (Operation &op : llvm::make_early_inc_range(map.getBodyBlock()->without_terminator())) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isF32())
      continue;
    Value result = op.getResult(0);
    OpBuilder b(op.getContext());
    b.setInsertionPointAfter(&op);
    llvm::SmallPtrSet<Operation *, 8> uses(result.user_begin(), result.user_end());
    Value limited = inF32(b, op.getLoc(), result);
    result.replaceUsesWithIf(limited,
                             [&](OpOperand &use) { return uses.contains(use.getOwner()); });
  }
}

// Of a reduction or a fold.
void limitResult(Value array) {
  auto type = cast<attn::ArrayType>(array.getType());
  if (!type.getElementType().isF32())
    return;
  OpBuilder b(array.getContext());
  b.setInsertionPointAfterValue(array);
  auto limited = attn::MapOp::create(
      b, array.getLoc(), type, array,
      [](OpBuilder &inner, Location at, ValueRange x) { return inF32(inner, at, x[0]); });
  array.replaceAllUsesExcept(limited, limited);
}

} // namespace

llvm::Expected<evaluator::Outputs> evaluateWithinF32(attn::ProgramOp program,
                                                     const evaluator::EvalInputs &inputs,
                                                     const evaluator::EvalOptions &options) {
  OwningOpRef<attn::ProgramOp> limited(cast<attn::ProgramOp>(program->clone()));
  limited->walk([](attn::MapOp map) { limitScalars(map); });
  limited->walk([](attn::ReduceOp reduce) { limitResult(reduce.getResult()); });
  limited->walk([](red::FoldOp fold) { limitResult(fold.getResult()); });
  return evaluator::evaluate(*limited, inputs, options);
}

} // namespace attnc::driver
