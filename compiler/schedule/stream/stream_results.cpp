#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Row vectors hold one share for each lane of a quad until here.
void StreamLowering::completeStates() {
  if (hasMoments()) {
    completeReferences();
    return settleMoments();
  }
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (isa<tile::RowsType>(place.getType()))
      reduceRows(s.fold, place);
  completeReferences();
}

void StreamLowering::reduceRows(red::FoldOp fold, Value rows) {
  tile::ReduceQuadOp::create(b, fold.getLoc(), combineOf(fold.getKind()), rows);
  mergeSharing(fold, rows);
}

void StreamLowering::mergeRows(red::FoldOp fold, Value rows, Value other) {
  map(fold.getLoc(), {}, {}, {{rows, {}}, {other, {}}}, rows,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {red::inlineUpdate(b, fold.getLoc(), fold.getMerge(), x)};
      });
}

// A reference that lags becomes exact where a result depends on it; in quotients of sums against
// it, say, it cancels.
void StreamLowering::completeReferences() {
  for (auto [number, r] : llvm::enumerate(plan.references)) {
    if (!dependsOnReference(nest, r.fold))
      continue;
    reduceRows(r.fold, top[number]);
    Value factor = rescaleFactor(number);
    moveReference(number, factor);
    rescaleFragments(number, factor);
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
    bool isState = finished.contains(reached[i]);
    if (isState)
      inputs.push_back({finished[reached[i]], reached[i]});
    if (Value sum = bandSums.lookup(reached[i])) {
      if (fragments)
        inputs.push_back({sum, reached[i]});
      isState = true;
    }
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

void StreamLowering::storeResults(
    llvm::function_ref<void(Value array, Value result, bool last)> storeFragment) {
  foldEpilogue();
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  // Row vectors first: a fragment's result takes the place of its state.
  {
    OpBuilder::InsertionGuard guard(b);
    Value part = warpColumn ? warpColumn : columnPart;
    bool isShared = part && llvm::any_of(nest.getResults(), [&](Value result) {
                      return !llvm::is_contained(nest.getInner(), tensorOf(result).dims.back());
                    });
    // Blocks, or warps, that share the columns of a row have the same values: the first stores
    // them.
    if (isShared) {
      Value isFirst =
          arith::CmpIOp::create(b, nest.getLoc(), arith::CmpIPredicate::eq, part, constant(0));
      auto branch = scf::IfOp::create(b, nest.getLoc(), isFirst, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    for (auto [array, result] : llvm::zip(yield.getValues(), nest.getResults()))
      if (!llvm::is_contained(nest.getInner(), tensorOf(result).dims.back()))
        storeRows(array, result);
  }
  SmallVector<std::pair<Value, Value>> fragments;
  for (auto [array, result] : llvm::zip(yield.getValues(), nest.getResults()))
    if (llvm::is_contained(nest.getInner(), tensorOf(result).dims.back()) && !plan.isRowSum(result))
      fragments.push_back({array, result});
  for (auto [array, result] : fragments)
    storeFragment(array, result, fragments.size() == 1);
}

// The indices of the result's elements in this cell, null where they vary, and the axis of its
// rows.
std::pair<SmallVector<Value>, int> StreamLowering::rowAxisOf(Value result) {
  SmallVector<Value> indices;
  int rowAxis = -1;
  red::PackOp pack = packOf(result);
  for (auto [axis, dim] : llvm::enumerate(tensorOf(result).dims)) {
    if (dim == plan.row)
      rowAxis = axis;
    Value index = llvm::is_contained(nest.getGrid(), dim) ? uniform.index(dim) : Value();
    if (pack && dim == pack.getDimAttr()) {
      Value first = memory.element(b, named(dim.getValue().str() + "_first"), pack.getStart(),
                                   uniform.index(pack.over()));
      index = index ? arith::AddIOp::create(b, result.getLoc(), first, index).getResult() : first;
    }
    indices.push_back(index);
  }
  return {indices, rowAxis};
}

Value StreamLowering::storeEnd(Value result) {
  red::PackOp pack = packOf(result);
  if (!pack)
    return extent32(plan.row);
  Location loc = named(pack.getDim().str() + "_stored");
  Value count = memory.element(b, loc, pack.getCount(), uniform.index(pack.over()));
  if (tiledPack) {
    Value end = arith::MinSIOp::create(b, loc, narrow(count, ""), extent32(plan.row));
    return arith::SelectOp::create(b, loc, hasRows, end, constant(0));
  }
  if (pack.getDimAttr() == plan.row)
    return arith::MinSIOp::create(b, loc, narrow(count, ""), extent32(plan.row));
  Value isStored = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         uniform.index(pack.getDimAttr()), count);
  return arith::SelectOp::create(b, loc, isStored, extent32(plan.row), constant(0));
}

void StreamLowering::storeRows(Value array, Value result) {
  Location loc = array.getLoc();
  Value rows = registers(loc, rowsType());
  map(loc, {}, array, stateInputs(array, false), rows,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        return {evaluator.evaluate(array)};
      });
  auto [indices, rowAxis] = rowAxisOf(result);
  std::string name = cIdentifier(tensorOf(result).name);
  Value base = memory.offset(b, named(name + "_base"), result, indices);
  Value stride = rowAxis + 1 == static_cast<int>(indices.size())
                     ? arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1)).getResult()
                     : memory.stride(result, rowAxis);
  tile::StoreRowsOp::create(b, loc, rows, storeBegin(), storeEnd(result), memory.pointer(result),
                            base, stride);
}

// The largest parts of `array` that are computed from states once for each row, not for each
// element: a division, say.
SmallVector<Value> StreamLowering::rowParts(Value array) {
  SmallVector<Value> parts;
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock() || isa<red::FoldOp>(op))
      continue;
    auto type = cast<attn::ArrayType>(reached[i].getType());
    bool isRow = type.hasDim(plan.row) && type.getElementType().isF32() &&
                 llvm::none_of(nest.getInner().getAsRange<StringAttr>(),
                               [&](StringAttr dim) { return type.hasDim(dim); });
    if (isRow && isa<attn::MapOp>(op))
      parts.push_back(reached[i]);
    else
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return parts;
}

// The row tiles of one part follow each other, so that what they have in common stays in the cache.
Value StreamLowering::takeColumnPart(Value cell) {
  int64_t parts = headDimTiles(plan);
  if (parts == 1)
    return cell;
  columnPart = arith::RemSIOp::create(b, named("column_part"), cell, constant(parts));
  return arith::DivSIOp::create(b, named("cell"), cell, constant(parts));
}

Value StreamLowering::partBegin() {
  return arith::MulIOp::create(b, named("column_begin"), columnPart, constant(tiles.partColumns));
}

Value StreamLowering::columnsLeft(int64_t extent, int64_t cols) {
  int64_t parts = std::max(headDimTiles(plan), tiles.sharingWarps);
  if (!columnPart || parts * cols == extent)
    return {};
  return arith::SubIOp::create(b, named("columns_left"), constant(extent), partBegin());
}

Value StreamLowering::epilogueFragment(Value array, Value result, bool last) {
  Location loc = array.getLoc();
  Tensor tensor = tensorOf(result);
  StringAttr inner = tensor.dims.back();
  SmallVector<Input> ins = elementInputs(array);
  for (auto [read, tile] : finishTiles)
    ins.push_back({warpStrip(loc, tile), read});
  Value fragment;
  for (const Input &input : ins)
    if (isa<tile::FragmentType>(input.place.getType()))
      fragment = input.place;
  tile::FragmentType
      type; // what comes from row vectors alone has the shape of the states beside it
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (s.fold.getType().hasDim(inner))
      type = cast<tile::FragmentType>(place.getType());
  Value into = fragment && last ? fragment : registers(loc, type);
  int64_t cols = attn::programOf(nest).lookupDim(inner).getExtent();
  Value begin = columnPart ? partBegin() : constant(0);
  bool partial = columnPart ? bool(columnsLeft(cols, type.getCols())) : cols != type.getCols();
  map(loc, {inner, begin, partial}, array, ins, into,
      [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
        return {evaluator.evaluate(array)};
      });
  return into;
}

} // namespace attnc::schedule
