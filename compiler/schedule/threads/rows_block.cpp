// Where a block of the rows form works, its arrays, and the loops of its threads.
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/threads/rows_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

static constexpr int64_t kWarp = 32;

RowsLowering::RowsLowering(red::NestOp nest, RowsPlan plan, RowsSchedule schedule,
                           const KernelSignature &signature, tile::KernelOp kernel,
                           OpBuilder &builder)
    : nest(nest), plan(std::move(plan)), schedule(schedule), memory(nest, signature, kernel),
      kernel(kernel), b(builder), block(nest, memory, builder),
      threads(groupThreads(this->plan, schedule)) {}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Location RowsLowering::named(StringRef name) { return NameLoc::get(b.getStringAttr(name)); }

Value RowsLowering::constant(int64_t value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getI32IntegerAttr(value));
}

Value RowsLowering::wide(int64_t value) {
  return arith::ConstantOp::create(b, nest.getLoc(), b.getI64IntegerAttr(value));
}

Value RowsLowering::widen(Value index, StringRef name) {
  return b.createOrFold<arith::ExtSIOp>(named(name), b.getI64Type(), index);
}

Value RowsLowering::binary(StringRef name, char op, Value x, Value y) {
  Location loc = named(name);
  switch (op) {
  case '+':
    return b.createOrFold<arith::AddIOp>(loc, x, y);
  case '-':
    return b.createOrFold<arith::SubIOp>(loc, x, y);
  case '*':
    return b.createOrFold<arith::MulIOp>(loc, x, y);
  case '/':
    return b.createOrFold<arith::DivSIOp>(loc, x, y);
  case '%':
    return b.createOrFold<arith::RemSIOp>(loc, x, y);
  case '<':
    return b.createOrFold<arith::MinSIOp>(loc, x, y);
  case '>':
    return b.createOrFold<arith::MaxSIOp>(loc, x, y);
  }
  llvm_unreachable("all operators are handled");
}

Value RowsLowering::less(Value x, Value y) {
  return arith::CmpIOp::create(b, nest.getLoc(), arith::CmpIPredicate::slt, x, y);
}

int64_t RowsLowering::extentOf(StringAttr dim) {
  return attn::programOf(nest).lookupDim(dim).getExtent();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void RowsLowering::loop(Value from, Value to, int64_t step, StringRef name, Body body,
                        std::optional<int64_t> unroll) {
  bool is64 = to.getType().isInteger(64);
  auto loop = scf::ForOp::create(b, named(name), from, to, is64 ? wide(step) : constant(step));
  loop.getInductionVar().setLoc(named(name));
  if (unroll)
    loop->setAttr(tile::kUnrollAttr, b.getI64IntegerAttr(*unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void RowsLowering::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, nest.getLoc(), condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

void RowsLowering::share(Value count, StringRef name, Body body) {
  loop(thread, count, schedule.threads, name, body);
}

void RowsLowering::sharePoints(Value count, llvm::function_ref<void(Value, Value)> body) {
  if (schedule.rows == 1)
    return share(count, "n", [&](Value n) { body(constant(0), n); });
  Value rows = constant(schedule.rows);
  share(binary("", '*', count, rows), "n", [&](Value n) {
    Value row = binary("row", '%', n, rows);
    body(row, binary("column", '/', n, rows));
  });
}

void RowsLowering::barrier() { tile::BarrierOp::create(b, nest.getLoc()); }

// The group's elements that a thread has, one after the other.
void RowsLowering::eachTurn(unsigned number, llvm::function_ref<void(Value, Value)> body) {
  const RowsGroup &group = plan.groups[number];
  GroupThreads range = threads[number];
  int64_t items = itemsOf(group, schedule);
  int64_t turns = llvm::divideCeil(items, range.count);
  Value own = binary("own", '-', thread, constant(range.first));
  auto inTurn = [&](Value turn) {
    Value item = own;
    if (turns > 1)
      item = binary("item", '+', own, binary("", '*', turn, constant(range.count)));
    else
      turn = Value();
    if (items % range.count == 0)
      return body(turn, item);
    when(less(item, constant(items)), [&] { body(turn, item); });
  };
  auto all = [&] {
    if (turns == 1)
      inTurn(Value());
    else
      loop(constant(0), constant(turns), 1, "turn", inTurn, 0);
  };
  Value first, last;
  if (range.first)
    first = arith::CmpIOp::create(b, nest.getLoc(), arith::CmpIPredicate::sge, own, constant(0));
  bool limited = range.first + range.count < schedule.threads;
  if (limited && items % range.count == 0)
    last = less(own, constant(range.count));
  if (first && last)
    first = arith::AndIOp::create(b, nest.getLoc(), first, last);
  Value inside = first ? first : last;
  if (inside)
    when(inside, all);
  else
    all();
}

// The row and the element of a thread's item, or the first of its rows.
std::pair<RowsLowering::Value, RowsLowering::Value> RowsLowering::splitItem(const RowsGroup &group,
                                                                            Value item) {
  int64_t together = rowsTogether(group, schedule);
  if (schedule.rows == together)
    return {constant(0), item};
  Value own = binary("own_row", '/', item, constant(group.elements));
  if (together > 1)
    own = binary("first_row", '*', own, constant(together));
  return {own, binary("element", '%', item, constant(group.elements))};
}

// The rows from `own` on of which a thread has an element, and their numbers among these.
void RowsLowering::eachRow(const RowsGroup &group, Value own,
                           llvm::function_ref<void(Value, Value)> body) {
  int64_t together = rowsTogether(group, schedule);
  if (together == 1)
    return body(own, Value());
  loop(
      constant(0), constant(together), 1, rowName(),
      [&](Value number) { body(binary(rowName() + "_row", '+', own, number), number); }, 0);
}

// The indices of inner dims whose combination has this number, the last dim fastest.
void RowsLowering::bindInner(PointEvaluator &evaluator, ArrayRef<StringAttr> dims, Value number) {
  Value rest = number;
  for (size_t i = dims.size(); i-- > 0;) {
    Value index = rest;
    if (i > 0) {
      Value extent = constant(extentOf(dims[i]));
      index = binary(dims[i], '%', rest, extent);
      rest = binary(i == 1 ? dims[0].getValue() : "rest", '/', rest, extent);
    }
    evaluator.bind(dims[i], widen(index, dims[i]));
  }
}

//===----------------------------------------------------------------------===//
// The block's cells
//===----------------------------------------------------------------------===//

// The row dim is the fastest, then the other cells, the last one first.
void RowsLowering::bindBlock() {
  Location loc = nest.getLoc();
  thread = tile::ThreadOp::create(b, named("thread"));
  warp = binary("warp_of_block", '/', thread, constant(kWarp));
  lane = binary("lane_of_warp", '%', thread, constant(kWarp));
  auto narrow = [&](Value index, const Twine &name) {
    return b.createOrFold<arith::TruncIOp>(named(name.str()), b.getI32Type(), index);
  };
  Value rest = tile::BlockOp::create(b, named("block"));
  SmallVector<StringAttr> others;
  for (StringAttr dim : plan.cells)
    if (dim != plan.row)
      others.push_back(dim);
  if (plan.row) {
    rowExtent = memory.extent(b, loc, plan.row);
    Value number = rest;
    if (!others.empty()) {
      Value up = binary("", '+', rowExtent, wide(schedule.rows - 1));
      Value tiles = narrow(binary("", '/', up, wide(schedule.rows)), rowName() + "_tiles");
      number = binary("", '%', rest, tiles);
      rest = binary("rest", '/', rest, tiles);
    }
    row0 = binary(rowName() + "0", '*', widen(number, ""), wide(schedule.rows));
  }
  for (size_t i = others.size(); i-- > 0;) {
    Value index = rest;
    if (i > 0) {
      Value extent = narrow(memory.extent(b, loc, others[i]), others[i].getValue() + "_extent");
      index = binary(others[i], '%', rest, extent);
      rest = binary("rest", '/', rest, extent);
    }
    block.bind(others[i], widen(index, others[i]));
  }
}

PointEvaluator RowsLowering::atRow(Value row) {
  PointEvaluator evaluator = block;
  if (!plan.row)
    return evaluator;
  Value index = row0;
  if (schedule.rows > 1) {
    Value last = binary("", '-', rowExtent, wide(1));
    index = binary(rowName(), '<', binary("", '+', row0, widen(row, "")), last);
  }
  evaluator.bind(plan.row, index);
  return evaluator;
}

PointEvaluator RowsLowering::at(Value row, Value column) {
  PointEvaluator evaluator = atRow(row);
  evaluator.bind(plan.stream, binary(plan.stream.getValue(), '+', column0, widen(column, "")));
  return evaluator;
}

//===----------------------------------------------------------------------===//
// What the domain says of the block's rows
//===----------------------------------------------------------------------===//

SmallVector<Value> RowsLowering::rowArguments() {
  SmallVector<Value> args;
  PointEvaluator first = atRow(constant(0));
  PointEvaluator last = atRow(constant(schedule.rows - 1));
  // Of dims that are spread over threads the domain knows nothing.
  auto indexOf = [&](PointEvaluator &evaluator, StringAttr dim) {
    return plan.isCell(dim) ? evaluator.index(dim) : wide(0);
  };
  for (StringAttr dim : nest.getGrid().getAsRange<StringAttr>())
    args.push_back(indexOf(first, dim));
  for (StringAttr dim : nest.getRow().getAsRange<StringAttr>()) {
    args.push_back(indexOf(first, dim));
    args.push_back(indexOf(last, dim));
  }
  return args;
}

// Cells that are no dims of the results are unknown to the block: then nothing bounds the stream.
static bool areKnown(ArrayRef<Value> args) {
  return llvm::all_of(args, [](Value value) { return bool(value); });
}

std::pair<Value, Value> RowsLowering::streamBounds(unsigned axis) {
  Location loc = nest.getLoc();
  auto dim = cast<StringAttr>(nest.getStream()[axis]);
  Value zero = wide(0), extent = memory.extent(b, loc, dim);
  if (!nest.getDomainBlock())
    return {zero, extent};
  SmallVector<Value> args = rowArguments();
  if (!areKnown(args))
    return {zero, extent};
  args.append(2 * nest.getStream().size(), zero);
  PointEvaluator evaluator = block;
  red::BoundsOp bounds = evaluator.bounds();
  SmallVector<Value> ends = evaluator.domain(args, {bounds.getLo()[axis], bounds.getHi()[axis]});
  std::string name = dim.getValue().str();
  return {binary(name + "_begin", '>', ends[0], zero), binary(name + "_end", '<', ends[1], extent)};
}

// i1, or null: the tile of `count` indices from `first` on matters to the block's rows.
Value RowsLowering::isLive(Value first, Value count) {
  Value live = liveCondition(nest);
  SmallVector<Value> args = live ? rowArguments() : SmallVector<Value>();
  if (!live || !areKnown(args))
    return {};
  for (StringAttr dim : plan.outer)
    args.append(2, block.index(dim));
  args.push_back(first);
  args.push_back(binary("", '-', binary("", '+', first, widen(count, "")), wide(1)));
  PointEvaluator evaluator = block;
  return evaluator.domain(args, live).front();
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

Value RowsLowering::array(Location loc, ArrayRef<int64_t> shape, Type element, bool shared) {
  SmallVector<int64_t> extents(shape);
  if (extents.empty())
    extents.push_back(1);
  auto type = tile::ArrayType::get(b.getContext(), extents, element);
  return tile::ArrayOp::create(b, loc, type, shared);
}

Value RowsLowering::get(Value array, ArrayRef<Value> indices, Location loc) {
  auto type = cast<tile::ArrayType>(array.getType());
  return tile::GetOp::create(b, loc, type.getElement(), array, indices);
}

void RowsLowering::set(Value value, Value array, ArrayRef<Value> indices, Location loc) {
  tile::SetOp::create(b, loc, value, array, indices);
}

// Axes of one index are left out, unless there is no other.
SmallVector<Value> RowsLowering::rowIndex(Value row) {
  return {schedule.rows > 1 ? row : constant(0)};
}

SmallVector<Value> RowsLowering::tileIndex(Value row, Value column) {
  return schedule.rows > 1 ? SmallVector<Value>{column, row} : SmallVector<Value>{column};
}

SmallVector<Value> RowsLowering::elementIndex(Value turn, Value number) {
  SmallVector<Value> indices;
  if (turn)
    indices.push_back(turn);
  if (number)
    indices.push_back(number);
  if (indices.empty())
    indices.push_back(constant(0));
  return indices;
}

static Type elementTypeOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getElementType();
}

void RowsLowering::createArrays() {
  SmallVector<int64_t> perTile = {schedule.streamTile};
  if (schedule.rows > 1)
    perTile.push_back(rowStride(schedule));
  for (Value scalar : plan.scalars)
    scalars[scalar] = array(scalar.getLoc(), perTile, elementTypeOf(scalar), true);
  for (const RowsWeight &weight : plan.weights) {
    std::string name = (attn::specName(weight.reference.getLoc()) + "_weight").str();
    weights.push_back(array(attn::renamed(weight.reference.getLoc(), name), perTile,
                            elementTypeOf(weight.exponent), true));
    if (weight.isRunning && !rescale.contains(weight.reference)) {
      std::string factor = (attn::specName(weight.reference.getLoc()) + "_rescale").str();
      rescale[weight.reference] = array(attn::renamed(weight.reference.getLoc(), factor),
                                        {schedule.rows}, elementTypeOf(weight.reference), true);
    }
  }
  for (red::FoldOp state : plan.plain)
    states[state] = array(state.getLoc(), {schedule.rows}, elementTypeOf(state), true);
  createCentres(plan.plain, {schedule.rows}, /*shared=*/true);
  for (auto [number, group] : llvm::enumerate(plan.groups)) {
    SmallVector<int64_t> shape;
    if (int64_t turns = llvm::divideCeil(itemsOf(group, schedule), threads[number].count);
        turns > 1)
      shape.push_back(turns);
    if (int64_t together = rowsTogether(group, schedule); together > 1)
      shape.push_back(together);
    for (red::FoldOp state : group.states)
      elements[state] = array(state.getLoc(), shape, elementTypeOf(state), false);
    createCentres(group.states, shape, /*shared=*/false);
  }
}

} // namespace attnc::schedule
