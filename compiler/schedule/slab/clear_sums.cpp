#include "compiler/schedule/slab/clear_sums.h"
#include "compiler/schedule/slab/multipliers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Elements of a thread, as far apart as the block has threads.
static constexpr int64_t kOfThread = 16;
static constexpr int64_t kOfBlock = ClearSumsCode::kThreads * kOfThread;

Attribute ClearSumsCode::blocks(red::NestOp nest, Builder &builder) {
  Attribute blocks = builder.getI64IntegerAttr(0);
  for (Value sum : rowSumsOf(nest)) {
    Attribute elements = builder.getI64IntegerAttr(1);
    for (StringAttr dim : tensorOf(sum).dims)
      elements = gridApply("mul", elements, gridExtent(nest, dim));
    blocks = gridApply("add", blocks,
                       gridApply("ceildiv", elements, builder.getI64IntegerAttr(kOfBlock)));
  }
  return blocks;
}

// Columns are multiples of 8, so that rows lie behind each other.
void ClearSumsCode::build() {
  SmallVector<Value> sums = rowSumsOf(nest);
  auto elements = [&](size_t i) {
    Value count = wide(1);
    for (StringAttr dim : tensorOf(sums[i]).dims)
      count = mul(count, memory.extent(b, loc, dim));
    return count;
  };
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  shareBlocks(
      sums.size(), [&](size_t i) { return ceilDiv(elements(i), wide(kOfBlock)); },
      [&](size_t i, Value work) {
        Value end = elements(i), first = mul(work, wide(kOfBlock), "first");
        Value thread = add(mul(warp, constant(kLanes)), lane, "thread");
        first = add(first, widen(thread, ""));
        loop("part", kOfThread, {}, [&](Value part, Value) {
          Value at = add(first, mul(widen(part, ""), wide(kThreads)), "at");
          when(less(at, end),
               [&] { tile::StoreOp::create(b, loc, zero, memory.pointer(sums[i]), at); });
          return Value();
        });
      });
}

} // namespace attnc::schedule
