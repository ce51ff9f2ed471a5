#include "compiler/schedule/stream_visits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

using Known = std::optional<int64_t>;

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// Evaluates the integer arithmetic of a domain; a value is unknown if it cannot.
class DomainEvaluator {
public:
  DomainEvaluator(red::NestOp nest, const StreamPlan &plan, int64_t rows, int64_t extent)
      : nest(nest), plan(plan), rows(rows), extent(extent) {}

  StreamRange range(int64_t firstRow, int64_t lastRow) {
    Block *block = nest.getDomainBlock();
    if (!block)
      return {0, extent};
    values.clear();
    for (BlockArgument argument : block->getArguments())
      values[argument] = 0;
    unsigned grid = nest.getGrid().size();
    values[block->getArgument(grid)] = firstRow;
    values[block->getArgument(grid + 1)] = lastRow;
    auto bounds = cast<red::BoundsOp>(block->getTerminator());
    int64_t lo = evaluate(bounds.getLo().front()).value_or(0);
    int64_t hi = evaluate(bounds.getHi().front()).value_or(extent);
    return {std::clamp<int64_t>(lo, 0, extent), std::clamp<int64_t>(hi, 0, extent)};
  }

private:
  Known evaluate(Value value) {
    if (auto known = values.find(value); known != values.end())
      return known->second;
    Known result = compute(value.getDefiningOp());
    return values[value] = result;
  }

  Known compute(Operation *op) {
    if (!op)
      return {};
    APInt literal;
    if (matchPattern(op, m_ConstantInt(&literal)))
      return literal.isIntN(1) && literal.getBitWidth() == 1 ? literal.getZExtValue()
                                                             : literal.getSExtValue();
    if (auto scalar = dyn_cast<red::ScalarOp>(op))
      return ofArray(scalar.getArray());
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Known condition = evaluate(select.getCondition());
      return condition ? evaluate(*condition ? select.getTrueValue() : select.getFalseValue())
                       : Known();
    }
    if (op->getNumOperands() != 2)
      return {};
    Known a = evaluate(op->getOperand(0)), b = evaluate(op->getOperand(1));
    return a && b ? binary(op, *a, *b) : Known();
  }

  static Known binary(Operation *op, int64_t a, int64_t b) {
    auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
    uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return llvm::TypeSwitch<Operation *, Known>(op)
        .Case<arith::AddIOp>([&](auto) { return wrap(x + y); })
        .Case<arith::SubIOp>([&](auto) { return wrap(x - y); })
        .Case<arith::MulIOp>([&](auto) { return wrap(x * y); })
        .Case<arith::AndIOp>([&](auto) { return a & b; })
        .Case<arith::OrIOp>([&](auto) { return a | b; })
        .Case<arith::MaxSIOp>([&](auto) { return std::max(a, b); })
        .Case<arith::MinSIOp>([&](auto) { return std::min(a, b); })
        .Case<arith::FloorDivSIOp>([&](auto) { return b ? Known(floorDivide(a, b)) : Known(); })
        .Case<arith::CeilDivSIOp>([&](auto) { return b ? Known(-floorDivide(-a, b)) : Known(); })
        .Case<arith::CmpIOp>([&](arith::CmpIOp compare) -> Known {
          switch (compare.getPredicate()) {
          case arith::CmpIPredicate::eq:
            return a == b;
          case arith::CmpIPredicate::ne:
            return a != b;
          case arith::CmpIPredicate::slt:
            return a < b;
          case arith::CmpIPredicate::sle:
            return a <= b;
          case arith::CmpIPredicate::sgt:
            return a > b;
          case arith::CmpIPredicate::sge:
            return a >= b;
          default:
            return {};
          }
        })
        .Default([](auto) { return Known(); });
  }

  // A 0-d array: the extent of a dim, a param's default, a literal. The same for every tile, and
  // computed once however many use it.
  Known ofArray(Value array) {
    if (auto known = arrays.find(array); known != arrays.end())
      return known->second;
    Known result = computeArray(array);
    return arrays[array] = result;
  }

  Known computeArray(Value array) {
    Operation *op = array.getDefiningOp();
    if (auto size = dyn_cast_or_null<attn::SizeOp>(op)) {
      if (size.getDimAttr() == plan.row)
        return rows;
      if (size.getDimAttr() == plan.stream)
        return extent;
      attn::DimAttr dim = attn::programOf(nest).lookupDim(size.getDimAttr());
      return dim.isStatic() ? Known(dim.getExtent()) : Known();
    }
    if (auto param = dyn_cast_or_null<attn::ParamOp>(op))
      return param.getDefaultValue() ? ofArray(param.getDefaultValue()) : Known();
    auto map = dyn_cast_or_null<attn::MapOp>(op);
    if (!map)
      return {};
    for (auto [argument, operand] :
         llvm::zip(map.getBodyBlock()->getArguments(), map.getOperands()))
      values[argument] =
          cast<attn::ArrayType>(operand.getType()).isScalar() ? ofArray(operand) : Known();
    return evaluate(map.getYielded());
  }

  red::NestOp nest;
  const StreamPlan &plan;
  int64_t rows, extent;
  llvm::DenseMap<Value, Known> values, arrays;
};

} // namespace

std::vector<StreamRange> streamRanges(red::NestOp nest, const StreamPlan &plan, int64_t rowTile,
                                      int64_t rows, int64_t extent) {
  DomainEvaluator domain(nest, plan, rows, extent);
  std::vector<StreamRange> ranges;
  for (int64_t first = 0; first < rows; first += rowTile)
    ranges.push_back(domain.range(first, std::min(first + rowTile, rows) - 1));
  return ranges;
}

} // namespace attnc::schedule
