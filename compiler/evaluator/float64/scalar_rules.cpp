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

// An instruction that applies a stateless `rule(instruction, operand elements...)` to each element.
template <class Rule> Instruction::Run real1(Rule) {
  return [](Op op, Registers &registers, int64_t count) {
    const Register &x = registers[op.operands[0]];
    Register &result = registers[op.result];
    for (int64_t i = 0; i < count; ++i)
      result.set(i, Rule()(op, x.real(i)));
  };
}
template <class Rule> Instruction::Run real2(Rule) {
  return [](Op op, Registers &registers, int64_t count) {
    const Register &x = registers[op.operands[0]], &y = registers[op.operands[1]];
    Register &result = registers[op.result];
    for (int64_t i = 0; i < count; ++i)
      result.set(i, Rule()(op, x.real(i), y.real(i)));
  };
}
template <class Rule> Instruction::Run whole1(Rule) {
  return [](Op op, Registers &registers, int64_t count) {
    const Register &x = registers[op.operands[0]];
    Register &result = registers[op.result];
    for (int64_t i = 0; i < count; ++i)
      result.set(i, Rule()(op, x.whole(i)));
  };
}
template <class Rule> Instruction::Run whole2(Rule) {
  return [](Op op, Registers &registers, int64_t count) {
    const Register &x = registers[op.operands[0]], &y = registers[op.operands[1]];
    Register &result = registers[op.result];
    for (int64_t i = 0; i < count; ++i)
      result.set(i, Rule()(op, x.whole(i), y.whole(i)));
  };
}

void selectReal(Op op, Registers &registers, int64_t count) {
  const Register &condition = registers[op.operands[0]];
  const Register &t = registers[op.operands[1]], &f = registers[op.operands[2]];
  for (int64_t i = 0; i < count; ++i)
    registers[op.result].set(i, select(condition.whole(i), t.real(i), f.real(i)));
}

void selectWhole(Op op, Registers &registers, int64_t count) {
  const Register &condition = registers[op.operands[0]];
  const Register &t = registers[op.operands[1]], &f = registers[op.operands[2]];
  for (int64_t i = 0; i < count; ++i)
    registers[op.result].set(i, select(condition.whole(i), t.whole(i), f.whole(i)));
}

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

/// The rules of ops whose meaning does not depend on attributes or on their type.
const RuleTable &ruleTable() {
  static const RuleTable table = {
      {arith::AddFOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return add(x, y, o.unit); })},
      {arith::SubFOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return subtract(x, y, o.unit); })},
      {attn::SubOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return subtractAbsorbing(x, y, o.unit); })},
      {arith::MulFOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return multiply(x, y, o.unit); })},
      {arith::DivFOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return divide(x, y, o.unit); })},
      {arith::MaximumFOp::getOperationName(),
       real2([](Op, Real x, Real y) { return maximum(x, y); })},
      {arith::MinimumFOp::getOperationName(),
       real2([](Op, Real x, Real y) { return minimum(x, y); })},
      {math::PowFOp::getOperationName(),
       real2([](Op o, Real x, Real y) { return power(x, y, o.unit); })},
      {arith::NegFOp::getOperationName(), real1([](Op, Real x) { return negate(x); })},
      {math::AbsFOp::getOperationName(), real1([](Op, Real x) { return absolute(x); })},
      {math::ExpOp::getOperationName(), real1([](Op o, Real x) { return exponential(x, o.unit); })},
      {math::Exp2Op::getOperationName(),
       real1([](Op o, Real x) { return exponential2(x, o.unit); })},
      {math::LogOp::getOperationName(), real1([](Op o, Real x) { return logarithm(x, o.unit); })},
      {math::Log2Op::getOperationName(), real1([](Op o, Real x) { return logarithm2(x, o.unit); })},
      {math::SqrtOp::getOperationName(), real1([](Op o, Real x) { return squareRoot(x, o.unit); })},
      {math::RsqrtOp::getOperationName(),
       real1([](Op o, Real x) { return reciprocalRoot(x, o.unit); })},
      {math::TanhOp::getOperationName(),
       real1([](Op o, Real x) { return hyperbolicTangent(x, o.unit); })},
      {math::ErfOp::getOperationName(),
       real1([](Op o, Real x) { return errorFunction(x, o.unit); })},
      {math::SinOp::getOperationName(), real1([](Op o, Real x) { return sine(x, o.unit); })},
      {math::CosOp::getOperationName(), real1([](Op o, Real x) { return cosine(x, o.unit); })},
      {math::FloorOp::getOperationName(), real1([](Op, Real x) { return floorOf(x); })},
      {math::CeilOp::getOperationName(), real1([](Op, Real x) { return ceilOf(x); })},
      {arith::ExtFOp::getOperationName(), real1([](Op, Real x) { return x; })},
      {arith::TruncFOp::getOperationName(),
       real1([](Op o, Real x) { return narrowed(x, o.unit); })},
      {arith::FPToSIOp::getOperationName(), real1([](Op, Real x) { return truncated(x); })},
      {arith::SIToFPOp::getOperationName(),
       whole1([](Op o, Whole x) { return converted(x, o.unit); })},
      {arith::UIToFPOp::getOperationName(),
       whole1([](Op o, Whole x) { return converted(x, o.unit); })},
      {arith::ExtUIOp::getOperationName(), whole1([](Op, Whole x) { return x; })},
      {arith::AddIOp::getOperationName(), whole2([](Op, Whole x, Whole y) { return add(x, y); })},
      {arith::SubIOp::getOperationName(),
       whole2([](Op, Whole x, Whole y) { return subtract(x, y); })},
      {arith::MulIOp::getOperationName(),
       whole2([](Op, Whole x, Whole y) { return multiply(x, y); })},
      {arith::FloorDivSIOp::getOperationName(), whole2([](Op, Whole x, Whole y) {
         return exactOrUnknown(floorQuotient(x.value, y.value), x, y);
       })},
      {arith::CeilDivSIOp::getOperationName(), whole2([](Op, Whole x, Whole y) {
         int64_t down = floorQuotient(x.value, y.value);
         return exactOrUnknown(down + (floorRemainder(x.value, y.value) != 0), x, y);
       })},
      {attn::ModOp::getOperationName(), whole2([](Op, Whole x, Whole y) {
         return exactOrUnknown(floorRemainder(x.value, y.value), x, y);
       })},
      {arith::DivSIOp::getOperationName(), whole2([](Op, Whole x, Whole y) {
         return exactOrUnknown(quotient(x.value, y.value), x, y);
       })},
      {arith::RemSIOp::getOperationName(), whole2([](Op, Whole x, Whole y) {
         return exactOrUnknown(remainder(x.value, y.value), x, y);
       })},
      {arith::MaxSIOp::getOperationName(), whole2(LargerOf())},
      {arith::MinSIOp::getOperationName(), whole2(SmallerOf())},
      {math::AbsIOp::getOperationName(), whole1(Magnitude())},
  };
  return table;
}

/// and, or, xor of booleans know when one operand settles the result; of integers they are bitwise.
Instruction::Run logicalRule(Operation &op) {
  bool boolean = op.getResult(0).getType().isInteger(1);
  if (isa<arith::AndIOp>(op))
    return boolean ? whole2([](Op, Whole x, Whole y) { return conjunction(x, y); })
                   : whole2([](Op, Whole x, Whole y) {
                       return exactOrUnknown(x.value & y.value, x, y);
                     });
  if (isa<arith::OrIOp>(op))
    return boolean ? whole2([](Op, Whole x, Whole y) { return disjunction(x, y); })
                   : whole2([](Op, Whole x, Whole y) {
                       return exactOrUnknown(x.value | y.value, x, y);
                     });
  return boolean
             ? whole2(ExclusiveOr())
             : whole2([](Op, Whole x, Whole y) { return exactOrUnknown(x.value ^ y.value, x, y); });
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
    return withUnit(real2([](Op o, Real x, Real y) {
                      Real difference = subtractAbsorbing(x, y, o.unit);
                      difference.value = roundedTo(o.unit, difference.value);
                      return exponential(difference, o.unit);
                    }),
                    unit);
  auto rule = [](Op o, Real x, Real y) {
    return exponential(subtractAbsorbing(x, y, o.unit), o.unit);
  };
  return withUnit(real2(rule), unit);
}

Instruction differenceRule(double unit) {
  return withUnit(real2([](Op o, Real x, Real y) { return subtractAbsorbing(x, y, o.unit); }),
                  unit);
}

Instruction productRule(double unit) {
  return withUnit(real2([](Op o, Real x, Real y) { return multiply(x, y, o.unit); }), unit);
}

Instruction quotientRule(double unit) {
  return withUnit(real2([](Op o, Real x, Real y) { return divide(x, y, o.unit); }), unit);
}

Instruction reciprocalRule(double unit) {
  return withUnit(real1([](Op o, Real x) { return divide({1, 0}, x, o.unit); }), unit);
}

Instruction magnitudeRule() {
  return withUnit(real1([](Op, Real x) { return Real{std::fabs(x.value), 0}; }), kUnitF64);
}

Instruction grossSumRule() {
  return withUnit(real2([](Op, Real x, Real y) { return Real{x.value + y.value, 0}; }), kUnitF64);
}

Instruction grossProductRule() {
  return withUnit(real2([](Op, Real x, Real y) { return Real{x.value * y.value, 0}; }), kUnitF64);
}

Instruction grossQuotientRule() {
  return withUnit(real2([](Op, Real x, Real y) { return Real{x.value / std::fabs(y.value), 0}; }),
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
    rule.run = real2(CompareReals());
    rule.integer = static_cast<int64_t>(compare.getPredicate());
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    rule.run = whole2(CompareWholes());
    rule.integer = static_cast<int64_t>(compare.getPredicate());
  } else if (isa<arith::TruncFOp>(op) && op.getResult(0).getType().isF16()) {
    rule.run = real1([](Op, Real x) { return rounded(x, kUnitF16, 0x1p-24, toHalf); });
  } else if (isa<arith::TruncFOp>(op) && op.getResult(0).getType().isBF16()) {
    rule.run = real1([](Op, Real x) { return rounded(x, kUnitBF16, kFlushF32, toBFloat); });
  } else if (isa<arith::SelectOp>(op)) {
    rule.run = isa<FloatType>(op.getResult(0).getType()) ? selectReal : selectWhole;
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
