#include "compiler/transforms/read_adjoints/clamped_subscript.h"
#include "compiler/transforms/arrays/substitution.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

using Compare = arith::CmpIPredicate;

/// `first` where the condition holds, else `second`; null is outside of the source.
struct Choice {
  Value condition, first, second;
};

/// A maximum or minimum is its first operand where that compares so with the second.
std::optional<Compare> comparisonOf(Operation *op) {
  if (isa_and_nonnull<arith::MaxSIOp>(op))
    return Compare::sge;
  if (isa_and_nonnull<arith::MinSIOp>(op))
    return Compare::sle;
  return std::nullopt;
}

class Cases {
public:
  Cases(ArrayBuilder &arrays, const Access &access, Value gradient)
      : arrays(arrays), access(access), gradient(gradient) {}

  Value run() {
    for (unsigned number = 0; number < access.subscripts.size(); ++number)
      if (Value value = access.subscripts[number].value)
        if (std::optional<Choice> choice = choiceOf(value))
          return divide(number, *choice);
    return {};
  }

private:
  std::optional<Choice> choiceOf(Value value) {
    auto map = value.getDefiningOp<MapOp>();
    Operation *op = map ? map.getYielded().getDefiningOp() : nullptr;
    if (auto select = dyn_cast_or_null<arith::SelectOp>(op)) {
      if (!isOutside(select.getFalseValue()))
        return std::nullopt;
      return Choice{yieldOf(arrays, map, select.getCondition()),
                    yieldOf(arrays, map, select.getTrueValue()), Value()};
    }
    std::optional<Compare> predicate = comparisonOf(op);
    if (!predicate || !isSolvable(value))
      return std::nullopt;
    Value first = yieldOf(arrays, map, op->getOperand(0));
    Value second = yieldOf(arrays, map, op->getOperand(1));
    Value condition = arrays.map({first, second}, arrays.builder().getI1Type(),
                                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                                   return arith::CmpIOp::create(b, *predicate, x[0], x[1]);
                                 });
    return Choice{condition, first, second};
  }

  static bool isOutside(Value scalar) {
    APInt number;
    return matchPattern(scalar, m_ConstantInt(&number)) && number.isNegative();
  }

  /// True if a value, or each of those that it is one of, has a dim that it can be solved for or is
  /// the same at all places.
  bool isSolvable(Value value) {
    auto map = value.getDefiningOp<MapOp>();
    Operation *op = map ? map.getYielded().getDefiningOp() : nullptr;
    if (comparisonOf(op))
      return llvm::all_of(op->getOperands(),
                          [&](Value operand) { return isSolvable(yieldOf(arrays, map, operand)); });
    return dimsOf(value).empty() || hasUnitSlope(value);
  }

  Value divide(unsigned number, const Choice &choice) {
    Value share = take(number, choice.first, choice.condition);
    if (!choice.second)
      return share;
    return arrays.add(share, take(number, choice.second, isNot(choice.condition)));
  }

  Value take(unsigned number, Value value, Value condition) {
    Access part = access;
    part.subscripts[number].value = value;
    return adjointOfAccess(arrays, part, arrays.where(condition, gradient));
  }

  Value isNot(Value condition) {
    return arrays.map({condition}, arrays.builder().getI1Type(),
                      [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                        Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
                        return arith::XOrIOp::create(b, x[0], yes);
                      });
  }

  ArrayBuilder &arrays;
  const Access &access;
  Value gradient;
};

} // namespace

Value adjointByCases(ArrayBuilder &arrays, const Access &access, Value gradient) {
  return Cases(arrays, access, gradient).run();
}

} // namespace attnc
