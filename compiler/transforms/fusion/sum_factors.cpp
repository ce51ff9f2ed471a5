#include "compiler/transforms/fusion/sum_factors.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "compiler/transforms/fusion/eliminate_common.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "dialects/Attn/Derivatives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// More factors than this, and the elements stay as they are: of products that are shared, x = y *
/// y of y = z * z, there are exponentially many.
constexpr unsigned kMostFactors = 256;

/// A choice of 0 where `factor` is 0, else `product`, of which it is a factor.
struct Absorption {
  Value factor, product;
};

std::optional<Absorption> absorption(Value scalar) {
  auto choice = scalar.getDefiningOp<arith::SelectOp>();
  if (!choice || !choice->hasAttr(kAbsorbsAttr))
    return std::nullopt;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpFOp>();
  bool isGuard = compare && compare.getPredicate() == arith::CmpFPredicate::OEQ &&
                 matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
                 matchPattern(choice.getTrueValue(), m_AnyZeroFloat());
  return isGuard ? std::optional(Absorption{compare.getLhs(), choice.getFalseValue()})
                 : std::nullopt;
}

bool hasAnyDim(Value array, ArrayAttr dims) {
  return llvm::any_of(dims.getAsRange<StringAttr>(), [&](StringAttr dim) {
    return cast<attn::ArrayType>(array.getType()).hasDim(dim);
  });
}

bool coversDims(ArrayRef<Value> arrays, ArrayAttr dims) {
  return llvm::all_of(dims.getAsRange<StringAttr>(), [&](StringAttr dim) {
    return llvm::any_of(
        arrays, [&](Value array) { return cast<attn::ArrayType>(array.getType()).hasDim(dim); });
  });
}

/// True if `scalar` is made of a reduction, and of exponentials.
bool isNormaliser(MapOp map, Value scalar) {
  llvm::SetVector<Value> arrays = arraysOf(map, scalar);
  bool hasReduction = false, hasExponential = false;
  for (size_t i = 0; i < arrays.size(); ++i)
    if (Operation *maker = arrays[i].getDefiningOp()) {
      hasReduction |= isa<ReduceOp, red::FoldOp>(maker);
      maker->walk([&](Operation *op) { hasExponential |= isa<math::ExpOp, math::Exp2Op>(op); });
      arrays.insert_range(maker->getOperands());
    }
  return hasReduction && hasExponential;
}

class Splitter {
public:
  Splitter(OpBuilder &b, ArrayAttr dims) : b(b), dims(dims) {}

  SumFactors found;

  /// False if there are too many.
  bool appendArray(Value array) {
    if (!hasAnyDim(array, dims)) {
      found.outside.push_back({array});
      return count();
    }
    auto map = array.getDefiningOp<MapOp>();
    if (map && !scalesReduction(map) && isOpened(map, map.getYielded()))
      return append(map, map.getYielded());
    found.inside.push_back(array);
    return count();
  }

private:
  bool append(MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return appendArray(map.getOperand(argument.getArgNumber()));
    if (!varies(map, scalar)) {
      found.outside.push_back({subexpression(b, map, scalar)});
      return count();
    }
    if (auto product = scalar.getDefiningOp<arith::MulFOp>())
      return append(map, product.getLhs()) && append(map, product.getRhs());
    if (!isOpened(map, scalar)) {
      found.inside.push_back(subexpression(b, map, scalar));
      return count();
    }
    if (auto negation = scalar.getDefiningOp<arith::NegFOp>()) {
      found.isNegated = !found.isNegated;
      return append(map, negation.getOperand());
    }
    if (auto quotient = scalar.getDefiningOp<arith::DivFOp>()) {
      if (!append(map, quotient.getLhs()))
        return false;
      found.outside.push_back({arrayOf(map, quotient.getRhs()), /*divides=*/true});
      return count();
    }
    return appendAbsorption(map, *absorption(scalar));
  }

  // Several factors inside hide each other there: a choice that absorbs is made of them again.
  bool appendAbsorption(MapOp map, Absorption guard) {
    unsigned before = found.inside.size();
    if (!append(map, guard.product))
      return false;
    found.absorbs = true;
    if (found.inside.size() > before + 1 && varies(map, guard.factor)) {
      SmallVector<Value> operands(llvm::drop_begin(found.inside, before));
      found.inside.truncate(before);
      found.inside.push_back(absorbing(map, guard.factor, operands));
    }
    return count();
  }

  Value absorbing(MapOp map, Value factor, SmallVector<Value> operands) {
    operands.push_back(arrayOf(map, factor));
    auto type =
        attn::ArrayType::get(b.getContext(), unionDims(programOf(map), operands), factor.getType());
    return MapOp::create(b, map.getLoc(), type, operands,
                         [](OpBuilder &inner, Location at, ValueRange x) -> Value {
                           ImplicitLocOpBuilder body(at, inner);
                           return unlessZero(body, x.back(), multiply(inner, at, x.drop_back()));
                         });
  }

  Value arrayOf(MapOp map, Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument ? map.getOperand(argument.getArgNumber()) : subexpression(b, map, scalar);
  }

  /// True if `scalar` is taken apart: a product always, and the others only where that takes
  /// something out of the sum.
  bool isOpened(MapOp map, Value scalar) {
    return isa<BlockArgument>(scalar) || scalar.getDefiningOp<arith::MulFOp>() ||
           hasOuterFactor(map, scalar);
  }

  bool hasOuterFactor(MapOp map, Value scalar) {
    if (auto found = known.find(scalar); found != known.end())
      return found->second;
    bool result = findsOuterFactor(map, scalar);
    return known[scalar] = result;
  }

  bool findsOuterFactor(MapOp map, Value scalar) {
    if (!varies(map, scalar))
      return true;
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      auto inner = map.getOperand(argument.getArgNumber()).getDefiningOp<MapOp>();
      return inner && !scalesReduction(inner) && hasOuterFactor(inner, inner.getYielded());
    }
    Operation *op = scalar.getDefiningOp();
    if (isa<arith::MulFOp>(op))
      return hasOuterFactor(map, op->getOperand(0)) || hasOuterFactor(map, op->getOperand(1));
    if (isa<arith::NegFOp>(op))
      return hasOuterFactor(map, op->getOperand(0));
    if (isa<arith::DivFOp>(op))
      return !varies(map, op->getOperand(1)) && !isNormaliser(map, op->getOperand(1));
    std::optional<Absorption> choice = absorption(scalar);
    return choice && hasOuterFactor(map, choice->product);
  }

  bool varies(MapOp map, Value scalar) {
    return llvm::any_of(arraysOf(map, scalar), [&](Value array) { return hasAnyDim(array, dims); });
  }

  bool count() const { return found.inside.size() + found.outside.size() <= kMostFactors; }

  OpBuilder &b;
  ArrayAttr dims;
  llvm::DenseMap<Value, bool> known; // hasOuterFactor
};

} // namespace

SumFactors sumFactors(OpBuilder &b, ValueRange elements, ArrayAttr dims) {
  Splitter splitter(b, dims);
  if (llvm::all_of(elements, [&](Value factor) { return splitter.appendArray(factor); }) &&
      coversDims(splitter.found.inside, dims))
    return splitter.found;
  SumFactors whole;
  whole.inside.assign(elements.begin(), elements.end());
  return whole;
}

static Value apply(ImplicitLocOpBuilder &b, Value x, Value factor, const SumFactors::Outer &outer,
                   bool absorbs) {
  if (!outer.divides)
    return absorbs ? times(b, x, factor) : arith::MulFOp::create(b, x, factor).getResult();
  Value quotient = arith::DivFOp::create(b, x, factor);
  return absorbs ? unlessZero(b, x, quotient) : quotient;
}

static Value scaledSum(OpBuilder &b, attn::ArrayType type, Value sum, const SumFactors &factors) {
  SmallVector<Value> operands = {sum};
  for (const SumFactors::Outer &outer : factors.outside)
    operands.push_back(outer.array);
  return MapOp::create(b, sum.getLoc(), type, operands,
                       [&](OpBuilder &inner, Location at, ValueRange x) -> Value {
                         ImplicitLocOpBuilder body(at, inner);
                         Value result = x.front();
                         for (auto [outer, factor] : llvm::zip(factors.outside, x.drop_front()))
                           result = apply(body, result, factor, outer, factors.absorbs);
                         return factors.isNegated ? arith::NegFOp::create(body, result) : result;
                       });
}

// `value`, a sum times what does not vary along it, and 0 where there is nothing to sum: unless it
// is 0 there already.
static Value whereSummed(OpBuilder &b, ProgramOp program, ArrayAttr summed, Value value) {
  SmallVector<StringAttr> dims = dimNames(summed);
  Terms terms(program, dims, [](Value) { return false; });
  const ScalarExpr *e = terms.leaf(value);
  bool isZero = llvm::all_of(dims, [&](StringAttr dim) {
    return program.lookupDim(dim).isStatic() || isZeroOverNothing(terms, e, dim);
  });
  return isZero ? value
                : terms.build(b, value.getLoc(),
                              unlessEmpty(b, value.getLoc(), terms, program, dims, e));
}

Value buildSum(OpBuilder &b, Location loc, attn::ArrayType type, ArrayAttr dims,
               const SumFactors &factors) {
  auto program = cast<ProgramOp>(b.getInsertionBlock()->getParentOp());
  SmallVector<StringAttr> rest;
  for (StringAttr dim : unionDims(program, factors.inside))
    if (!llvm::is_contained(dims, dim))
      rest.push_back(dim);
  auto sumType = attn::ArrayType::get(b.getContext(), rest, type.getElementType());
  Value sum = red::FoldOp::create(b, loc, sumType, red::FoldKind::Add, dims, factors.inside,
                                  Value(), Value());
  if (factors.outside.empty() && !factors.isNegated)
    return sum;
  return whereSummed(b, program, dims, scaledSum(b, type, sum, factors));
}

void takeOutFactors(ProgramOp program) {
  for (auto fold : llvm::make_early_inc_range(program.getBodyBlock()->getOps<red::FoldOp>())) {
    if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getFactors().empty() ||
        !isa<FloatType>(fold.getType().getElementType()))
      continue;
    OpBuilder b(fold);
    SumFactors factors = sumFactors(b, fold.getFactors(), fold.getDims());
    if (factors.outside.empty())
      continue;
    fold.getResult().replaceAllUsesWith(
        buildSum(b, fold.getLoc(), fold.getType(), fold.getDims(), factors));
    fold.erase();
  }
  eliminateCommon(program);
}

} // namespace attnc
