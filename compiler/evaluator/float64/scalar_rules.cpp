// Which rule of error_rules.h each scalar op of a map obeys.
#include "compiler/evaluator/float64/emulated.h"
#include "compiler/evaluator/float64/predicates.h"
#include "compiler/evaluator/float64/scalar_program.h"
#include "dialects/Attn/Random.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

using Registers = std::vector<Register>;

using Op = const Instruction &;

// As a rule takes it.
template <class T> T element(const Register &x, int64_t i) {
  if constexpr (std::is_same_v<T, Real>)
    return x.real(i);
  else
    return x.whole(i);
}

// An instruction that applies a stateless `rule(instruction, operand elements...)` to each element.
template <class Rule, class Result, class... Operands>
Instruction::Run each(Result (Rule::*)(Op, Operands...) const) {
  return [](Op op, Registers &registers, int64_t count) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      const Register *operands[] = {&registers[op.operands[I]]...};
      Register &result = registers[op.result];
      for (int64_t i = 0; i < count; ++i)
        result.set(i, Rule()(op, element<Operands>(*operands[I], i)...));
    }(std::index_sequence_for<Operands...>());
  };
}
template <class Rule> Instruction::Run each(Rule) { return each(&Rule::operator()); }

// Any other number of [0, 1) may come from an index that is in doubt.
void randomReal(Op op, Registers &registers, int64_t count) {
  auto whole = [&](unsigned operand, int64_t i) {
    return registers[op.operands[operand]].whole(i);
  };
  for (int64_t i = 0; i < count; ++i) {
    const Whole seed = whole(0, i), x = whole(1, i), y = whole(2, i), z = whole(3, i),
                column = whole(4, i);
    const bool exact =
        seed.error == 0 && x.error == 0 && y.error == 0 && z.error == 0 && column.error == 0;
    registers[op.result].set(
        i, Real{attn::uniform(seed.value, x.value, y.value, z.value, column.value),
                exact ? 0.0 : 1.0});
  }
}

double toHalf(double x) { return roundedTo(kUnitF16, x); }
double toBFloat(double x) { return roundedTo(kUnitBF16, x); }

void realConstant(Op op, Registers &registers, int64_t count) {
  std::fill_n(registers[op.result].value.data(), count, op.real);
  std::fill_n(registers[op.result].error.data(), count, 0.0);
}

void wholeConstant(Op op, Registers &registers, int64_t count) {
  std::fill_n(registers[op.result].integer.data(), count, op.integer);
  std::fill_n(registers[op.result].error.data(), count, 0.0);
}

struct CompareReals {
  Whole operator()(Op op, Real x, Real y) const {
    auto predicate = static_cast<arith::CmpFPredicate>(op.integer);
    bool holds = orders(predicate, x.value, y.value);
    // Whether there is a NaN does not depend on roundings, as long as they are bounded.
    if (predicate == arith::CmpFPredicate::UNO || predicate == arith::CmpFPredicate::ORD)
      return {holds, unknown(x) || unknown(y) ? 1.0 : 0.0};
    return compared(x, y, holds);
  }
};
struct CompareWholes {
  Whole operator()(Op op, Whole x, Whole y) const {
    return compared(x, y, orders(static_cast<arith::CmpIPredicate>(op.integer), x.value, y.value));
  }
};
struct ExclusiveOr {
  Whole operator()(Op, Whole x, Whole y) const {
    return {x.value ^ y.value, std::max(x.error, y.error)};
  }
};
// The error of either operand may decide.
struct LargerOf {
  Whole operator()(Op, Whole x, Whole y) const {
    return {std::max(x.value, y.value), std::max(x.error, y.error)};
  }
};
struct SmallerOf {
  Whole operator()(Op, Whole x, Whole y) const {
    return {std::min(x.value, y.value), std::max(x.error, y.error)};
  }
};
struct Magnitude {
  Whole operator()(Op, Whole x) const {
    return {x.value < 0 ? wrapped(0 - uint64_t(x.value)) : x.value, x.error};
  }
};

double unitOf(Type type) {
  if (type.isF64())
    return kUnitF64;
  if (type.isF16())
    return kUnitF16;
  return type.isBF16() ? kUnitBF16 : kUnitF32;
}

using RuleTable = std::vector<std::pair<StringRef, Instruction::Run>>;

template <class MlirOp, class Rule> RuleTable::value_type ruleOf(Rule rule) {
  return {MlirOp::getOperationName(), each(rule)};
}

/// The rules of ops whose meaning does not depend on attributes or on their type.
const RuleTable &ruleTable() {
  static const RuleTable table = {
      ruleOf<arith::AddFOp>([](Op o, Real x, Real y) { return add(x, y, o.unit); }),
      ruleOf<arith::SubFOp>([](Op o, Real x, Real y) { return subtract(x, y, o.unit); }),
      ruleOf<attn::SubOp>([](Op o, Real x, Real y) { return subtractAbsorbing(x, y, o.unit); }),
      ruleOf<arith::MulFOp>([](Op o, Real x, Real y) { return multiply(x, y, o.unit); }),
      ruleOf<arith::DivFOp>([](Op o, Real x, Real y) { return divide(x, y, o.unit); }),
      ruleOf<arith::MaximumFOp>([](Op, Real x, Real y) { return maximum(x, y); }),
      ruleOf<arith::MinimumFOp>([](Op, Real x, Real y) { return minimum(x, y); }),
      ruleOf<math::PowFOp>([](Op o, Real x, Real y) { return power(x, y, o.unit); }),
      ruleOf<arith::NegFOp>([](Op, Real x) { return negate(x); }),
      ruleOf<math::AbsFOp>([](Op, Real x) { return absolute(x); }),
      ruleOf<math::ExpOp>([](Op o, Real x) { return exponential(x, o.unit); }),
      ruleOf<math::Exp2Op>([](Op o, Real x) { return exponential2(x, o.unit); }),
      ruleOf<math::LogOp>([](Op o, Real x) { return logarithm(x, o.unit); }),
      ruleOf<math::Log2Op>([](Op o, Real x) { return logarithm2(x, o.unit); }),
      ruleOf<math::SqrtOp>([](Op o, Real x) { return squareRoot(x, o.unit); }),
      ruleOf<math::RsqrtOp>([](Op o, Real x) { return reciprocalRoot(x, o.unit); }),
      ruleOf<math::TanhOp>([](Op o, Real x) { return hyperbolicTangent(x, o.unit); }),
      ruleOf<math::ErfOp>([](Op o, Real x) { return errorFunction(x, o.unit); }),
      ruleOf<math::SinOp>([](Op o, Real x) { return sine(x, o.unit); }),
      ruleOf<math::CosOp>([](Op o, Real x) { return cosine(x, o.unit); }),
      ruleOf<math::FloorOp>([](Op, Real x) { return floorOf(x); }),
      ruleOf<math::CeilOp>([](Op, Real x) { return ceilOf(x); }),
      ruleOf<arith::ExtFOp>([](Op, Real x) { return x; }),
      ruleOf<arith::TruncFOp>([](Op o, Real x) { return narrowed(x, o.unit); }),
      ruleOf<arith::FPToSIOp>([](Op, Real x) { return truncated(x); }),
      ruleOf<arith::SIToFPOp>([](Op o, Whole x) { return converted(x, o.unit); }),
      ruleOf<arith::UIToFPOp>([](Op o, Whole x) { return converted(x, o.unit); }),
      ruleOf<arith::ExtUIOp>([](Op, Whole x) { return x; }),
      ruleOf<arith::AddIOp>([](Op, Whole x, Whole y) { return add(x, y); }),
      ruleOf<arith::SubIOp>([](Op, Whole x, Whole y) { return subtract(x, y); }),
      ruleOf<arith::MulIOp>([](Op, Whole x, Whole y) { return multiply(x, y); }),
      ruleOf<arith::FloorDivSIOp>([](Op, Whole x, Whole y) {
        return exactOrUnknown(floorQuotient(x.value, y.value), x, y);
      }),
      ruleOf<arith::CeilDivSIOp>([](Op, Whole x, Whole y) {
        int64_t down = floorQuotient(x.value, y.value);
        return exactOrUnknown(down + (floorRemainder(x.value, y.value) != 0), x, y);
      }),
      ruleOf<attn::ModOp>([](Op, Whole x, Whole y) {
        return exactOrUnknown(floorRemainder(x.value, y.value), x, y);
      }),
      ruleOf<arith::DivSIOp>(
          [](Op, Whole x, Whole y) { return exactOrUnknown(quotient(x.value, y.value), x, y); }),
      ruleOf<arith::RemSIOp>(
          [](Op, Whole x, Whole y) { return exactOrUnknown(remainder(x.value, y.value), x, y); }),
      ruleOf<arith::MaxSIOp>(LargerOf()),
      ruleOf<arith::MinSIOp>(SmallerOf()),
      ruleOf<math::AbsIOp>(Magnitude()),
  };
  return table;
}

/// and, or, xor of booleans know when one operand settles the result; of integers they are bitwise.
Instruction::Run logicalRule(Operation &op) {
  bool boolean = op.getResult(0).getType().isInteger(1);
  if (isa<arith::AndIOp>(op))
    return boolean
               ? each([](Op, Whole x, Whole y) { return conjunction(x, y); })
               : each([](Op, Whole x, Whole y) { return exactOrUnknown(x.value & y.value, x, y); });
  if (isa<arith::OrIOp>(op))
    return boolean
               ? each([](Op, Whole x, Whole y) { return disjunction(x, y); })
               : each([](Op, Whole x, Whole y) { return exactOrUnknown(x.value | y.value, x, y); });
  return boolean
             ? each(ExclusiveOr())
             : each([](Op, Whole x, Whole y) { return exactOrUnknown(x.value ^ y.value, x, y); });
}

llvm::Expected<Instruction> constantRule(arith::ConstantOp op) {
  Instruction rule;
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    rule.run = realConstant;
    rule.real = number.getValueAsDouble();
    rule.unit = unitOf(op.getType());
  } else if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    rule.run = wholeConstant;
    rule.integer = op.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                             : integer.getValue().getSExtValue();
  } else {
    return llvm::createStringError("the evaluator knows only scalar constants");
  }
  return rule;
}

Instruction withUnit(Instruction::Run run, double unit) {
  Instruction rule;
  rule.run = run;
  rule.unit = unit;
  return rule;
}

} // namespace

Instruction ownExtremumRule(arith::CmpFPredicate predicate) {
  Instruction rule;
  rule.integer = static_cast<int64_t>(predicate);
  rule.run = [](Op op, Registers &registers, int64_t count) {
    const Register &x = registers[op.operands[0]], &y = registers[op.operands[1]];
    const Register &contested = registers[op.operands[2]];
    for (int64_t i = 0; i < count; ++i) {
      Whole compared = CompareReals()(op, x.real(i), y.real(i));
      registers[op.result].set(i, contested.integer[i] ? compared : Whole{compared.value, 0});
    }
  };
  return rule;
}

Instruction exponentOfDifferenceRule(double unit, bool emulated) {
  if (emulated)
    return withUnit(each([](Op o, Real x, Real y) {
                      Real difference = subtractAbsorbing(x, y, o.unit);
                      difference.value = roundedTo(o.unit, difference.value);
                      return exponential(difference, o.unit);
                    }),
                    unit);
  auto rule = [](Op o, Real x, Real y) {
    return exponential(subtractAbsorbing(x, y, o.unit), o.unit);
  };
  return withUnit(each(rule), unit);
}

Instruction differenceRule(double unit) {
  return withUnit(each([](Op o, Real x, Real y) { return subtractAbsorbing(x, y, o.unit); }), unit);
}

Instruction productRule(double unit) {
  return withUnit(each([](Op o, Real x, Real y) { return multiply(x, y, o.unit); }), unit);
}

Instruction quotientRule(double unit) {
  return withUnit(each([](Op o, Real x, Real y) { return divide(x, y, o.unit); }), unit);
}

Instruction reciprocalRule(double unit) {
  return withUnit(each([](Op o, Real x) { return divide({1, 0}, x, o.unit); }), unit);
}

Instruction magnitudeRule() {
  return withUnit(each([](Op, Real x) { return Real{std::fabs(x.value), 0}; }), kUnitF64);
}

Instruction grossSumRule() {
  return withUnit(each([](Op, Real x, Real y) { return Real{x.value + y.value, 0}; }), kUnitF64);
}

Instruction grossProductRule() {
  return withUnit(each([](Op, Real x, Real y) { return Real{x.value * y.value, 0}; }), kUnitF64);
}

Instruction grossQuotientRule() {
  return withUnit(each([](Op, Real x, Real y) { return Real{x.value / std::fabs(y.value), 0}; }),
                  kUnitF64);
}

llvm::Expected<Instruction> scalarRule(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantRule(constant);
  Instruction rule;
  if (op.getNumResults() == 1)
    rule.unit = unitOf(op.getResult(0).getType());
  if (auto tanh = dyn_cast<math::TanhOp>(op);
      tanh && bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn))
    rule.unit = kUnitApproximate;
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    rule.run = each(CompareReals());
    rule.integer = static_cast<int64_t>(compare.getPredicate());
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    rule.run = each(CompareWholes());
    rule.integer = static_cast<int64_t>(compare.getPredicate());
  } else if (isa<arith::TruncFOp>(op) && op.getResult(0).getType().isF16()) {
    rule.run = each([](Op, Real x) { return rounded(x, kUnitF16, 0x1p-24, toHalf); });
  } else if (isa<arith::TruncFOp>(op) && op.getResult(0).getType().isBF16()) {
    rule.run = each([](Op, Real x) { return rounded(x, kUnitBF16, kFlushF32, toBFloat); });
  } else if (isa<arith::SelectOp>(op)) {
    rule.run = isa<FloatType>(op.getResult(0).getType())
                   ? each([](Op, Whole c, Real t, Real f) { return select(c, t, f); })
                   : each([](Op, Whole c, Whole t, Whole f) { return select(c, t, f); });
  } else if (isa<attn::RandOp>(op)) {
    rule.run = randomReal;
  } else if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    rule.run = logicalRule(op);
  } else {
    for (auto [name, run] : ruleTable())
      if (name == op.getName().getStringRef())
        rule.run = run;
  }
  if (!rule.run)
    return llvm::createStringError("%sthe evaluator has no rule for %s",
                                   placePrefix(op.getLoc()).c_str(),
                                   op.getName().getStringRef().str().c_str());
  return rule;
}

} // namespace attnc::evaluator
