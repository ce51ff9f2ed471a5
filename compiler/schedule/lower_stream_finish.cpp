#include "compiler/schedule/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {

static tile::Combine combineOf(red::FoldKind kind) {
  return kind == red::FoldKind::Mul   ? tile::Combine::Mul
         : kind == red::FoldKind::Max ? tile::Combine::Max
         : kind == red::FoldKind::Min ? tile::Combine::Min
                                      : tile::Combine::Add;
}

// True if something other than an exponent reads the maximum: then it has to be exact.
static bool isResult(red::FoldOp maximum) {
  return llvm::any_of(maximum.getResult().getUses(), [](OpOperand &use) {
    auto fold = dyn_cast<red::FoldOp>(use.getOwner());
    return !fold || fold.getReference() != use.get();
  });
}

// Row vectors hold one share for each lane of a quad until here. A reference that lags becomes
// exact where it matters: sums over the same reference may have any.
void StreamLowering::completeStates() {
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (isa<tile::RowsType>(place.getType()))
      tile::ReduceQuadOp::create(b, s.fold.getLoc(), combineOf(s.fold.getKind()), place);
  for (auto [number, r] : llvm::enumerate(plan.references)) {
    if (!isResult(r.fold))
      continue;
    tile::ReduceQuadOp::create(b, r.fold.getLoc(), tile::Combine::Max, top[number]);
    Value factor = registers(attn::renamed(r.fold.getLoc(), "rescale"), rowsType());
    rescale(number, factor);
    if (Value param = scaleParam[number])
      map(r.fold.getLoc(), {}, {}, {{reference[number], {}}}, reference[number],
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {
                arith::MulFOp::create(b, r.fold.getLoc(), x[0], memory.param(param)).getResult()};
          });
  }
}

// The states that `array` is computed from, with the places that hold them: row vectors, and with
// `fragments` fragments as well.
SmallVector<StreamLowering::Input> StreamLowering::stateInputs(Value array, bool fragments) {
  SmallVector<Input> inputs;
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock())
      continue;
    bool isState = false;
    for (auto [r, place] : llvm::zip(plan.references, reference))
      if (r.fold == op) {
        inputs.push_back({place, reached[i]});
        isState = true;
      }
    for (auto [s, place] : llvm::zip(plan.states, state))
      if (s.fold == op) {
        if (fragments || isa<tile::RowsType>(place.getType()))
          inputs.push_back({place, reached[i]});
        isState = true;
      }
    if (!isState)
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return inputs;
}

void StreamLowering::storeResults() {
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  // Row vectors first: a fragment's result takes the place of its state.
  for (auto [array, result] : llvm::zip(yield.getValues(), nest.getResults()))
    if (!llvm::is_contained(nest.getInner(), tensorOf(result).dims.back()))
      storeRows(array, result);
  SmallVector<std::pair<Value, Value>> fragments;
  for (auto [array, result] : llvm::zip(yield.getValues(), nest.getResults()))
    if (llvm::is_contained(nest.getInner(), tensorOf(result).dims.back()))
      fragments.push_back({array, result});
  for (auto [array, result] : fragments)
    storeFragment(array, result, fragments.size() == 1);
}

// The offset of the result's row 0 for this cell, and the stride of its row dim.
static std::pair<SmallVector<Value>, int> rowAxisOf(Value result, StringAttr row,
                                                    const PointEvaluator &cell) {
  SmallVector<Value> indices;
  int rowAxis = -1;
  for (auto [axis, dim] : llvm::enumerate(tensorOf(result).dims)) {
    if (dim == row)
      rowAxis = axis;
    indices.push_back(dim == row ? Value() : cell.index(dim));
  }
  return {indices, rowAxis};
}

void StreamLowering::storeRows(Value array, Value result) {
  Location loc = array.getLoc();
  Value rows = registers(loc, rowsType());
  map(loc, {}, array, stateInputs(array, false), rows,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        return {evaluator.evaluate(array)};
      });
  auto [indices, rowAxis] = rowAxisOf(result, plan.row, uniform);
  std::string name = cIdentifier(tensorOf(result).name);
  Value base = memory.offset(b, named(name + "_base"), result, indices);
  Value stride = rowAxis + 1 == static_cast<int>(indices.size())
                     ? arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1)).getResult()
                     : memory.stride(result, rowAxis);
  tile::StoreRowsOp::create(b, loc, rows, rowBegin, extent32(plan.row), memory.pointer(result),
                            base, stride);
}

// A result per element goes out through shared memory, whose operands nobody reads any more, so
// that global memory sees whole rows.
void StreamLowering::storeFragment(Value array, Value result, bool last) {
  Location loc = array.getLoc();
  Tensor tensor = tensorOf(result);
  StringAttr inner = tensor.dims.back();
  SmallVector<Input> ins = stateInputs(array, true);
  Value fragment;
  for (const Input &input : ins)
    if (isa<tile::FragmentType>(input.place.getType()))
      fragment = input.place;
  auto type = cast<tile::FragmentType>(fragment.getType());
  Value into = last ? fragment : registers(loc, type);
  int64_t cols = attn::programOf(nest).lookupDim(inner).getExtent();
  map(loc, {inner, constant(0), /*partial=*/cols != type.getCols()}, array, ins, into,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        return {evaluator.evaluate(array)};
      });
  std::string name = cIdentifier(tensor.name);
  auto whole = tile::SharedType::get(b.getContext(), schedule.rowTile, cols, tensor.element);
  auto part = tile::SharedType::get(b.getContext(), warpRows, cols, tensor.element);
  tile::WaitOp::create(b, loc, b.getI64IntegerAttr(0));
  tile::BarrierOp::create(b, loc);
  Value shared = tile::SharedOp::create(b, named(name + "_tile"), whole, b.getI64IntegerAttr(0));
  Value strip = tile::StripOp::create(b, loc, part, shared, warpRow);
  tile::StoreFragmentOp::create(b, loc, into, strip);
  tile::BarrierOp::create(b, loc);

  auto [indices, rowAxis] = rowAxisOf(result, plan.row, uniform);
  indices.back() = Value(); // the inner dim starts at 0
  Value base = memory.offset(b, named(name + "_base"), result, indices);
  Value stride = memory.stride(result, rowAxis);
  Value offset = arith::AddIOp::create(
      b, loc, base, arith::MulIOp::create(b, loc, widen(row0, ""), stride).getResult());
  Value rows = arith::SubIOp::create(b, loc, extent32(plan.row), row0);
  int64_t rowBytes = cols * (tensor.element.getIntOrFloatBitWidth() / 8);
  tile::StoreTileOp::create(b, loc, shared, memory.pointer(result), offset, stride, rows,
                            b.getI64IntegerAttr(std::gcd<int64_t>(16, rowBytes)));
}

} // namespace attnc::schedule
