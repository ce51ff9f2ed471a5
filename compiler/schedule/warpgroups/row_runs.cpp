#include "compiler/schedule/warpgroups/row_runs.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {
namespace {

// Rows after which the swizzle of a tile repeats.
constexpr int64_t kLeastRun = 8;

/// How a number goes along the rows of a run whose first and last row exist.
enum class Course {
  Unknown,
  Same,  ///< it does not depend on the row, or does not change inside of a run
  Index, ///< the row's index
  Ramp   ///< it grows by 1 from row to row
};

bool grows(Course course) { return course == Course::Index || course == Course::Ramp; }

class Courses {
public:
  Courses(StringAttr along, int64_t rows) : along(along), rows(rows) {}

  int64_t runLength() const { return rows; }

  /// Of a subscript, which may be negative where a comparison does not hold: no such row exists. If
  /// a comparison with what grows holds at both ends of a run, it holds between them. That is so of
  /// the subscript itself alone: what is computed from such a number may exist all the same.
  Course ofSubscript(Value array) {
    auto map = array.getDefiningOp<attn::MapOp>();
    auto select = map ? map.getYielded().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
    if (!select)
      return of(array);
    auto isNegative = [](Value scalar) {
      APInt number;
      return matchPattern(scalar, m_ConstantInt(&number)) && number.isNegative();
    };
    Value there = isNegative(select.getFalseValue())  ? select.getTrueValue()
                  : isNegative(select.getTrueValue()) ? select.getFalseValue()
                                                      : Value();
    auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
    return there && compare && isMonotone(map, compare) ? of(map, there) : Course::Unknown;
  }

private:
  bool isMonotone(attn::MapOp map, arith::CmpIOp compare) {
    using enum arith::CmpIPredicate;
    if (!llvm::is_contained({slt, sle, sgt, sge}, compare.getPredicate()))
      return false;
    Course left = of(map, compare.getLhs()), right = of(map, compare.getRhs());
    return (grows(left) && right == Course::Same) || (grows(right) && left == Course::Same);
  }

  Course of(Value array) {
    if (!cast<attn::ArrayType>(array.getType()).hasDim(along))
      return Course::Same;
    Operation *op = array.getDefiningOp();
    if (auto map = dyn_cast<attn::MapOp>(op))
      return of(map, map.getYielded());
    if (auto read = dyn_cast<attn::ReadOp>(op))
      return isSameRead(read) ? Course::Same : Course::Unknown;
    return isa<attn::IndexOp>(op) ? Course::Index : Course::Unknown;
  }

  // True if a run reads one element of a table.
  bool isSameRead(attn::ReadOp read) {
    for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis) {
      StringAttr dim = read.subscriptDim(axis);
      if (dim ? dim == along : of(read.subscriptValue(axis)) != Course::Same)
        return false;
    }
    return true;
  }

  Course of(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return of(map.getOperand(argument.getArgNumber()));
    Operation *op = scalar.getDefiningOp();
    auto courseOf = [&](unsigned operand) { return of(map, op->getOperand(operand)); };
    if (llvm::all_of(op->getOperands(), [&](Value v) { return of(map, v) == Course::Same; }))
      return Course::Same;
    if (isa<arith::AddIOp>(op) && ((grows(courseOf(0)) && courseOf(1) == Course::Same) ||
                                   (grows(courseOf(1)) && courseOf(0) == Course::Same)))
      return Course::Ramp;
    if (isa<arith::SubIOp>(op) && grows(courseOf(0)) && courseOf(1) == Course::Same)
      return Course::Ramp;
    APInt divisor;
    bool divides = isa<arith::FloorDivSIOp, attn::ModOp>(op) && courseOf(0) == Course::Index &&
                   matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) &&
                   divisor.isStrictlyPositive();
    if (divides) { // runs end where the quotient changes
      rows = std::gcd(rows, divisor.getSExtValue());
      return isa<attn::ModOp>(op) ? Course::Ramp : Course::Same;
    }
    return Course::Unknown;
  }

  StringAttr along;
  int64_t rows;
};

} // namespace

std::optional<RowRun> runOfRows(attn::ReadOp read, StringAttr along, int64_t rows) {
  Courses courses(along, rows);
  std::optional<unsigned> found;
  for (unsigned axis = 0; axis + 1 < read.getSubscripts().size(); ++axis) {
    StringAttr dim = read.subscriptDim(axis);
    Course course = !dim           ? courses.ofSubscript(read.subscriptValue(axis))
                    : dim == along ? Course::Index
                                   : Course::Same;
    if (course == Course::Unknown || (grows(course) && found))
      return std::nullopt;
    if (grows(course))
      found = axis;
  }
  int64_t run = courses.runLength();
  if (!found || run % kLeastRun || rows / run > 32)
    return std::nullopt;
  return RowRun{run, *found};
}

} // namespace attnc::schedule
