// What an expression comes to where a dim has no index: what is folded over it is at its identity
// then, and a sum of nothing is 0 whatever it would be multiplied by.
#include "compiler/transforms/analysis/finite_factors.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

// A number, some finite number, or nothing that is known.
struct Held {
  bool finite = false;
  std::optional<double> number;

  static Held of(double x) { return {std::isfinite(x), x}; }
  static Held some() { return {true, std::nullopt}; }
};

// Proofs go through no more values than this.
constexpr size_t kMostValues = 1024;

class OverNothing {
public:
  OverNothing(Terms &terms, StringAttr dim) : terms(terms), dim(dim) {}

  Held of(const ScalarExpr *e) {
    if (e->leaf)
      return ofArray(e->leaf);
    auto [known, isNew] = expressions.try_emplace(e, Held());
    if (!isNew || expressions.size() > kMostValues)
      return known->second;
    Held found = find(e);
    if (!found.finite && !found.number && isa<FloatType>(e->type))
      found.finite = reachOf(terms, e) == Reach::Finite;
    return expressions[e] = found;
  }

private:
  using Kind = ScalarExpr::Kind;
  using Unary = double (*)(double);

  Held find(const ScalarExpr *e) {
    switch (e->kind) {
    case Kind::Constant:
      return Held::of(e->constant);
    case Kind::Neg:
      return mapped(e, [](double x) { return -x; }, true);
    case Kind::Exp:
      return mapped(e, [](double x) { return std::exp(x); }, false);
    case Kind::Log:
      return mapped(e, [](double x) { return std::log(x); }, false);
    case Kind::Add:
      return sum(of(e->args[0]), of(e->args[1]));
    case Kind::Sub:
      return difference(of(e->args[0]), of(e->args[1]));
    case Kind::Mul:
      return product(of(e->args[0]), of(e->args[1]));
    case Kind::Div:
      return quotient(of(e->args[0]), of(e->args[1]));
    case Kind::Max:
      return larger(of(e->args[0]), of(e->args[1]));
    case Kind::Empty: {
      Held x = of(e->args[0]);
      return x.number ? Held::of(*x.number == -INFINITY) : x.finite ? Held::of(0) : Held::some();
    }
    case Kind::Select:
      return choice(of(e->args[0]), e->args[1], e->args[2]);
    case Kind::Op:
      return ofOp(e);
    case Kind::Equal: {
      Held x = of(e->args[0]), y = of(e->args[1]);
      return x.number && y.number ? Held::of(*x.number == *y.number) : Held::some();
    }
    case Kind::Leaf:
      break;
    }
    return {};
  }

  Held mapped(const ScalarExpr *e, Unary f, bool keepsFinite) {
    Held x = of(e->args[0]);
    return x.number ? Held::of(f(*x.number)) : keepsFinite ? x : Held();
  }

  // An infinity stays what it is beside a finite number.
  static Held sum(Held x, Held y) {
    if (x.number && y.number)
      return Held::of(*x.number + *y.number);
    if (x.finite && y.finite)
      return Held::some();
    if (x.number && y.finite)
      return x;
    return y.number && x.finite ? y : Held();
  }

  static Held difference(Held x, Held y) {
    if (x.number == -INFINITY)
      return x; // by the definition of attn.sub
    if (y.number)
      y.number = -*y.number;
    return sum(x, y);
  }

  static Held product(Held x, Held y) {
    if (x.number && y.number)
      return Held::of(*x.number * *y.number);
    if (!x.finite || !y.finite)
      return {};
    return x.number == 0.0 || y.number == 0.0 ? Held::of(0) : Held::some();
  }

  static Held quotient(Held x, Held y) {
    if (x.number && y.number)
      return Held::of(*x.number / *y.number);
    if (!x.finite || !y.number || *y.number == 0 || std::isnan(*y.number))
      return {};
    return std::isinf(*y.number) ? Held::of(0) : Held::some();
  }

  static Held larger(Held x, Held y) {
    if (x.number && y.number)
      return Held::of(std::isnan(*x.number) ? *x.number : std::max(*y.number, *x.number));
    if (x.number == -INFINITY)
      return y;
    if (y.number == -INFINITY)
      return x;
    return x.finite && y.finite ? Held::some() : Held();
  }

  Held choice(Held condition, const ScalarExpr *first, const ScalarExpr *second) {
    if (condition.number)
      return of(*condition.number != 0 ? first : second);
    Held x = of(first), y = of(second);
    if (x.number && y.number && *x.number == *y.number)
      return x;
    return x.finite && y.finite ? Held::some() : Held();
  }

  Held ofOp(const ScalarExpr *e) {
    Operation *op = e->op;
    if (double base = exponentialBase(e); base != 0) {
      Held x = of(e->args[0]);
      return x.number ? Held::of(std::pow(base, *x.number)) : Held();
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto integer = dyn_cast<IntegerAttr>(constant.getValue());
      return integer ? Held::of(integer.getValue().isOne() ? 1 : integer.getInt()) : Held::some();
    }
    if (isa<arith::CmpFOp, arith::CmpIOp>(op))
      return comparison(op, of(e->args[0]), of(e->args[1]));
    if (isa<arith::MaximumFOp, arith::MaxSIOp>(op))
      return larger(of(e->args[0]), of(e->args[1]));
    if (isa<arith::SIToFPOp, arith::ExtFOp, arith::ExtSIOp>(op))
      return of(e->args[0]);
    if (isa<math::SqrtOp>(op))
      return mapped(e, [](double x) { return std::sqrt(x); }, false);
    if (isa<math::RsqrtOp>(op))
      return mapped(e, [](double x) { return 1 / std::sqrt(x); }, false);
    if (isa<math::Log2Op>(op))
      return mapped(e, [](double x) { return std::log2(x); }, false);
    if (isa<math::AbsFOp>(op))
      return mapped(e, [](double x) { return std::fabs(x); }, true);
    if (isa<math::TanhOp>(op))
      return mapped(e, [](double x) { return std::tanh(x); }, true);
    return isa<FloatType>(e->type) ? Held() : Held::some();
  }

  static Held comparison(Operation *op, Held x, Held y) {
    if (!x.number || !y.number)
      return Held::some();
    double a = *x.number, b = *y.number;
    if (auto floats = dyn_cast<arith::CmpFOp>(op))
      return Held::of(arith::applyCmpPredicate(floats.getPredicate(), APFloat(a), APFloat(b)));
    return Held::of(arith::applyCmpPredicate(cast<arith::CmpIOp>(op).getPredicate(),
                                             APInt(64, int64_t(a), true),
                                             APInt(64, int64_t(b), true)));
  }

  Held ofArray(Value array) {
    auto [known, isNew] = arrays.try_emplace(array, Held());
    if (!isNew || arrays.size() > kMostValues)
      return known->second;
    Held found = findArray(array);
    return arrays[array] = found;
  }

  Held findArray(Value array) {
    if (auto size = array.getDefiningOp<SizeOp>(); size && size.getDimAttr() == dim)
      return Held::of(0);
    if (array.getDefiningOp<MapOp>())
      return of(terms.openAll(array));
    bool isFloat = isa<FloatType>(cast<attn::ArrayType>(array.getType()).getElementType());
    if (auto fold = array.getDefiningOp<FoldOp>();
        fold && isFloat && llvm::is_contained(dimNames(fold.getDims()), dim))
      return identityOf(fold);
    if (!isFloat)
      return Held::some();
    return reachOf(terms, terms.leaf(array)) == Reach::Finite ? Held::some() : Held();
  }

  static Held identityOf(FoldOp fold) {
    switch (fold.getKind()) {
    case FoldKind::Add:
      return Held::of(0);
    case FoldKind::Mul:
      return Held::of(1);
    case FoldKind::Max:
      return Held::of(-INFINITY);
    case FoldKind::Min:
      return Held::of(INFINITY);
    default:
      return {};
    }
  }

  Terms &terms;
  StringAttr dim;
  llvm::DenseMap<Value, Held> arrays;
  llvm::DenseMap<const ScalarExpr *, Held> expressions;
};

} // namespace

bool isZeroOverNothing(Terms &terms, const ScalarExpr *e, StringAttr dim) {
  return OverNothing(terms, dim).of(e).number == 0.0;
}

const ScalarExpr *unlessEmpty(OpBuilder &b, Location loc, Terms &terms, ProgramOp program,
                              ArrayRef<StringAttr> dims, const ScalarExpr *sum) {
  auto integer = attn::ArrayType::get(b.getContext(), {}, b.getI64Type());
  SmallVector<Value> sizes;
  for (StringAttr dim : dims)
    if (!program.lookupDim(dim).isStatic())
      sizes.push_back(SizeOp::create(b, loc, integer, dim));
  if (sizes.empty())
    return sum;
  Value some = MapOp::create(
      b, loc, attn::ArrayType::get(b.getContext(), {}, b.getI1Type()), sizes,
      [](OpBuilder &inner, Location at, ValueRange x) -> Value {
        Value zero = arith::ConstantOp::create(inner, at, inner.getI64IntegerAttr(0));
        Value result;
        for (Value size : x) {
          Value positive = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::sgt, size, zero);
          result =
              result ? arith::AndIOp::create(inner, at, result, positive).getResult() : positive;
        }
        return result;
      });
  return terms.guarded(terms.leaf(some), true, sum, 0);
}

} // namespace attnc
