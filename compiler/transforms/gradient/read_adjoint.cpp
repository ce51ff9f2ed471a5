#include "compiler/transforms/gradient/read_adjoint.h"
#include "compiler/transforms/gradient/substitution.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// An axis of the source that is not simply read along itself: `subscript` has to be the index
/// along `axis`, where `condition` holds.
struct Equation {
  StringAttr axis;
  Value subscript;
  Value condition = {};    ///< may be null
  StringAttr unknown = {}; ///< the dim that it is solved for; null if it stays a condition
  int64_t slope = 0;       ///< of the subscript along that: 1 or -1
};

class ReadAdjoint {
public:
  ReadAdjoint(ArrayBuilder &arrays, ReadOp read, Value gradient)
      : arrays(arrays), read(read), gradient(gradient) {}

  Value run() {
    takeEquations();
    for (Equation &equation : equations)
      chooseUnknown(equation);
    renameOthers();
    for (const Equation &equation : equations)
      if (equation.unknown)
        at[equation.unknown] = solution(equation);
    place();
    return arrays.sum(gradient, summed());
  }

private:
  ArrayRef<StringAttr> axes() { return read.getSource().getType().getDims(); }

  void takeEquations() {
    for (auto [number, axis] : llvm::enumerate(axes())) {
      Value subscript = read.subscriptValue(number);
      if (!subscript && read.subscriptDim(number) == axis)
        kept.push_back(axis);
      else
        equations.push_back(
            split(axis, subscript ? subscript : arrays.index(read.subscriptDim(number))));
    }
    // A dim that one subscript gives is known in those that have more of them.
    auto rank = [&](const Equation &e) {
      return std::pair(dimsOf(e.subscript).size(), llvm::find(axes(), e.axis) - axes().begin());
    };
    llvm::sort(equations, [&](const Equation &x, const Equation &y) { return rank(x) < rank(y); });
  }

  /// A subscript that is negative, and so outside, but where a condition holds.
  Equation split(StringAttr axis, Value subscript) {
    auto map = subscript.getDefiningOp<MapOp>();
    auto choice = map ? map.getYielded().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
    APInt outside;
    if (!choice || !matchPattern(choice.getFalseValue(), m_ConstantInt(&outside)) ||
        !outside.isNegative())
      return {axis, subscript};
    return {axis, yieldOf(map, choice.getTrueValue()), yieldOf(map, choice.getCondition())};
  }

  /// A scalar of a map's region as an array of its own.
  Value yieldOf(MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return map.getOperand(argument.getArgNumber());
    return arrays.map(map.getOperands(), scalar.getType(),
                      [&](ImplicitLocOpBuilder &b, ValueRange scalars) -> Value {
                        IRMapping mapping;
                        mapping.map(map.getBodyBlock()->getArguments(), scalars);
                        for (Operation &op : map.getBodyBlock()->without_terminator())
                          b.clone(op, mapping);
                        return mapping.lookup(scalar);
                      });
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
    for (StringAttr dim : dimsOf(read.getResult()))
      if (llvm::is_contained(axes(), dim) && !llvm::is_contained(kept, dim) && !isSolved(dim)) {
        renamed[dim] = arrays.addDim(dim);
        at[dim] = arrays.index(renamed[dim]);
      }
  }

  /// slope * (index along the axis - subscript at index 0)
  Value solution(const Equation &equation) {
    Type integer = arrays.builder().getI64Type();
    Substitution start = at;
    start[equation.unknown] =
        arrays.map({}, integer, [](ImplicitLocOpBuilder &b, ValueRange) -> Value {
          return arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
        });
    Value rest = substitute(arrays, equation.subscript, start);
    return arrays.map({arrays.index(equation.axis), rest}, integer,
                      [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                        return equation.slope > 0 ? arith::SubIOp::create(b, x[0], x[1])
                                                  : arith::SubIOp::create(b, x[1], x[0]);
                      });
  }

  /// The gradient as a function of the axes and of the dims that are left to be summed.
  void place() {
    gradient = substitute(arrays, gradient, at);
    for (const Equation &equation : equations) {
      if (equation.unknown)
        keepWhere(isWithin(at[equation.unknown], equation.unknown));
      else
        keepWhere(
            arrays.equal(substitute(arrays, equation.subscript, at), arrays.index(equation.axis)));
      if (equation.condition)
        keepWhere(substitute(arrays, equation.condition, at));
    }
  }

  Value isWithin(Value index, StringAttr dim) {
    return arrays.map({index, arrays.size(dim)}, arrays.builder().getI1Type(),
                      [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                        Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
                        return arith::AndIOp::create(
                            b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, x[0], zero),
                            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[0], x[1]));
                      });
  }

  void keepWhere(Value condition) { gradient = arrays.where(condition, gradient); }

  /// The dims along which one element is read several times.
  Dims summed() {
    Dims dims;
    for (StringAttr dim : dimsOf(read.getResult()))
      if (!isSolved(dim) && !llvm::is_contained(kept, dim))
        dims.push_back(renamed.contains(dim) ? renamed[dim] : dim);
    return dims;
  }

  ArrayBuilder &arrays;
  ReadOp read;
  Value gradient;
  Dims kept; // dims of the result that are axes
  SmallVector<Equation> equations;
  llvm::DenseMap<StringAttr, StringAttr> renamed;
  Substitution at; // an index for each dim that is renamed or solved for
};

} // namespace

Value adjointOfSource(ArrayBuilder &arrays, ReadOp read, Value gradient) {
  if (read.isPlain() && !read.getOtherwise() &&
      llvm::equal(read.getSubscripts().getAsRange<StringAttr>(),
                  read.getSource().getType().getDims()))
    return gradient;
  return ReadAdjoint(arrays, read, gradient).run();
}

} // namespace attnc
