#include "compiler/transforms/read_adjoints/read_adjoint.h"
#include "compiler/transforms/arrays/substitution.h"
#include "compiler/transforms/read_adjoints/access.h"
#include "compiler/transforms/read_adjoints/clamped_subscript.h"
#include "compiler/transforms/read_adjoints/table_adjoint.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// Axes of the source that are not simply read along themselves: `subscript` has to be `target`, a
/// function of the axes.
struct Equation {
  StringAttr axis; ///< the first of them
  Value target, subscript;
  StringAttr unknown = {}; ///< the dim that it is solved for; null if it stays a condition
  int64_t slope = 0;       ///< of the subscript along that: 1 or -1
};

/// What a quotient and a residue are made of.
struct Division {
  Value dividend;
  int64_t divisor;
};

bool isSameIndex(Value x, Value y) {
  auto p = x.getDefiningOp<IndexOp>(), q = y.getDefiningOp<IndexOp>();
  return x == y || (p && q && p.getDimAttr() == q.getDimAttr());
}

/// The operands of an array that is an `Op` of another one and of a constant.
template <class Op> std::optional<Division> operandsOf(ArrayBuilder &arrays, Value array) {
  auto map = array.getDefiningOp<MapOp>();
  auto op = map ? map.getYielded().getDefiningOp<Op>() : Op();
  APInt divisor;
  if (!op || !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive())
    return std::nullopt;
  return Division{yieldOf(arrays, map, op->getOperand(0)), divisor.getSExtValue()};
}

/// x and c of x // c and x % c.
std::optional<Division> divisionOf(ArrayBuilder &arrays, Value quotient, Value residue) {
  std::optional<Division> q = operandsOf<arith::FloorDivSIOp>(arrays, quotient);
  std::optional<Division> r = q ? operandsOf<ModOp>(arrays, residue) : std::nullopt;
  bool isOne = r && q->divisor == r->divisor && isSameIndex(q->dividend, r->dividend);
  return isOne ? q : std::nullopt;
}

/// Solves subscripts for the indices of the places; what cannot be solved stays a condition.
class ReadAdjoint {
public:
  ReadAdjoint(ArrayBuilder &arrays, const Access &access, Value gradient)
      : arrays(arrays), access(access), gradient(gradient) {}

  Value run() {
    takeEquations();
    joinQuotients();
    sortEquations();
    for (Equation &equation : equations)
      chooseUnknown(equation);
    renameOthers();
    for (const Equation &equation : equations)
      if (equation.unknown)
        at[equation.unknown] = solution(equation);
    return place();
  }

private:
  void takeEquations() {
    for (auto [axis, value] : access.subscripts)
      if (value)
        equations.push_back({axis, arrays.index(axis), value});
      else
        kept.push_back(axis);
  }

  /// x // c == a and x % c == b are x == a * c + b, where b < c.
  void joinQuotients() {
    for (size_t i = 0; i < equations.size(); ++i)
      for (size_t j = 0; j < equations.size(); ++j)
        if (std::optional<Division> division =
                divisionOf(arrays, equations[i].subscript, equations[j].subscript);
            division && hasUnitSlope(division->dividend)) {
          join(equations[i], equations[j], *division);
          equations.erase(equations.begin() + j);
          return joinQuotients();
        }
  }

  void join(Equation &quotient, const Equation &residue, const Division &division) {
    StringAttr axis = residue.axis;
    DimAttr extent = arrays.programOp().lookupDim(axis);
    if (!extent.isStatic() || extent.getExtent() > division.divisor)
      conditions.push_back(arrays.map({residue.target}, arrays.builder().getI1Type(),
                                      [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                                        return arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                                                     x[0],
                                                                     literal(b, division.divisor));
                                      }));
    quotient.subscript = division.dividend;
    quotient.target = arrays.map({quotient.target, residue.target}, arrays.builder().getI64Type(),
                                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                                   Value whole =
                                       arith::MulIOp::create(b, x[0], literal(b, division.divisor));
                                   return arith::AddIOp::create(b, whole, x[1]);
                                 });
  }

  static Value literal(ImplicitLocOpBuilder &b, int64_t number) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(number));
  }

  /// A dim that one subscript gives is known in those that have more of them.
  void sortEquations() {
    Dims axes = access.axes();
    auto rank = [&](const Equation &e) {
      return std::pair(dimsOf(e.subscript).size(), llvm::find(axes, e.axis) - axes.begin());
    };
    llvm::sort(equations, [&](const Equation &x, const Equation &y) { return rank(x) < rank(y); });
  }

  /// Finds a dim that alone says what the subscript is, and that no other equation is solved for or
  /// with.
  void chooseUnknown(Equation &equation) {
    for (StringAttr dim : dimsOf(equation.subscript)) {
      std::optional<int64_t> slope = slopeAlong(equation.subscript, dim);
      bool isUsed = llvm::any_of(equations, [&](const Equation &other) {
        return other.unknown && llvm::is_contained(dimsOf(other.subscript), dim);
      });
      if (!slope || std::abs(*slope) != 1 || llvm::is_contained(kept, dim) || isUsed)
        continue;
      equation.unknown = dim;
      equation.slope = *slope;
      return;
    }
  }

  bool isSolved(StringAttr dim) {
    return llvm::any_of(equations, [&](const Equation &e) { return e.unknown == dim; });
  }

  /// Dims that are left to be summed and share their name with an axis which they do not stand for.
  void renameOthers() {
    Dims axes = access.axes();
    for (StringAttr dim : access.places)
      if (llvm::is_contained(axes, dim) && !llvm::is_contained(kept, dim) && !isSolved(dim)) {
        renamed[dim] = arrays.addDim(dim);
        at[dim] = arrays.index(renamed[dim]);
      }
  }

  /// slope * (target - subscript at index 0)
  Value solution(const Equation &equation) {
    Type integer = arrays.builder().getI64Type();
    Substitution start = at;
    start[equation.unknown] = arrays.map(
        {}, integer, [](ImplicitLocOpBuilder &b, ValueRange) -> Value { return literal(b, 0); });
    Value rest = substitute(arrays, equation.subscript, start);
    return arrays.map({equation.target, rest}, integer,
                      [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                        return equation.slope > 0 ? arith::SubIOp::create(b, x[0], x[1])
                                                  : arith::SubIOp::create(b, x[1], x[0]);
                      });
  }

  /// The gradient as a function of the axes, summed over the dims that are left. What does not vary
  /// along these is a condition on the sum, not on what is summed.
  Value place() {
    for (const Equation &equation : equations)
      if (equation.unknown)
        conditions.push_back(isWithin(arrays, at[equation.unknown], equation.unknown));
      else
        conditions.push_back(
            arrays.equal(substitute(arrays, equation.subscript, at), equation.target));
    Dims summed = dimsToSum();
    auto varies = [&](Value condition) {
      return llvm::any_of(dimsOf(condition),
                          [&](StringAttr dim) { return llvm::is_contained(summed, dim); });
    };
    Value total = substitute(arrays, gradient, at);
    for (Value condition : llvm::make_filter_range(conditions, varies))
      total = arrays.where(condition, total);
    total = arrays.sum(total, summed);
    for (Value condition : conditions)
      if (!varies(condition))
        total = arrays.where(condition, total);
    return total;
  }

  /// The dims along which one element is read several times.
  Dims dimsToSum() {
    Dims dims;
    for (StringAttr dim : access.places)
      if (!isSolved(dim) && !llvm::is_contained(kept, dim))
        dims.push_back(renamed.contains(dim) ? renamed[dim] : dim);
    return dims;
  }

  ArrayBuilder &arrays;
  const Access &access;
  Value gradient;
  Dims kept; // places that are axes
  SmallVector<Equation> equations;
  SmallVector<Value> conditions; // on axes, and on what is summed
  llvm::DenseMap<StringAttr, StringAttr> renamed;
  Substitution at; // an index for each dim that is renamed or solved for
};

} // namespace

Value adjointOfAccess(ArrayBuilder &arrays, const Access &access, Value gradient) {
  if (Value known = adjointThroughTable(arrays, access, gradient))
    return known;
  if (Value known = adjointByCases(arrays, access, gradient))
    return known;
  return ReadAdjoint(arrays, access, gradient).run();
}

Value adjointOfSource(ArrayBuilder &arrays, ReadOp read, Value gradient) {
  if (read.isPlain() && !read.getOtherwise() &&
      llvm::equal(read.getSubscripts().getAsRange<StringAttr>(),
                  read.getSource().getType().getDims()))
    return gradient;
  return adjointOfAccess(arrays, accessOf(arrays, read), gradient);
}

} // namespace attnc
