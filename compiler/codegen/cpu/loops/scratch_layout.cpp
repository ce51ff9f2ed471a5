#include "compiler/codegen/cpu/loops/scratch_layout.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::cpu {

static Type elementOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getElementType();
}

ScratchLayout::ScratchLayout(OpBuilder &b, const NestPlan &plan, const KernelArguments &args,
                             Value base)
    : plan(plan), args(args), base(base), total(index64(b, plan.nest->getLoc(), 0)) {
  for (Operation &op : red::NestOp(plan.nest).getBodyBlock()->without_terminator()) {
    Value value = op.getResult(0);
    const DimList *dims = plan.bufferDims(value);
    if (!dims)
      continue;
    values[value] = place(b, *dims, elementOf(value));
    if (plan.isReference(value))
      scales[value] = place(b, *dims, elementOf(value));
    if (plan.isLower(value))
      befores[value] = place(b, *dims, elementOf(value));
  }
  for (Value centre : plan.momentCentres()) {
    centres[centre] = place(b, plan.tileDims(centre), elementOf(centre));
    shifts[centre] = place(b, plan.tileDims(centre), elementOf(centre));
  }
  for (ExponentPair pair : plan.exponentials())
    exponentials[pair] = place(b, plan.exponentialDims(pair), elementOf(pair.first));
}

Buffer ScratchLayout::place(OpBuilder &b, const DimList &dims, Type element) {
  Location loc = plan.nest->getLoc();
  Buffer buffer{{}, element, dims, SmallVector<Value>(dims.size())};
  Value elements = index64(b, loc, 1);
  for (unsigned axis = dims.size(); axis > 0; --axis) {
    buffer.strides[axis - 1] = elements;
    std::optional<int64_t> tile = plan.tile(dims[axis - 1]);
    Value capacity = tile ? index64(b, loc, *tile) : args.size(b, dims[axis - 1]);
    elements = b.createOrFold<arith::MulIOp>(loc, elements, capacity);
  }
  if (base)
    buffer.pointer =
        LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                            ArrayRef<LLVM::GEPArg>{total}, LLVM::GEPNoWrapFlags::inbounds);
  Value bytes = b.createOrFold<arith::MulIOp>(loc, elements, index64(b, loc, memoryBytes(element)));
  Value padded = b.createOrFold<arith::AddIOp>(loc, bytes, index64(b, loc, 63));
  Value aligned = b.createOrFold<arith::AndIOp>(loc, padded, index64(b, loc, -64));
  total = b.createOrFold<arith::AddIOp>(loc, total, aligned);
  return buffer;
}

} // namespace attnc::cpu
