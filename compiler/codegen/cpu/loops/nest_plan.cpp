#include "compiler/codegen/cpu/loops/nest_plan.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::cpu {

// A tile's buffers should stay in the second-level cache of any machine of the last ten years.
static constexpr int64_t kBufferBudget = 512 * 1024;
static constexpr int64_t kSmallestTile = 8;
// Ops that are computed wherever they are used rather than kept.
static constexpr unsigned kLongestCheap = 64;
// Ops of one expression: longer ones are taken apart, so that loops stay short.
static constexpr unsigned kLongestExpression = 1024;
// An inner dim of dynamic extent is taken to be this large when tiles are chosen.
static constexpr int64_t kAssumedInner = 128;

static ArrayRef<StringAttr> arrayDims(Value array) {
  return cast<attn::ArrayType>(array.getType()).getDims();
}

static DimList names(ArrayAttr dims) {
  DimList result;
  llvm::append_range(result, dims.getAsRange<StringAttr>());
  return result;
}

static bool covers(ArrayRef<StringAttr> dims, ArrayRef<StringAttr> wanted) {
  return llvm::all_of(wanted, [&](StringAttr d) { return llvm::is_contained(dims, d); });
}

llvm::Expected<NestPlan> NestPlan::make(red::NestOp nest) {
  for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>())
    if (!fold.hasUpdate())
      return llvm::createStringError("fold '%s' has no update; derive-updates comes before kernels",
                                     attn::specName(fold.getLoc()).str().c_str());
  NestPlan plan;
  plan.nest = nest;
  plan.assignRoles();
  if (llvm::Error error = plan.assignPhases())
    return error;
  plan.findPairs();
  plan.chooseBuffers();
  plan.chooseOrders();
  plan.chooseTiles();
  return plan;
}

void NestPlan::assignRoles() {
  grid = names(nest.getGrid());
  row = names(nest.getRow());
  stream = names(nest.getStream());
  inner = names(nest.getInner());
  if (row.empty() && !nest.getDomainBlock())
    for (unsigned i = 0; i < 2 && !grid.empty(); ++i)
      row.insert(row.begin(), grid.pop_back_val());
}

llvm::Error NestPlan::assignPhases() {
  for (red::FoldOp fold : nest.states())
    states.insert(fold.getResult());
  for (Operation &op : nest.getBodyBlock()->without_terminator()) {
    Value value = op.getResult(0);
    bool streamed =
        llvm::any_of(arrayDims(value), [&](StringAttr d) { return llvm::is_contained(stream, d); });
    bool epilogue = states.contains(value) || llvm::any_of(op.getOperands(), [&](Value v) {
                      return phases.lookup(v) == Phase::Epilogue;
                    });
    if (epilogue && streamed)
      return llvm::createStringError("value '%s' needs a second pass over its stream",
                                     attn::specName(value.getLoc()).str().c_str());
    phases[value] = epilogue ? Phase::Epilogue : streamed ? Phase::Step : Phase::Prologue;
  }
  return llvm::Error::success();
}

std::optional<int64_t> NestPlan::tile(StringAttr dim) const {
  if (auto found = tiles.find(dim); found != tiles.end())
    return found->second;
  return std::nullopt;
}

const DimList *NestPlan::bufferDims(Value value) const {
  auto found = buffers.find(value);
  return found == buffers.end() ? nullptr : &found->second;
}

const DimList &NestPlan::exponentialDims(ExponentPair pair) const {
  return pairDims.find(pair)->second;
}

DimList NestPlan::tileDims(ArrayRef<StringAttr> dims) const {
  DimList result;
  llvm::copy_if(dims, std::back_inserter(result),
                [&](StringAttr d) { return !llvm::is_contained(grid, d); });
  return result;
}

DimList NestPlan::tileDims(Value array) const { return tileDims(arrayDims(array)); }

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

void NestPlan::findPairs() {
  for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>()) {
    if (fold.getCentre())
      centres.insert(fold.getCentre());
    lowers.insert(fold.getLower().begin(), fold.getLower().end());
    if (!fold.getExponent())
      continue;
    ExponentPair pair{fold.getExponent(), fold.getReference()};
    if (!llvm::is_contained(pairs, pair))
      pairs.push_back(pair);
    if (isState(fold.getResult()))
      references.insert(fold.getReference());
  }
}

// What is in a buffer costs a load; what is not costs its own ops and those that it is made of.
ElementCost NestPlan::findCost(Operation &op) {
  static constexpr unsigned kMost = 4096; // sums of what is shared grow without bound
  ElementCost cost{1, false};
  auto add = [&](Operation *scalar) {
    cost.ops += isa<math::ExpOp, math::Exp2Op>(scalar) ? 25 : isa<attn::RandOp>(scalar) ? 150 : 1;
    cost.calls |= isa<math::TanhOp, math::ErfOp, math::LogOp, math::Log2Op, math::PowFOp>(scalar);
  };
  if (isa<red::FoldOp>(op)) // is always kept: its update is no cost of its readers
    add(&op);
  else
    op.walk(add);
  for (Value operand : op.getOperands()) {
    ElementCost other = buffers.contains(operand) ? ElementCost{1, false} : costs.lookup(operand);
    cost.ops = std::min(kMost, cost.ops + other.ops);
    cost.calls |= other.calls;
  }
  return cost;
}

// Indices, sizes, scalars and integer arithmetic on them cost less than a load.
bool NestPlan::isCheap(Value value) {
  if (auto known = cheap.find(value); known != cheap.end())
    return known->second;
  bool result = computesCheaply(value);
  return cheap[value] = result;
}

bool NestPlan::computesCheaply(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa<red::FoldOp>(op))
    return false;
  if (isa<attn::IndexOp, attn::SizeOp, attn::ParamOp>(op) || tileDims(value).empty())
    return true;
  auto map = dyn_cast<attn::MapOp>(op);
  if (!map)
    return false;
  for (Operation &scalar : map.getBodyBlock()->without_terminator())
    if (!isa<arith::ArithDialect>(scalar.getDialect()) ||
        isa<arith::DivFOp, arith::FloorDivSIOp, arith::DivSIOp, arith::RemSIOp>(scalar))
      return false;
  return costOf(value).ops <= kLongestCheap &&
         llvm::all_of(map.getOperands(), [&](Value v) { return isCheap(v); });
}

// The dims of the loops in which `op` evaluates its operands.
DimList NestPlan::iterationDims(Operation *op) const {
  auto fold = dyn_cast<red::FoldOp>(op);
  if (!fold)
    return tileDims(op->getResult(0));
  SmallVector<Value> operands = fold.termOperands();
  if (fold.getCentre())
    operands.push_back(fold.getCentre());
  return tileDims(attn::unionDims(attn::programOf(nest), operands));
}

bool NestPlan::fitsItsOnlyUse(Value value) const {
  if (!value.hasOneUse())
    return false;
  Operation *user = *value.user_begin();
  if (isa<red::YieldOp>(user))
    return true;
  if (phase(user->getResult(0)) != phase(value) && !isState(user->getResult(0)))
    return false;
  return covers(tileDims(value), iterationDims(user));
}

void NestPlan::chooseBuffers() {
  for (Operation &op : nest.getBodyBlock()->without_terminator()) {
    Value value = op.getResult(0);
    ElementCost cost = costs[value] = findCost(op);
    bool inPlace = value.use_empty() || isCheap(value) ||
                   (fitsItsOnlyUse(value) && cost.ops <= kLongestExpression);
    if (isa<red::FoldOp>(op) || !inPlace)
      buffers.insert({value, tileDims(value)});
  }
}

//===----------------------------------------------------------------------===//
// Orders of dims
//===----------------------------------------------------------------------===//

// The dim along which `value` lies contiguously in memory, if it is not free to be laid out.
StringAttr NestPlan::contiguousDim(Value value) const {
  llvm::SmallDenseSet<Value> seen; // an operand that is shared is walked once
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value array = work.pop_back_val();
    if (buffers.contains(array) || !seen.insert(array).second)
      continue;
    Operation *op = array.getDefiningOp();
    if (auto read = dyn_cast<attn::ReadOp>(op)) {
      unsigned rank = read.getSubscripts().size();
      if (StringAttr dim = rank ? read.subscriptDim(rank - 1) : StringAttr())
        return dim;
    }
    if (auto map = dyn_cast<attn::MapOp>(op))
      for (Value operand : llvm::reverse(map.getOperands()))
        if (covers(tileDims(operand), tileDims(array)))
          work.push_back(operand);
  }
  return {};
}

// The dim of a fold's innermost loop. A contraction, whose operands broadcast against one another,
// runs along its result; a fold of one array follows that array's memory. What is no state adds up
// in order, and runs along its result where no memory says otherwise.
StringAttr NestPlan::vectorDim(red::FoldOp fold) const {
  DimList dims = iterationDims(fold);
  const DimList &result = *bufferDims(fold.getResult());
  DimList folded = tileDims(names(fold.getDims()));
  SmallVector<Value> operands = fold.termOperands();
  if (fold.getCentre())
    operands.push_back(fold.getCentre());
  auto whole = llvm::find_if(operands, [&](Value v) { return covers(tileDims(v), dims); });
  if (whole == operands.end() && !result.empty())
    return result.back();
  if (whole != operands.end())
    if (StringAttr dim = contiguousDim(*whole); dim && llvm::is_contained(dims, dim))
      return dim;
  return isState(fold.getResult()) || result.empty() ? folded.back() : result.back();
}

DimList NestPlan::foldOrder(red::FoldOp fold) const {
  StringAttr last = vectorDim(fold);
  DimList order = *bufferDims(fold.getResult());
  llvm::append_range(order, tileDims(names(fold.getDims())));
  llvm::erase(order, last);
  order.push_back(last);
  return order;
}

StringAttr NestPlan::voteOf(Operation *user, Value value) const {
  DimList dims = tileDims(value);
  auto has = [&](StringAttr d) { return d && llvm::is_contained(dims, d); };
  if (auto fold = dyn_cast<red::FoldOp>(user)) {
    if (StringAttr dim = vectorDim(fold); has(dim))
      return dim;
    DimList folded = names(fold.getDims());
    auto last = llvm::find_if(llvm::reverse(folded), has);
    return last == folded.rend() ? StringAttr() : *last;
  }
  if (auto yield = dyn_cast<red::YieldOp>(user)) {
    unsigned position = llvm::find(yield.getValues(), value) - yield.getValues().begin();
    Value result = nest->getResult(position);
    ArrayRef<StringAttr> stored = arrayDims(result);
    DimList outputDims(stored);
    if (result.hasOneUse())
      if (auto output = dyn_cast<attn::OutputOp>(*result.user_begin()))
        outputDims = names(output.getDims());
    return !outputDims.empty() && has(outputDims.back()) ? outputDims.back() : StringAttr();
  }
  Value result = user->getResult(0);
  if (const DimList *order = bufferDims(result))
    return !order->empty() && has(order->back()) ? order->back() : StringAttr();
  StringAttr dim = votedDim(result);
  return has(dim) ? dim : StringAttr();
}

// What the first user with an opinion wants to be contiguous. Users' own orders are known: values
// are visited from the last to the first.
StringAttr NestPlan::votedDim(Value value) const {
  if (tileDims(value).size() < 2 && !tileDims(value).empty())
    return tileDims(value).back();
  SmallVector<Operation *> users(value.getUsers());
  for (Operation *user : llvm::reverse(users))
    if (StringAttr dim = voteOf(user, value))
      return dim;
  return {};
}

static void moveLast(DimList &dims, StringAttr last) {
  if (!last)
    return;
  llvm::erase(dims, last);
  dims.push_back(last);
}

void NestPlan::chooseOrders() {
  for (auto &[value, dims] : llvm::reverse(buffers))
    moveLast(dims, votedDim(value));
  for (ExponentPair pair : pairs) {
    const DimList *order = bufferDims(pair.first);
    pairDims[pair] = order ? *order : tileDims(pair.first);
  }
}

//===----------------------------------------------------------------------===//
// Tile sizes
//===----------------------------------------------------------------------===//

int64_t NestPlan::bufferBytes() const {
  attn::ProgramOp program = attn::programOf(nest);
  auto count = [&](const DimList &dims) {
    int64_t elements = 1;
    for (StringAttr dim : dims) {
      attn::DimAttr extent = program.lookupDim(dim);
      elements *= tile(dim).value_or(extent.isStatic() ? extent.getExtent() : kAssumedInner);
    }
    return elements;
  };
  int64_t elements = 0;
  for (const auto &[value, dims] : buffers)
    elements += count(dims);
  for (ExponentPair pair : pairs)
    elements += count(exponentialDims(pair));
  return elements * 4;
}

void NestPlan::chooseTiles() {
  for (StringAttr dim : grid)
    tiles[dim] = 1;
  for (ArrayRef<StringAttr> dims : {ArrayRef<StringAttr>(row), ArrayRef<StringAttr>(stream)})
    for (StringAttr dim : dims)
      tiles[dim] = dim == dims.back() ? 64 : 1;
  if (row.size() > 1)
    tiles[row[row.size() - 2]] = 16;
  SmallVector<StringAttr> shrinkable;
  if (!row.empty())
    shrinkable.push_back(row.back());
  if (!stream.empty())
    shrinkable.push_back(stream.back());
  for (int64_t size = 64; size > kSmallestTile; size /= 2)
    for (StringAttr dim : shrinkable)
      if (bufferBytes() > kBufferBudget)
        tiles[dim] = size / 2;

  // What the schedule says comes before what is chosen here.
  auto schedule = tile::scheduleAs<tile::CpuSchedule>(nest.getScheduleAttr());
  if (schedule && schedule->rowTile && !row.empty())
    tiles[row.back()] = schedule->rowTile;
  if (schedule && schedule->streamTile && !stream.empty())
    tiles[stream.back()] = schedule->streamTile;
}

} // namespace attnc::cpu
