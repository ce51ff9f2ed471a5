#include "compiler/schedule/cleanup/fixed_slots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {
namespace {

/// of * factor + constant
struct Linear {
  Value of;
  int64_t factor = 1, constant = 0;
};

} // namespace

static Linear linear(Value value) {
  APInt known;
  if (auto sum = value.getDefiningOp<arith::AddIOp>();
      sum && matchPattern(sum.getRhs(), m_ConstantInt(&known))) {
    Linear form = linear(sum.getLhs());
    form.constant += known.getSExtValue();
    return form;
  }
  if (auto product = value.getDefiningOp<arith::MulIOp>();
      product && matchPattern(product.getRhs(), m_ConstantInt(&known))) {
    Linear form = linear(product.getLhs());
    form.factor *= known.getSExtValue();
    form.constant *= known.getSExtValue();
    return form;
  }
  return {value};
}

// Numbers are not negative, so neither is what they are a multiple of.
static void fixSlot(OpOperand &number, int64_t stages) {
  Linear form = linear(number.get());
  if (llvm::isPowerOf2_64(stages) || form.factor % stages)
    return;
  int64_t before = llvm::divideFloorSigned(form.constant, stages);
  OpBuilder b(number.getOwner());
  Location loc = number.get().getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value round = b.createOrFold<arith::MulIOp>(loc, form.of, constant(form.factor / stages));
  round = b.createOrFold<arith::AddIOp>(loc, round, constant(before));
  number.set(SlotNumberOp::create(b, loc, round, form.constant - before * stages, stages));
}

void fixSlots(KernelOp kernel) {
  kernel.walk([](Operation *op) {
    if (isa<AcquireOp, FillOp, AwaitOp, ReleaseOp, CompleteOp, StageOp>(op))
      if (auto pipe = dyn_cast<PipeType>(op->getOperand(0).getType()))
        fixSlot(op->getOpOperand(1), pipe.getStages());
  });
}

} // namespace attnc::schedule
