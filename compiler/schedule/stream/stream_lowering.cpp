#include "compiler/schedule/stream/stream_lowering.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

StreamLowering::StreamLowering(red::NestOp nest, StreamPlan plan, StreamTiles tiles,
                               const KernelSignature &signature, tile::KernelOp kernel,
                               OpBuilder &builder)
    : nest(nest), plan(std::move(plan)), tiles(tiles), memory(nest, signature, kernel),
      kernel(kernel), b(builder), uniform(nest, memory, builder) {}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value StreamLowering::constant(int64_t value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getI32IntegerAttr(value));
}

Value StreamLowering::real(double value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getF32FloatAttr(value));
}

Value StreamLowering::widen(Value index, StringRef name) {
  return arith::ExtSIOp::create(b, named(name), b.getI64Type(), index);
}

Value StreamLowering::narrow(Value index, StringRef name) {
  return arith::TruncIOp::create(b, named(name), b.getI32Type(), index);
}

void StreamLowering::nameAll(ValueRange values, ArrayRef<StringRef> names) {
  for (auto [value, name] : llvm::zip(values, names))
    value.setLoc(named(name));
}

Value StreamLowering::registers(Location loc, Type type, std::optional<double> value) {
  return tile::RegistersOp::create(b, loc, type, value ? b.getF32FloatAttr(*value) : FloatAttr());
}

tile::FragmentType StreamLowering::scoreType() {
  return tile::FragmentType::get(b.getContext(), tiles.warpRows, scoreColumns());
}

tile::RowsType StreamLowering::rowsType() {
  return tile::RowsType::get(b.getContext(), tiles.warpRows);
}

Value StreamLowering::strip(Location loc, Value tile, int64_t count, Value first) {
  auto whole = cast<tile::SharedType>(tile.getType());
  auto part = tile::SharedType::get(b.getContext(), count, whole.getCols(), whole.getElement(),
                                    whole.getPanelRows());
  return tile::StripOp::create(b, loc, part, tile, first);
}

Value StreamLowering::warpStrip(Location loc, Value tile) {
  return strip(loc, tile, tiles.warpRows, warpRow);
}

// index / tile for a non-negative i64 index, rounded up or down, as i32.
Value StreamLowering::tileNumber(Value index, int64_t tile, bool up, StringRef name) {
  Location loc = nest.getLoc();
  auto wide = [&](int64_t v) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)).getResult();
  };
  if (up)
    index = arith::AddIOp::create(b, loc, index, wide(tile - 1));
  return narrow(arith::DivSIOp::create(b, named(name), index, wide(tile)), name);
}

//===----------------------------------------------------------------------===//
// Where the block works
//===----------------------------------------------------------------------===//

// The number of row tiles, as i32.
Value StreamLowering::rowTiles() {
  Location loc = nest.getLoc();
  for (StringAttr dim : {plan.row, plan.stream})
    extents[dim] = narrow(memory.extent(b, loc, dim), (dim.getValue() + "_end").str());
  std::string name = plan.row.getValue().str() + "_tiles";
  if (!tiledPack)
    return tileNumber(memory.extent(b, loc, plan.row), tiles.rows, true, name);
  Value ofRows = tileNumber(memory.extent(b, loc, tiledPack.rows()), tiles.rows, true, "");
  Value sequences = narrow(memory.extent(b, loc, tiledPack.over()), "");
  return arith::AddIOp::create(b, named(name), ofRows, sequences);
}

SmallVector<StringAttr> StreamLowering::cellDims() {
  SmallVector<StringAttr> dims = attn::dimNames(nest.getGrid());
  if (tiledPack)
    llvm::erase(dims, tiledPack.over());
  return dims;
}

// The last sequence whose tiles begin at the number or before, found by halves: low begins there or
// is the first one, high begins beyond.
Value StreamLowering::takeSequence(Value number) {
  Location loc = nest.getLoc();
  auto tilesBefore = [&](Value sequence) -> Value {
    Value start = memory.element(b, loc, tiledPack.getStart(), widen(sequence, ""));
    return arith::AddIOp::create(b, loc, tileNumber(start, tiles.rows, false, ""), sequence);
  };
  auto isWide = [&](OpBuilder &, Location, ValueRange ends) {
    nameAll(ends, {"low", "high"});
    Value between = arith::SubIOp::create(b, loc, ends[1], ends[0]);
    scf::ConditionOp::create(
        b, loc, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, between, constant(1)),
        ends);
  };
  auto halve = [&](OpBuilder &, Location, ValueRange ends) {
    nameAll(ends, {"low", "high"});
    Value both = arith::AddIOp::create(b, loc, ends[0], ends[1]);
    Value middle = arith::DivUIOp::create(b, named("middle"), both, constant(2));
    Value isBefore =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, tilesBefore(middle), number);
    scf::YieldOp::create(b, loc,
                         ValueRange{arith::SelectOp::create(b, loc, isBefore, middle, ends[0]),
                                    arith::SelectOp::create(b, loc, isBefore, ends[1], middle)});
  };
  SmallVector<Value> ends = {constant(0), narrow(memory.extent(b, loc, tiledPack.over()), "")};
  Value sequence =
      scf::WhileOp::create(b, loc, ValueRange(ends).getTypes(), ends, isWide, halve).getResult(0);
  std::string over = tiledPack.over().getValue().str();
  uniform.bind(tiledPack.over(), widen(sequence, over));
  Value tile = arith::SubIOp::create(b, named("tile"), number, tilesBefore(sequence));
  Value count = memory.element(b, named(plan.row.getValue().str() + "_stored"),
                               tiledPack.getCount(), uniform.index(tiledPack.over()));
  Value first = arith::MulIOp::create(b, loc, widen(tile, ""), widen(constant(tiles.rows), ""));
  auto compare = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, how, x, y);
  };
  hasRows = arith::AndIOp::create(b, named("has_rows"),
                                  compare(arith::CmpIPredicate::sge, tile, constant(0)),
                                  compare(arith::CmpIPredicate::slt, first, count));
  return arith::SelectOp::create(b, named("tile"), hasRows, tile, constant(0));
}

// packing.h has the same for the grid.
void StreamLowering::countPacked() {
  Location loc = nest.getLoc();
  auto wide = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  };
  Value all = memory.extent(b, loc, plan.packing->dim), shared = all;
  if (std::optional<Packing::Divisor> divisor = plan.packing->divisor)
    shared = divisor->array ? arith::MinSIOp::create(b, loc, uniform.evaluate(divisor->array), all)
                            : wide(divisor->number);
  shared = b.createOrFold<arith::MaxSIOp>(loc, shared, wide(1));
  tilesOfStream = tileNumber(shared, tiles.pack, true, "packed_tiles");
  sharing = narrow(shared, "sharing");
}

Value StreamLowering::cellExtent(StringAttr dim) {
  Location loc = nest.getLoc();
  Value extent = narrow(memory.extent(b, loc, dim), "extent");
  if (!isPacked(dim))
    return extent;
  Value most = arith::AddIOp::create(b, loc, extent, sharing);
  most = arith::SubIOp::create(b, loc, most, constant(1));
  Value streams = arith::DivUIOp::create(b, named("streams"), most, sharing);
  return arith::MulIOp::create(b, loc, streams, tilesOfStream);
}

// The first index of a tile of the packed dim.
Value StreamLowering::firstPacked(Value tile) {
  Location loc = nest.getLoc();
  StringAttr dim = plan.packing->dim;
  Value stream = arith::DivUIOp::create(b, named("of_stream"), tile, tilesOfStream);
  Value number = arith::RemUIOp::create(b, loc, tile, tilesOfStream);
  Value first = arith::MulIOp::create(b, loc, stream, sharing);
  Value end = arith::AddIOp::create(b, loc, first, sharing);
  Value extent = narrow(memory.extent(b, loc, dim), "extent");
  packedEnd = arith::MinSIOp::create(b, named((dim.getValue() + "_end").str()), end, extent);
  Value before = arith::MulIOp::create(b, loc, number, constant(tiles.pack));
  return arith::AddIOp::create(b, named(dim.getValue()), first, before);
}

void StreamLowering::bindCells(Value cell) { bindCells(cellDims(), cell); }

// The dims' indices, the last one fastest. Of the packed one, the block's first.
void StreamLowering::bindCells(ArrayRef<StringAttr> dims, Value cell) {
  Value rest = cell;
  for (size_t i = dims.size(); i-- > 0;) {
    Location here = named(dims[i].getValue());
    Value index = rest;
    if (i > 0) {
      Value extent = cellExtent(dims[i]);
      index = arith::RemUIOp::create(b, here, rest, extent);
      rest = arith::DivUIOp::create(b, i > 1 ? named("rest") : named(dims[0].getValue()), rest,
                                    extent);
    }
    if (isPacked(dims[i]))
      index = firstPacked(index);
    uniform.bind(dims[i], widen(index, dims[i].getValue()));
  }
}

// The domain's arguments before those of the stream.
SmallVector<Value> StreamLowering::rowArguments(Value first, int64_t count) {
  Location loc = nest.getLoc();
  Value last = arith::AddIOp::create(b, loc, first, constant(count));
  last = arith::MinSIOp::create(b, loc, last, extent32(plan.row));
  last = arith::SubIOp::create(b, named("last"), last, constant(1));
  SmallVector<Value> args;
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    args.push_back(uniform.index(dim));
  args.push_back(widen(first, "first"));
  args.push_back(widen(last, "last"));
  return args;
}

std::pair<Value, Value> StreamLowering::streamRange(Value first, int64_t count) {
  Location loc = nest.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  Value lo = zero, hi = memory.extent(b, loc, plan.stream);
  auto ofRows = [&](Value end) -> Value { // a tile of nothing needs nothing
    return hasRows ? arith::SelectOp::create(b, end.getLoc(), hasRows, end, zero).getResult() : end;
  };
  if (!nest.getDomainBlock())
    return {lo, ofRows(hi)};
  SmallVector<Value> args = rowArguments(first, count);
  args.append({zero, zero});
  red::BoundsOp bounds = uniform.bounds();
  SmallVector<Value> ends = uniform.domain(args, {bounds.getLo().front(), bounds.getHi().front()});
  Location begin = named(plan.stream.getValue().str() + "_lo");
  Location end = named(plan.stream.getValue().str() + "_hi");
  lo = b.createOrFold<arith::MaxSIOp>(begin, ends[0], zero);
  hi = b.createOrFold<arith::MinSIOp>(end, ends[1], hi);
  hi = b.createOrFold<arith::MaxSIOp>(end, hi, zero);
  return {lo, ofRows(hi)};
}

SmallVector<Value> StreamLowering::operandIndices(attn::ReadOp read, unsigned rowAxis) {
  unsigned rank = tensorOf(read.getSource()).dims.size();
  SmallVector<Value> indices(rank);
  for (unsigned axis = 0; axis + 1 < rank; ++axis) {
    if (axis == rowAxis)
      continue;
    StringAttr dim = read.subscriptDim(axis);
    indices[axis] = dim ? uniform.index(dim) : uniform.evaluate(read.subscriptValue(axis));
  }
  return indices;
}

// Everything that depends on grid dims only is computed once, before the loop.
void StreamLowering::hoistUniform() {
  SmallVector<StringAttr> varying = {plan.row, plan.stream};
  llvm::append_range(varying, nest.getInner().getAsRange<StringAttr>());
  for (Operation &op : nest.getBodyBlock()->without_terminator())
    if (!isa<red::FoldOp>(op))
      uniform.hoist(op.getResult(0), varying, /*knowsStates=*/false);
  uniform.hoistExtremes();
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

// True if computing one of the arrays reads a tensor at an index that depends on `dim`.
bool StreamLowering::readsAlong(ArrayRef<Value> arrays, StringAttr dim, ArrayRef<Input> known) {
  llvm::SetVector<Value> reached;
  reached.insert(arrays.begin(), arrays.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (!cast<attn::ArrayType>(value.getType()).hasDim(dim) || isStaged(value) ||
        llvm::any_of(known, [&](const Input &input) { return input.array == value; }))
      continue;
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != nest.getBodyBlock() || isa<attn::ReadOp>(op))
      return true;
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

Value StreamLowering::untilColumn(Location loc, Value end, Value element, Value otherwise) {
  auto op = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp());
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, op.columnIndex(), end);
  return arith::SelectOp::create(b, loc, inside, element, otherwise);
}

Value StreamLowering::insideExtents(Location loc, unsigned weight, Value element) {
  element = untilColumn(loc, extent32(plan.stream), element, real(0));
  auto isIts = [&](const RowSum &sum) { return sum.weight == static_cast<int>(weight); };
  if (llvm::none_of(plan.rowSums, isIts))
    return element;
  auto op = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp());
  Value inside =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, op.rowIndex(), extent32(plan.row));
  return arith::SelectOp::create(b, loc, inside, element, real(0));
}

void StreamLowering::provideStaged(PointEvaluator &evaluator, Value row, Value column) {
  for (auto &[array, staged] : stagedTiles)
    evaluator.provide(array, [this, array, staged, row, column](PointEvaluator &) -> Value {
      Location loc = array.getLoc();
      Value i =
          staged.isVector ? constant(0) : arith::SubIOp::create(b, loc, row, row0).getResult();
      Value j = arith::SubIOp::create(b, loc, column, column0);
      if (staged.turned)
        std::swap(i, j);
      Type element = cast<tile::SharedType>(staged.tile.getType()).getElement();
      return tile::PeekOp::create(b, loc, attn::computeType(element), staged.tile, i, j);
    });
}

void StreamLowering::provideDifferences(PointEvaluator &evaluator, Value row, Value column) {
  for (auto &[array, table] : differenceTables)
    evaluator.provide(array, [this, array, table, row, column](PointEvaluator &) -> Value {
      Location loc = array.getLoc();
      Value difference = arith::SubIOp::create(b, loc, row, column);
      Value at = arith::SubIOp::create(b, loc, difference, firstDifference);
      return tile::PeekOp::create(b, loc, b.getF32Type(), table, constant(0), at);
    });
}

void StreamLowering::copyRows(Location loc, Value from, Value into) {
  map(loc, {}, {}, {{from, {}}}, into,
      [](PointEvaluator &, ValueRange x) -> SmallVector<Value> { return {x[0]}; });
}

void StreamLowering::map(Location loc, Over over, ArrayRef<Value> arrays, ArrayRef<Input> ins,
                         ValueRange outs, MapBody body) {
  SmallVector<Value> places;
  for (const Input &input : ins)
    places.push_back(input.place);
  auto op = tile::MapOp::create(b, loc, rowBegin, over.columnBegin, places, outs);
  Block &block = op.getBody().emplaceBlock();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  PointEvaluator evaluator = uniform;
  auto bindIndex = [&](StringAttr dim, bool partial) {
    Value index = block.addArgument(b.getI32Type(), named(dim.getValue()));
    if (partial && readsAlong(arrays, dim, ins)) {
      Value end = narrow(memory.extent(b, loc, dim), "");
      Value last = arith::SubIOp::create(b, loc, end, constant(1));
      index = arith::MinSIOp::create(b, loc, index, last);
      if (visitsEmptyStreams && dim == plan.stream)
        evaluator.readOnlyIf(
            dim, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, constant(0)));
    }
    evaluator.bind(dim, widen(index, ""));
  };
  bindIndex(plan.row, /*partial=*/true);
  if (over.column)
    bindIndex(over.column, over.partial);
  if (over.column == plan.stream) {
    provideStaged(evaluator, block.getArgument(0), block.getArgument(1));
    provideDifferences(evaluator, block.getArgument(0), block.getArgument(1));
  }
  SmallVector<Value> elements;
  for (const Input &input : ins) {
    elements.push_back(block.addArgument(b.getF32Type(), input.place.getLoc()));
    if (input.array)
      evaluator.define(input.array, elements.back());
  }
  if (over.full)
    evaluator.assumeFull();
  SmallVector<Value> results = body(evaluator, elements);
  tile::YieldOp::create(b, loc, results);
}

void StreamLowering::sharePlaces(Block &body) {
  for (auto step : llvm::to_vector(body.getOps<tile::StepOp>()))
    step.walk([&](tile::RegistersOp place) {
      if (llvm::any_of(place->getUsers(),
                       [&](Operation *user) { return !step->isProperAncestor(user); }))
        place->moveBefore(step);
    });
}

} // namespace attnc::schedule
