#include "compiler/schedule/choice/packing.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/schedule/cleanup/narrow_indices.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <nlohmann/json.hpp>

using namespace mlir;

namespace attnc::schedule {

static bool hasDim(Value array, StringAttr dim) {
  return cast<attn::ArrayType>(array.getType()).hasDim(dim);
}

// d of an array `index of dim // d` with a d that does not depend on the dim.
static std::optional<Packing::Divisor> divisorOf(Value array, StringAttr dim) {
  auto map = array.getDefiningOp<attn::MapOp>();
  auto division = map ? map.getYielded().getDefiningOp<arith::FloorDivSIOp>() : nullptr;
  auto operand = [&](Value scalar) -> Value {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument && argument.getOwner() == map.getBodyBlock()
               ? map.getOperand(argument.getArgNumber())
               : Value();
  };
  Value index = division ? operand(division.getLhs()) : Value();
  auto indexOp = index ? index.getDefiningOp<attn::IndexOp>() : nullptr;
  if (!indexOp || indexOp.getDimAttr() != dim)
    return {};
  IntegerAttr number;
  if (matchPattern(division.getRhs(), m_Constant(&number)))
    return Packing::Divisor{{}, std::clamp<int64_t>(number.getInt(), 1, kLargestExtent)};
  Value divisor = operand(division.getRhs());
  if (!divisor || !cast<attn::ArrayType>(divisor.getType()).getDims().empty())
    return {};
  return Packing::Divisor{divisor};
}

// Whether a grid can be computed from it (tile.kernel).
static bool isOfExtents(const Expr &expr) {
  switch (expr.op) {
  case ExprOp::Integer:
  case ExprOp::Size:
  case ExprOp::Param:
  case ExprOp::Add:
  case ExprOp::Sub:
  case ExprOp::Mul:
  case ExprOp::FloorDiv:
  case ExprOp::Mod:
  case ExprOp::Min:
  case ExprOp::Max:
    return llvm::all_of(expr.operands, isOfExtents);
  default:
    return false;
  }
}

static bool canBeInGrid(const Packing::Divisor &divisor) {
  if (!divisor.array)
    return true;
  Result<Expr> expr = hostExpression(divisor.array);
  return expr && isOfExtents(*expr);
}

// Finds the divisor of the dim's indices at which the operand is read; false if it depends on the
// dim otherwise, or on another divisor than operands before it.
static bool findDivisor(const OperandTile &operand, Packing &packing) {
  if (operand.length && hasDim(operand.length, packing.dim))
    return false;
  attn::ReadOp read = operand.tensorRead();
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
    std::optional<Packing::Divisor> divisor = divisorOf(subscript, packing.dim);
    if (!divisor || (packing.divisor && packing.divisor != divisor) || !canBeInGrid(*divisor))
      return false;
    packing.divisor = divisor;
  }
  return true;
}

// True if rows follow each other in a box for each index of the dim.
static bool isOuterAxis(const OperandTile &operand, StringAttr dim) {
  attn::ReadOp read = operand.read;
  if (!read || operand.length)
    return false;
  for (unsigned axis = 0; axis < operand.rowAxis; ++axis)
    if (read.subscriptDim(axis) == dim)
      return true;
  return false;
}

std::optional<Packing> findPacking(red::NestOp nest, const StreamPlan &plan) {
  if (!plan.isOfRowsOnly())
    return {};
  SmallVector<StringAttr> grid = attn::dimNames(nest.getGrid());
  for (size_t i = grid.size(); i-- > 0;) {
    Packing packing{grid[i]};
    Block *domain = nest.getDomainBlock();
    bool fits =
        (!domain || domain->getArgument(i).use_empty()) &&
        llvm::all_of(plan.contractions,
                     [&](const Contraction &c) { return isOuterAxis(c.resident, grid[i]); }) &&
        llvm::all_of(plan.streamed,
                     [&](const OperandTile &operand) { return findDivisor(operand, packing); });
    if (fits)
      return packing;
  }
  return {};
}

// Numbers and lists are attributes, as in a kernel's grid.
static Attribute gridExpression(const Json &json, Builder &builder) {
  if (json.is_number_integer())
    return builder.getI64IntegerAttr(json.get<int64_t>());
  if (json.is_string())
    return builder.getStringAttr(json.get<std::string>());
  SmallVector<Attribute> items;
  for (const Json &item : json)
    items.push_back(gridExpression(item, builder));
  return builder.getArrayAttr(items);
}

Attribute sharingIndices(red::NestOp nest, const Packing &packing) {
  Builder builder(nest.getContext());
  Attribute all = gridExtent(nest, packing.dim), least = builder.getI64IntegerAttr(1);
  if (!packing.divisor)
    return gridApply("max", all, least);
  Attribute divisor = builder.getI64IntegerAttr(packing.divisor->number);
  if (Value array = packing.divisor->array)
    divisor = gridExpression(exprToJson(*hostExpression(array)), builder);
  // Of a number that is known the extent would say nothing more.
  Attribute some = isa<IntegerAttr>(divisor) ? divisor : gridApply("min", divisor, all);
  return gridApply("max", some, least);
}

Attribute packedTiles(red::NestOp nest, const Packing &packing, int64_t count) {
  Attribute sharing = sharingIndices(nest, packing);
  Attribute streams = gridApply("ceildiv", gridExtent(nest, packing.dim), sharing);
  Attribute each =
      gridApply("ceildiv", sharing, Builder(nest.getContext()).getI64IntegerAttr(count));
  return gridApply("mul", streams, each);
}

} // namespace attnc::schedule
