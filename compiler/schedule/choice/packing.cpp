#include "compiler/schedule/choice/packing.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

static bool hasDim(Value array, StringAttr dim) {
  return cast<attn::ArrayType>(array.getType()).hasDim(dim);
}

// d of an array `index of dim // d` with a d that does not depend on the dim, or null.
static Value divisorOf(Value array, StringAttr dim) {
  auto map = array.getDefiningOp<attn::MapOp>();
  auto division = map ? map.getYielded().getDefiningOp<arith::FloorDivSIOp>() : nullptr;
  auto operand = [&](Value scalar) -> Value {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument && argument.getOwner() == map.getBodyBlock()
               ? map.getOperand(argument.getArgNumber())
               : Value();
  };
  if (!division)
    return {};
  Value index = operand(division.getLhs()), divisor = operand(division.getRhs());
  auto indexOp = index ? index.getDefiningOp<attn::IndexOp>() : nullptr;
  bool fits = indexOp && divisor && indexOp.getDimAttr() == dim &&
              cast<attn::ArrayType>(divisor.getType()).getDims().empty();
  return fits ? divisor : Value();
}

// Collects the divisors of the dim's indices at which the operand is read; false if it depends on
// the dim otherwise.
static bool addDivisors(const OperandTile &operand, Packing &packing) {
  attn::ReadOp read = operand.read;
  unsigned rank = tensorOf(read.getSource()).dims.size();
  for (unsigned axis = 0; axis < rank; ++axis) {
    if (StringAttr dim = read.subscriptDim(axis)) {
      if (dim == packing.dim)
        return false;
      continue;
    }
    Value subscript = read.subscriptValue(axis);
    if (!hasDim(subscript, packing.dim))
      continue;
    Value divisor = divisorOf(subscript, packing.dim);
    if (!divisor)
      return false;
    packing.divisors.push_back(divisor);
  }
  return true;
}

// True if rows follow each other in a box for each index of the dim.
static bool isOuterAxis(const OperandTile &operand, StringAttr dim) {
  attn::ReadOp read = operand.read;
  for (unsigned axis = 0; axis < operand.rowAxis; ++axis)
    if (read.subscriptDim(axis) == dim)
      return true;
  return false;
}

std::optional<Packing> findPacking(red::NestOp nest, const StreamPlan &plan) {
  if (!plan.isOfTensorsOnly())
    return {};
  SmallVector<StringAttr> grid = attn::dimNames(nest.getGrid());
  for (size_t i = grid.size(); i-- > 0;) {
    Packing packing{grid[i], {}};
    Block *domain = nest.getDomainBlock();
    bool fits =
        (!domain || domain->getArgument(i).use_empty()) &&
        llvm::all_of(plan.contractions,
                     [&](const Contraction &c) { return isOuterAxis(c.resident, grid[i]); }) &&
        llvm::all_of(plan.streamed,
                     [&](const OperandTile &operand) { return addDivisors(operand, packing); });
    if (fits)
      return packing;
  }
  return {};
}

std::optional<ScheduledPacking> scheduledPacking(red::NestOp nest) {
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  int64_t count = schedule ? schedule->pack : 1;
  std::string why;
  FailureOr<StreamPlan> plan;
  if (count == 1 || failed(plan = planStream(nest, why)) || !plan->packing)
    return {};
  llvm::SmallSetVector<Value, 2> divisors;
  divisors.insert_range(plan->packing->divisors);
  return ScheduledPacking{count, plan->packing->dim, divisors.takeVector()};
}

} // namespace attnc::schedule
