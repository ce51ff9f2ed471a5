#include "compiler/transforms/analysis/infinite_centre.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {

bool mayBeInfiniteBeside(Terms &terms, const ScalarExpr *centre, FoldOp sum) {
  auto mayVanish = [&](Value array) { return reachOf(terms, terms.leaf(array)) != Reach::Finite; };
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> work(leavesOf(centre).takeVector());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second || value == sum.getReference())
      continue;
    if (auto map = value.getDefiningOp<MapOp>())
      llvm::append_range(work, map.getOperands());
    auto fold = value.getDefiningOp<FoldOp>();
    if (!fold)
      continue;
    bool isExtremum = fold.getKind() == FoldKind::Max || fold.getKind() == FoldKind::Min;
    if (isExtremum && mayVanish(fold.getFactors().front()))
      return true;
    if (fold.getExponent() && fold.getReference() != sum.getReference() &&
        mayVanish(fold.getExponent()))
      return true;
  }
  return false;
}

static Value isFinite(OpBuilder &b, Location loc, Value x) {
  Value size = math::AbsFOp::create(b, loc, x);
  Value infinity = arith::ConstantOp::create(
      b, loc, b.getFloatAttr(x.getType(), std::numeric_limits<double>::infinity()));
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, size, infinity);
}

Value MomentAboutInfinity::finiteCentre() {
  return MapOp::create(
      b, loc, cast<attn::ArrayType>(centre.getType()), centre,
      [](OpBuilder &inner, Location at, ValueRange x) -> Value {
        Value zero = arith::ConstantOp::create(inner, at, inner.getFloatAttr(x[0].getType(), 0));
        return arith::SelectOp::create(inner, at, isFinite(inner, at, x[0]), x[0], zero);
      });
}

Value MomentAboutInfinity::corrected(Value moment, Value weights) {
  SmallVector<Value> operands = {moment, centre, weights};
  auto type = attn::ArrayType::get(b.getContext(), unionDims(program, operands),
                                   cast<attn::ArrayType>(moment.getType()).getElementType());
  return MapOp::create(
      b, loc, type, operands, [](OpBuilder &inner, Location at, ValueRange x) -> Value {
        Value product = arith::MulFOp::create(inner, at, x[2], x[1]);
        Value difference = SubOp::create(inner, at, x[0], product);
        Value keeps =
            arith::SelectOp::create(inner, at, isFinite(inner, at, x[0]), difference, x[0]);
        return arith::SelectOp::create(inner, at, isFinite(inner, at, x[1]), x[0], keeps);
      });
}

} // namespace attnc
