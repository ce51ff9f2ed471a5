#include "compiler/transforms/derive_updates.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

bool isReal(Type type) { return isa<FloatType>(type); }

TypedAttr identityOf(FoldKind kind, Type type) {
  auto real = [&](double value) { return FloatAttr::get(type, value); };
  auto whole = [&](const APInt &value) { return IntegerAttr::get(type, value); };
  unsigned width = isReal(type) ? 0 : type.getIntOrFloatBitWidth();
  switch (kind) {
  case FoldKind::Add:
  case FoldKind::Or:
    return isReal(type) ? TypedAttr(real(0)) : whole(APInt(width, 0));
  case FoldKind::Mul:
  case FoldKind::And:
    return isReal(type) ? TypedAttr(real(1)) : whole(APInt(width, 1));
  case FoldKind::Max:
    return isReal(type) ? TypedAttr(real(-INFINITY)) : whole(APInt::getSignedMinValue(width));
  case FoldKind::Min:
    return isReal(type) ? TypedAttr(real(INFINITY)) : whole(APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("all kinds are listed");
}

/// Writes the regions of one fold.
class Deriver {
public:
  explicit Deriver(FoldOp fold) : fold(fold), b(fold.getContext()), loc(fold.getLoc()) {}

  void run() {
    for (const FoldOp::Part &part : fold.updateParts()) {
      Block &block = part.region->emplaceBlock();
      for (auto [number, type] : llvm::enumerate(part.arguments))
        block.addArgument(type, attn::renamed(loc, nameOf(part, number)));
      b.setInsertionPointToStart(&block);
      red::ReturnOp::create(b, loc, bodyOf(*part.region, block.getArguments()));
    }
  }

private:
  // Names of arguments, for people.
  StringRef nameOf(const FoldOp::Part &part, unsigned number) {
    bool isLast = number + 1 == part.arguments.size();
    return llvm::StringSwitch<StringRef>(part.name)
        .Case("lift", number < fold.getFactors().size() ? "factor" : "by")
        .Cases({"follow", "follow_centre"}, number == 0 ? "old" : "next")
        .Cases({"rescale", "shift"}, isLast        ? "by"
                                     : number == 0 ? "state"
                                                   : "lower")
        .Default(number == 0 ? "x" : "y");
  }

  Value bodyOf(Region &region, ValueRange x) {
    if (&region == &fold.getEmpty())
      return constant(identityOf(fold.getKind(), elementType()));
    if (&region == &fold.getLift())
      return lift(x);
    if (&region == &fold.getMerge())
      return merge(x[0], x[1]);
    if (&region == &fold.getWeight())
      return weight(x[0], x[1]);
    if (&region == &fold.getRescale())
      return product(x[0], x[1]);
    if (&region == &fold.getFollow())
      return x[1]; // a state that is followed at once
    if (&region == &fold.getDifference())
      return arith::SubFOp::create(b, loc, x[0], x[1]);
    if (&region == &fold.getShift())
      return shift(x);
    return followCentre(x[0], x[1]);
  }

  Type elementType() { return fold.getType().getElementType(); }

  Value constant(TypedAttr value) { return arith::ConstantOp::create(b, loc, value); }

  Value product(Value x, Value y) {
    return isReal(x.getType()) ? arith::MulFOp::create(b, loc, x, y).getResult()
                               : arith::MulIOp::create(b, loc, x, y).getResult();
  }

  // The weight times the factors times (base - centre)^k: a weight is at most 1, so that a product
  // with it first is in range where the result is.
  Value lift(ValueRange x) {
    size_t count = fold.getFactors().size();
    SmallVector<Value> factors(x.take_front(count));
    ValueRange by = x.drop_front(count);
    if (fold.getBase())
      factors.append(fold.degree(), by.back());
    if (fold.getExponent())
      factors.insert(factors.begin(), by.front());
    Value term = factors.front();
    for (Value factor : ArrayRef(factors).drop_front())
      term = product(term, factor);
    return term;
  }

  Value merge(Value x, Value y) {
    bool real = isReal(x.getType());
    switch (fold.getKind()) {
    case FoldKind::Add:
      return real ? arith::AddFOp::create(b, loc, x, y).getResult()
                  : arith::AddIOp::create(b, loc, x, y).getResult();
    case FoldKind::Mul:
      return product(x, y);
    case FoldKind::Max:
      return real ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                  : arith::MaxSIOp::create(b, loc, x, y).getResult();
    case FoldKind::Min:
      return real ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                  : arith::MinSIOp::create(b, loc, x, y).getResult();
    case FoldKind::And:
      return arith::AndIOp::create(b, loc, x, y);
    case FoldKind::Or:
      return arith::OrIOp::create(b, loc, x, y);
    }
    llvm_unreachable("all kinds are listed");
  }

  // attn.sub has -inf absorb: what is relative to nothing weighs nothing.
  Value weight(Value x, Value y) {
    return math::ExpOp::create(b, loc, attn::SubOp::create(b, loc, x, y));
  }

  // c_k + sum over i < k of binomial(k, i) * by^(k - i) * c_i.
  Value shift(ValueRange x) {
    Value sum = x.front(), by = x.back(), power;
    double binomial = 1;
    for (unsigned i = fold.degree(); i-- > 0;) {
      binomial *= double(i + 1) / (fold.degree() - i);
      power = power ? product(power, by) : by;
      Value part = product(power, x[1 + i]);
      if (binomial != 1)
        part = product(part, constant(FloatAttr::get(elementType(), binomial)));
      sum = arith::AddFOp::create(b, loc, sum, part);
    }
    return sum;
  }

  // A centre that is not finite, as before the first element, stays where it was.
  Value followCentre(Value old, Value next) {
    Value none = arith::SubFOp::create(b, loc, next, next);
    Value zero = constant(FloatAttr::get(elementType(), 0));
    Value finite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, none, zero);
    return arith::SelectOp::create(b, loc, finite, next, old);
  }

  FoldOp fold;
  OpBuilder b;
  Location loc;
};

} // namespace

void deriveUpdates(red::NestOp nest) {
  for (auto fold : nest.getBodyBlock()->getOps<FoldOp>())
    if (!fold.hasUpdate())
      Deriver(fold).run();
}

void deriveUpdates(attn::ProgramOp program) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    deriveUpdates(nest);
}

} // namespace attnc
