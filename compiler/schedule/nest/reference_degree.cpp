#include "compiler/schedule/nest/reference_degree.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {
namespace {

// Higher powers of the factor, up to 2^8 with the largest threshold, would cost too much of the
// range of f32.
constexpr double kLargestDegree = 2;

/// How a value changes when the sums against the reference are multiplied by s > 0: x becomes
/// x * s^degree, or x + shift * log s; one of the two is 0. What is 0 whatever s is has every
/// degree, what is infinite or NaN every shift as well.
struct Degree {
  bool known = false;
  bool anyDegree = false, anyShift = false;
  double degree = 0, shift = 0;
  /// The reference, or another extremum that errors of the scores move along with it, is in it.
  bool hasReference = false, hasExtremum = false;

  static Degree unknown() { return {}; }
  static Degree constant() { return {true}; }
  static Degree zero() { return {true, true}; }
  static Degree infinite() { return {true, true, true}; }
  static Degree factor(double degree) {
    return std::abs(degree) <= kLargestDegree ? Degree{true, false, false, degree} : unknown();
  }
  static Degree summand(double shift) { return {true, false, false, 0, shift}; }

  /// The value does not change.
  bool isConstant() const { return known && degree == 0 && shift == 0; }
  /// It changes by a factor, if at all.
  bool isFactor() const { return known && shift == 0; }
};

// Of a value that is one of two, or of what becomes of them where they are compared.
Degree common(Degree x, Degree y) {
  if (!x.known || !y.known)
    return Degree::unknown();
  if (x.anyShift || y.anyShift)
    return x.anyShift ? y : x;
  if (x.shift != y.shift)
    return Degree::unknown();
  if (x.anyDegree || y.anyDegree)
    return x.anyDegree ? y : x;
  return x.degree == y.degree ? x : Degree::unknown();
}

// Of x + sign * y.
Degree sum(Degree x, Degree y, double sign) {
  if (x.isFactor() && y.isFactor())
    return common(x, y);
  if (!x.known || !y.known || x.degree != 0 || y.degree != 0)
    return Degree::unknown();
  return Degree::summand(x.shift + sign * y.shift);
}

// Of x times the `power`th power of y.
Degree product(Degree x, Degree y, double power = 1) {
  if (!x.isFactor() || !y.isFactor())
    return Degree::unknown();
  if (x.anyDegree || y.anyDegree)
    return Degree::zero(); // or infinite
  return Degree::factor(x.degree + power * y.degree);
}

Degree power(Degree x, double exponent) {
  if (exponent == 0 && x.known)
    return Degree::constant();
  return product(Degree::constant(), x, exponent);
}

Degree logarithm(Degree x, double perUnit) {
  if (!x.isFactor())
    return Degree::unknown();
  return x.anyDegree ? Degree::infinite() : Degree::summand(x.degree * perUnit);
}

Degree exponential(Degree x, double perUnit) {
  return x.known && x.degree == 0 ? Degree::factor(x.shift * perUnit) : Degree::unknown();
}

Degree constantUnless(bool changes) { return changes ? Degree::unknown() : Degree::constant(); }

bool allConstant(ArrayRef<Degree> degrees) {
  return llvm::all_of(degrees, [](Degree x) { return x.isConstant(); });
}

Degree ofLiteral(TypedAttr value) {
  auto real = dyn_cast<FloatAttr>(value);
  if (!real || (real.getValue().isFinite() && !real.getValue().isZero()))
    return Degree::constant();
  return real.getValue().isZero() ? Degree::zero() : Degree::infinite();
}

// Rounding to a narrower type counts as any other function: it has a range of its own.
Degree ofScalar(Operation *op, ArrayRef<Degree> x) {
  using Result = Degree;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](arith::ConstantOp constant) { return ofLiteral(constant.getValue()); })
      .Case<arith::AddFOp>([&](auto) { return sum(x[0], x[1], 1); })
      .Case<arith::SubFOp, attn::SubOp>([&](auto) { return sum(x[0], x[1], -1); })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(
          [&](auto) { return common(x[0], x[1]); })
      .Case<arith::CmpFOp>([&](auto) { return constantUnless(!common(x[0], x[1]).known); })
      .Case<arith::SelectOp>(
          [&](auto) { return x[0].isConstant() ? common(x[1], x[2]) : Degree::unknown(); })
      .Case<arith::MulFOp>([&](auto) { return product(x[0], x[1]); })
      .Case<arith::DivFOp>([&](auto) { return product(x[0], x[1], -1); })
      .Case<arith::NegFOp>([&](auto) { return sum(Degree::zero(), x[0], -1); })
      .Case<math::AbsFOp>([&](auto) { return x[0].isFactor() ? x[0] : Degree::unknown(); })
      .Case<math::LogOp>([&](auto) { return logarithm(x[0], 1); })
      .Case<math::Log2Op>([&](auto) { return logarithm(x[0], llvm::numbers::log2e); })
      .Case<math::ExpOp>([&](auto) { return exponential(x[0], 1); })
      .Case<math::Exp2Op>([&](auto) { return exponential(x[0], llvm::numbers::ln2); })
      .Case<math::SqrtOp>([&](auto) { return power(x[0], 0.5); })
      .Case<math::RsqrtOp>([&](auto) { return power(x[0], -0.5); })
      .Case([&](math::PowFOp raised) {
        FloatAttr exponent;
        if (matchPattern(raised.getRhs(), m_Constant(&exponent)))
          return power(x[0], exponent.getValueAsDouble());
        return constantUnless(!allConstant(x));
      })
      .Default([&](Operation *) { return constantUnless(!allConstant(x)); });
}

/// Goes through the nest's arrays once, in order.
class Degrees {
public:
  Degrees(red::FoldOp reference, Degree ofMaximum) : reference(reference), ofMaximum(ofMaximum) {}

  void add(Operation &op) { known[op.getResult(0)] = ofArray(op); }

  // What is computed outside of the nest does not change.
  Degree operator[](Value array) const {
    auto found = known.find(array);
    return found == known.end() ? Degree::constant() : found->second;
  }

private:
  SmallVector<Degree> ofOperands(Operation &op) const {
    return llvm::map_to_vector(op.getOperands(), [&](Value x) { return (*this)[x]; });
  }

  Degree ofArray(Operation &op) {
    SmallVector<Degree> operands = ofOperands(op);
    if (auto map = dyn_cast<attn::MapOp>(op))
      return ofMap(map, operands);
    auto fold = dyn_cast<red::FoldOp>(op);
    Degree degree = fold ? ofFold(fold) : constantUnless(!allConstant(operands));
    if (fold && (fold == reference || fold.getReference()))
      degree.hasReference = fold == reference;
    else if (mayBeOtherExtremum(op))
      degree.hasExtremum = true;
    else
      degree = withOrigins(degree, operands);
    return degree;
  }

  // Another extremum, or what another nest has stored.
  static bool mayBeOtherExtremum(Operation &op) {
    if (auto fold = dyn_cast<red::FoldOp>(op))
      return fold.getKind() == red::FoldKind::Max || fold.getKind() == red::FoldKind::Min;
    auto read = dyn_cast<attn::ReadOp>(op);
    return read && read.getSource().getDefiningOp<red::NestOp>();
  }

  // exp(m - n) of two maxima is exact however large they are: what errors of the scores make of m
  // they make of n. So where both meet, an error of the sums has no such error to hide behind.
  static Degree withOrigins(Degree degree, ArrayRef<Degree> operands) {
    for (Degree x : operands) {
      degree.hasReference |= x.hasReference;
      degree.hasExtremum |= x.hasExtremum;
    }
    degree.known &= !(degree.hasReference && degree.hasExtremum);
    return degree;
  }

  Degree ofFold(red::FoldOp fold) {
    if (fold == reference)
      return ofMaximum;
    if (fold.getReference() == Value(reference.getResult()))
      return ofSum(fold);
    SmallVector<Degree> operands = ofOperands(*fold);
    bool keeps = fold.getKind() == red::FoldKind::Max || fold.getKind() == red::FoldKind::Min;
    if (keeps)
      return operands.front();
    if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getBase())
      return constantUnless(!allConstant(operands));
    Degree degree = Degree::constant();
    for (Degree factor : operands)
      degree = product(degree, factor);
    return degree;
  }

  // A sum against the reference; of a moment also what the centre adds to that.
  Degree ofSum(red::FoldOp fold) const {
    Value centre = fold.getCentre();
    return centre && !(*this)[centre].isConstant() ? Degree::unknown() : Degree::factor(1);
  }

  static Degree ofMap(attn::MapOp map, ArrayRef<Degree> operands) {
    llvm::DenseMap<Value, Degree> scalars;
    for (auto [argument, degree] : llvm::zip(map.getBodyBlock()->getArguments(), operands))
      scalars[argument] = degree;
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      SmallVector<Degree> x =
          llvm::map_to_vector(op.getOperands(), [&](Value v) { return scalars.at(v); });
      for (Value result : op.getResults())
        scalars[result] = withOrigins(ofScalar(&op, x), x);
    }
    return scalars.at(map.getYielded());
  }

  red::FoldOp reference;
  Degree ofMaximum;
  llvm::DenseMap<Value, Degree> known;
};

Degrees degreesIn(red::NestOp nest, red::FoldOp reference, Degree ofMaximum) {
  Degrees degrees(reference, ofMaximum);
  for (Operation &op : nest.getBodyBlock()->without_terminator())
    degrees.add(op);
  return degrees;
}

bool allResultsConstant(red::NestOp nest, red::FoldOp reference, Degree ofMaximum) {
  Degrees degrees = degreesIn(nest, reference, ofMaximum);
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  return llvm::all_of(yield.getValues(), [&](Value v) { return degrees[v].isConstant(); });
}

} // namespace

bool dependsOnReference(red::NestOp nest, red::FoldOp reference) {
  return !allResultsConstant(nest, reference, Degree::unknown());
}

bool dependsOnRounding(red::NestOp nest, red::FoldOp reference) {
  return !allResultsConstant(nest, reference, Degree::summand(-1));
}

// A centre that only follows the reference, like the reference itself, is never further from where
// it ends than the reference is.
bool centresDependOnReference(red::NestOp nest, red::FoldOp reference) {
  Degrees degrees = degreesIn(nest, reference, Degree::unknown());
  Degrees shifted = degreesIn(nest, reference, Degree::summand(-1));
  return llvm::any_of(nest.states(), [&](red::FoldOp state) {
    Value centre = state.getCentre();
    return centre && !degrees[centre].isConstant() &&
           !(shifted[centre].known && shifted[centre].degree == 0);
  });
}

} // namespace attnc::schedule
