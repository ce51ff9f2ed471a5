#include "compiler/transforms/gradient/shifts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// How a value moves with a shift m, in exact arithmetic.
struct Motion {
  enum Kind {
    Scaled,  ///< exp(rate * m) times what does not depend on m
    Shifted, ///< rate * m more than what does not
    Unknown
  } kind = Scaled;
  double rate = 0;
  bool isZero = false;     ///< the constant 0, which is scaled by anything
  bool isInfinite = false; ///< the constant -inf, which is shifted by anything

  bool isFixed() const { return kind != Unknown && rate == 0; }
};

constexpr Motion fixed() { return {}; }
constexpr Motion unknown() { return {Motion::Unknown}; }

/// A value as moving in a certain way, if it does.
std::optional<double> rateAs(Motion::Kind kind, const Motion &motion) {
  if (motion.isFixed())
    return 0;
  return motion.kind == kind ? std::optional(motion.rate) : std::nullopt;
}

/// Of what is either of two values, or their sum if they are scaled: they have to move together.
Motion together(const Motion &x, const Motion &y) {
  for (Motion::Kind kind : {Motion::Scaled, Motion::Shifted}) {
    auto isAny = [&](const Motion &m) { return kind == Motion::Scaled ? m.isZero : m.isInfinite; };
    std::optional<double> a = rateAs(kind, x), b = rateAs(kind, y);
    if (isAny(x) && b)
      return {kind, *b};
    if (isAny(y) && a)
      return {kind, *a};
    if (a && b && *a == *b)
      return {kind, *a};
  }
  return unknown();
}

/// Follows one shift through the program.
class ShiftMotion {
public:
  ShiftMotion(Value shift) : shift(shift) { arrays[shift] = {Motion::Shifted, 1}; }

  /// True if no output moves.
  bool cancels(ProgramOp program) {
    for (Operation &op : *program.getBodyBlock()) {
      if (auto output = dyn_cast<OutputOp>(op); output && !of(output.getValue()).isFixed())
        return false;
      if (op.getNumResults() == 1 && op.getResult(0) != shift)
        if (Motion motion = ofOp(&op); motion.kind == Motion::Unknown || motion.rate != 0)
          arrays[op.getResult(0)] = motion;
    }
    return true;
  }

private:
  Motion of(Value array) {
    auto found = arrays.find(array);
    return found == arrays.end() ? fixed() : found->second;
  }

  bool anyMoves(ValueRange values) {
    return llvm::any_of(values, [&](Value value) { return !of(value).isFixed(); });
  }

  Motion ofOp(Operation *op) {
    if (!anyMoves(op->getOperands()))
      return fixed();
    if (auto map = dyn_cast<MapOp>(op))
      return ofMap(map);
    if (auto read = dyn_cast<ReadOp>(op))
      return read.isPlain() && read.getType().getDims() == read.getSource().getType().getDims()
                 ? of(read.getSource())
                 : unknown();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      return varies(reduce.getDims()) ? unknown() : ofReduction(reduce);
    auto softmax = dyn_cast<SoftmaxOp>(op);
    return softmax && !varies(softmax.getDims()) && of(softmax.getOperand()).kind == Motion::Shifted
               ? fixed()
               : unknown();
  }

  /// True if the shift is another one along some of these dims.
  bool varies(ArrayAttr dims) {
    ArrayRef<StringAttr> own = cast<attn::ArrayType>(shift.getType()).getDims();
    return llvm::any_of(dimNames(dims),
                        [&](StringAttr dim) { return llvm::is_contained(own, dim); });
  }

  Motion ofReduction(ReduceOp reduce) {
    Motion motion = of(reduce.getOperand());
    switch (reduce.getKind()) {
    case ReduceKind::Add:
    case ReduceKind::Mean:
      return motion.kind == Motion::Scaled ? motion : unknown();
    case ReduceKind::Max:
    case ReduceKind::Min:
      return motion;
    case ReduceKind::LogSumExp:
      return motion.kind == Motion::Shifted ? motion : unknown();
    default:
      return unknown();
    }
  }

  Motion ofMap(MapOp map) {
    llvm::DenseMap<Value, Motion> scalars;
    for (auto [scalar, operand] : llvm::zip(map.getBodyBlock()->getArguments(), map.getOperands()))
      scalars[scalar] = of(operand);
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      SmallVector<Motion> x;
      for (Value operand : op.getOperands())
        x.push_back(scalars[operand]);
      scalars[op.getResult(0)] = ofScalar(&op, x);
    }
    return scalars[map.getYielded()];
  }

  static Motion ofScalar(Operation *op, ArrayRef<Motion> x) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return ofConstant(constant);
    if (llvm::all_of(x, [](const Motion &one) { return one.isFixed(); }))
      return fixed();
    return llvm::TypeSwitch<Operation *, Motion>(op)
        .Case<arith::AddFOp>([&](auto) { return sum(x[0], x[1], 1); })
        .Case<SubOp>([&](auto) { return sum(x[0], x[1], -1); })
        .Case<arith::MulFOp>([&](auto) { return product(op, x, 1); })
        .Case<arith::DivFOp>([&](auto) { return product(op, x, -1); })
        .Case<arith::NegFOp>([&](auto) {
          return x[0].kind == Motion::Shifted ? Motion{Motion::Shifted, -x[0].rate} : x[0];
        })
        .Case<math::ExpOp>([&](auto) { return exponential(x[0], 1); })
        .Case<math::Exp2Op>([&](auto) { return exponential(x[0], M_LN2); })
        .Case<math::LogOp>([&](auto) { return logarithm(x[0], 1); })
        .Case<math::Log2Op>([&](auto) { return logarithm(x[0], M_LN2); })
        .Case<math::SqrtOp>([&](auto) { return power(x[0], 0.5); })
        .Case<math::RsqrtOp>([&](auto) { return power(x[0], -0.5); })
        .Case<math::AbsFOp>([&](auto) { return power(x[0], 1); })
        .Case<math::PowFOp>([&](auto) {
          APFloat exponent(0.0);
          return matchPattern(op->getOperand(1), m_ConstantFloat(&exponent))
                     ? power(x[0], exponent.convertToDouble())
                     : unknown();
        })
        .Case<arith::MaximumFOp, arith::MinimumFOp>([&](auto) { return together(x[0], x[1]); })
        .Case<arith::SelectOp>(
            [&](auto) { return x[0].isFixed() ? together(x[1], x[2]) : unknown(); })
        // Of two that move together, one stays the larger.
        .Case<arith::CmpFOp>([&](auto) {
          return together(x[0], x[1]).kind == Motion::Unknown ? unknown() : fixed();
        })
        .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return x[0]; })
        .Default([](auto) { return unknown(); });
  }

  static Motion ofConstant(arith::ConstantOp constant) {
    Motion motion = fixed();
    if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
      motion.isZero = number.getValue().isZero();
      motion.isInfinite = number.getValue().isInfinity() && number.getValue().isNegative();
    }
    return motion;
  }

  static Motion sum(const Motion &x, const Motion &y, double sign) {
    std::optional<double> a = rateAs(Motion::Shifted, x), b = rateAs(Motion::Shifted, y);
    return a && b ? Motion{Motion::Shifted, *a + sign * *b} : together(x, y);
  }

  /// x * y, and x / y with a sign of -1. A shift stays one if the other is a number.
  static Motion product(Operation *op, ArrayRef<Motion> x, double sign) {
    std::optional<double> a = rateAs(Motion::Scaled, x[0]), b = rateAs(Motion::Scaled, x[1]);
    if (a && b)
      return {Motion::Scaled, *a + sign * *b};
    for (unsigned number : {0u, 1u}) {
      APFloat factor(0.0);
      if (x[1 - number].kind == Motion::Shifted && (sign > 0 || number == 1) &&
          matchPattern(op->getOperand(number), m_ConstantFloat(&factor)))
        return {Motion::Shifted, x[1 - number].rate * std::pow(factor.convertToDouble(), sign)};
    }
    return unknown();
  }

  static Motion exponential(const Motion &x, double perUnit) {
    return x.kind == Motion::Shifted ? Motion{Motion::Scaled, x.rate * perUnit} : unknown();
  }

  static Motion logarithm(const Motion &x, double perUnit) {
    return x.kind == Motion::Scaled ? Motion{Motion::Shifted, x.rate / perUnit} : unknown();
  }

  static Motion power(const Motion &x, double exponent) {
    return x.kind == Motion::Scaled ? Motion{Motion::Scaled, x.rate * exponent} : unknown();
  }

  Value shift;
  llvm::DenseMap<Value, Motion> arrays; // those that move
};

/// What is subtracted in the exponents of a map.
void collectShifts(MapOp map, llvm::SetVector<Value> &shifts) {
  for (Operation &op : map.getBodyBlock()->without_terminator()) {
    auto difference =
        isa<math::ExpOp, math::Exp2Op>(op) ? op.getOperand(0).getDefiningOp<SubOp>() : SubOp();
    if (auto shift = difference ? dyn_cast<BlockArgument>(difference.getRhs()) : BlockArgument())
      shifts.insert(map.getOperand(shift.getArgNumber()));
  }
}

} // namespace

llvm::DenseSet<Value> cancellingShifts(ProgramOp program) {
  llvm::SetVector<Value> candidates;
  for (auto map : program.getBodyBlock()->getOps<MapOp>())
    collectShifts(map, candidates);
  llvm::DenseSet<Value> cancelling;
  for (Value shift : candidates)
    if (ShiftMotion(shift).cancels(program))
      cancelling.insert(shift);
  return cancelling;
}

} // namespace attnc
