#include "compiler/schedule/packed/zero_rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

Attribute ZeroRowsCode::blocks(red::NestOp nest, Builder &builder) {
  Attribute blocks = builder.getI64IntegerAttr(0);
  for (red::PackOp pack : packsOf(nest))
    blocks = gridApply(
        "add", blocks,
        gridApply("ceildiv", gridExtent(nest, pack.rows()), builder.getI64IntegerAttr(kRows)));
  return blocks;
}

void ZeroRowsCode::build() {
  shareBlocks(
      packs.size(),
      [&](size_t i) { return ceilDiv(memory.extent(b, loc, packs[i].rows()), wide(kRows)); },
      [&](size_t i, Value work) {
        Value first = mul(work, wide(kRows), "first");
        Value extent = memory.extent(b, loc, packs[i].rows());
        loop("own", warp, constant(kRows), warps(), {}, /*unroll=*/1, [&](Value own, Value) {
          Value row = add(first, widen(own, ""), "row");
          when(less(row, extent), [&] { visitRow(packs[i], row); });
          return Value();
        });
      });
}

void ZeroRowsCode::visitRow(red::PackOp pack, Value row) {
  Value isNone =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, hasSequence(pack, row), constant(0));
  when(isNone, [&] { zeroRow(pack, row); });
}

// i32: 1 if some sequence has the row, else 0.
Value ZeroRowsCode::hasSequence(red::PackOp pack, Value row) {
  Value sequences = arith::TruncIOp::create(b, named("sequences"), b.getI32Type(),
                                            memory.extent(b, loc, pack.over()));
  Value found =
      loop("sequence", lane, sequences, kLanes, constant(0), /*unroll=*/4,
           [&](Value sequence, Value carried) -> Value {
             Value at = widen(sequence, "");
             Value index = arith::SubIOp::create(b, named("index"), row,
                                                 memory.element(b, loc, pack.getStart(), at));
             Value isHere = arith::AndIOp::create(
                 b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, index, wide(0)),
                 less(index, memory.element(b, loc, pack.getCount(), at)));
             return arith::SelectOp::create(b, named("found"), isHere, constant(1), carried);
           });
  return tile::FoldLanesOp::create(b, named("found"), found.getType(), tile::Combine::Max, found);
}

// The lanes store the elements of the row in turn.
void ZeroRowsCode::zeroRow(red::PackOp pack, Value row) {
  Value result = pack.getPadded();
  Tensor tensor = tensorOf(result);
  Value count = wide(1);
  for (StringAttr dim : tensor.dims)
    if (dim != pack.getDimAttr())
      count = mul(count, memory.extent(b, loc, dim));
  count = arith::TruncIOp::create(b, named("elements"), b.getI32Type(), count);
  Value zero = arith::ConstantOp::create(
      b, loc, b.getZeroAttr(cast<attn::ArrayType>(result.getType()).getElementType()));
  loop("element", lane, count, kLanes, {}, /*unroll=*/1, [&](Value element, Value) {
    Value rest = widen(element, "");
    SmallVector<Value> at(tensor.dims.size());
    for (size_t axis = at.size(); axis-- > 0;) {
      if (tensor.dims[axis] == pack.getDimAttr()) {
        at[axis] = row;
        continue;
      }
      Value extent = memory.extent(b, loc, tensor.dims[axis]);
      at[axis] = arith::RemSIOp::create(b, named(tensor.dims[axis].getValue()), rest, extent);
      rest = arith::DivSIOp::create(b, loc, rest, extent);
    }
    tile::StoreOp::create(b, loc, zero, memory.pointer(result), memory.offset(b, loc, result, at));
    return Value();
  });
}

} // namespace attnc::schedule
