#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

MapOp subexpression(OpBuilder &b, MapOp map, Value scalar) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(scalar, &slice, options);
  SmallVector<Value> arguments, arrays;
  for (BlockArgument argument : map.getBodyBlock()->getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return slice.contains(user); })) {
      arguments.push_back(argument);
      arrays.push_back(map.getOperand(argument.getArgNumber()));
    }
  auto type =
      attn::ArrayType::get(b.getContext(), unionDims(programOf(map), arrays), scalar.getType());
  return MapOp::create(b, map.getLoc(), type, arrays,
                       [&](OpBuilder &inner, Location, ValueRange scalars) -> Value {
                         IRMapping mapping;
                         mapping.map(arguments, scalars);
                         for (Operation *op : slice)
                           inner.clone(*op, mapping);
                         return mapping.lookup(scalar);
                       });
}

// The result of a reduction times what has no further dims: a normalised output, say.
static bool scalesReduction(MapOp map) {
  return llvm::any_of(map.getOperands(), [&](Value operand) {
    return isa_and_nonnull<ReduceOp, red::FoldOp>(operand.getDefiningOp()) &&
           cast<attn::ArrayType>(operand.getType()).getDims() == map.getType().getDims();
  });
}

// The map that computes `array` as a product or as one of its operands, or null.
static MapOp productMap(Value array, bool ofReductions) {
  auto map = array.getDefiningOp<MapOp>();
  if (!map || (!ofReductions && scalesReduction(map)))
    return {};
  Value yielded = map.getYielded();
  return isa<BlockArgument>(yielded) || yielded.getDefiningOp<arith::MulFOp>() ? map : MapOp();
}

bool isProduct(MapOp map) { return productMap(map, /*ofReductions=*/true) != nullptr; }

namespace {
// Counts factors before they are taken apart: of products that are shared, x = y * y of y = z * z,
// there are exponentially many.
class FactorCount {
public:
  static constexpr unsigned kMost = 256;

  explicit FactorCount(bool ofReductions) : ofReductions(ofReductions) {}

  bool isSmall(Value array) { return ofArray(array) <= kMost; }

private:
  // At most kMost + 1.
  unsigned ofArray(Value array) {
    MapOp map = productMap(array, ofReductions);
    return map ? ofScalar(map, map.getYielded()) : 1;
  }

  unsigned ofScalar(MapOp map, Value scalar) {
    if (auto found = known.find(scalar); found != known.end())
      return found->second;
    unsigned count = 1;
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      count = ofArray(map.getOperand(argument.getArgNumber()));
    else if (auto product = scalar.getDefiningOp<arith::MulFOp>())
      count =
          std::min(kMost + 1, ofScalar(map, product.getLhs()) + ofScalar(map, product.getRhs()));
    return known[scalar] = count;
  }

  bool ofReductions;
  llvm::DenseMap<Value, unsigned> known;
};
} // namespace

namespace {
class Factors {
public:
  Factors(OpBuilder &b, bool ofReductions) : b(b), ofReductions(ofReductions) {}

  SmallVector<Value> factors;

  void append(Value array) {
    if (MapOp map = productMap(array, ofReductions))
      append(map, map.getYielded());
    else
      factors.push_back(array);
  }

private:
  void append(MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar)) {
      append(map.getOperand(argument.getArgNumber()));
    } else if (auto product = scalar.getDefiningOp<arith::MulFOp>()) {
      append(map, product.getLhs());
      append(map, product.getRhs());
    } else {
      factors.push_back(subexpression(b, map, scalar));
    }
  }

  OpBuilder &b;
  bool ofReductions;
};
} // namespace

SmallVector<Value> productFactors(OpBuilder &b, Value array, bool ofReductions) {
  if (!FactorCount(ofReductions).isSmall(array))
    return {array};
  Factors found(b, ofReductions);
  found.append(array);
  return found.factors;
}

static bool hasAnyDim(Value array, ArrayAttr dims) {
  return llvm::any_of(dims.getAsRange<StringAttr>(), [&](StringAttr dim) {
    return cast<attn::ArrayType>(array.getType()).hasDim(dim);
  });
}

static bool coversDims(ArrayRef<Value> arrays, ArrayAttr dims) {
  return llvm::all_of(dims.getAsRange<StringAttr>(), [&](StringAttr dim) {
    return llvm::any_of(
        arrays, [&](Value array) { return cast<attn::ArrayType>(array.getType()).hasDim(dim); });
  });
}

static Value product(OpBuilder &b, Location loc, attn::ArrayType type, ArrayRef<Value> arrays) {
  return MapOp::create(b, loc, type, arrays, [](OpBuilder &b, Location at, ValueRange x) -> Value {
    Value result = x.front();
    for (Value factor : x.drop_front())
      result = arith::MulFOp::create(b, at, result, factor);
    return result;
  });
}

// `value`, a sum times what does not vary along it, and 0 where there is nothing to sum: unless it
// is 0 there already.
static Value whereSummed(OpBuilder &b, ReduceOp reduce, Value value) {
  ProgramOp program = programOf(reduce);
  SmallVector<StringAttr> dims = dimNames(reduce.getDims());
  Terms terms(program, dims, [](Value) { return false; });
  const ScalarExpr *e = terms.leaf(value);
  bool isZero = llvm::all_of(dims, [&](StringAttr dim) {
    return program.lookupDim(dim).isStatic() || isZeroOverNothing(terms, e, dim);
  });
  return isZero ? value
                : terms.build(b, reduce.getLoc(),
                              unlessEmpty(b, reduce.getLoc(), terms, program, dims, e));
}

static red::FoldKind foldKind(ReduceKind kind) {
  // The first six kinds are the same in both dialects; sugar is gone.
  return static_cast<red::FoldKind>(kind);
}

Value asFold(ReduceOp reduce) {
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  ProgramOp program = programOf(reduce);
  SmallVector<Value> factors = {reduce.getOperand()}, outside;
  bool isFloat = isa<FloatType>(reduce.getType().getElementType());
  if (reduce.getKind() == ReduceKind::Add && isFloat) {
    SmallVector<Value> inside;
    for (Value factor : productFactors(b, reduce.getOperand()))
      (hasAnyDim(factor, reduce.getDims()) ? inside : outside).push_back(factor);
    factors = inside;
    if (!coversDims(factors, reduce.getDims())) {
      factors = {reduce.getOperand()};
      outside.clear();
    }
  }
  SmallVector<StringAttr> dims;
  for (StringAttr dim : unionDims(program, factors))
    if (!llvm::is_contained(reduce.getDims(), dim))
      dims.push_back(dim);
  auto type = attn::ArrayType::get(b.getContext(), dims, reduce.getType().getElementType());
  Value fold = red::FoldOp::create(b, loc, type, foldKind(reduce.getKind()), reduce.getDims(),
                                   factors, Value(), Value());
  if (outside.empty())
    return fold;
  outside.insert(outside.begin(), fold);
  return whereSummed(b, reduce, product(b, loc, reduce.getType(), outside));
}

void toFoldForm(ProgramOp program) {
  SmallVector<ReduceOp> reduces(program.getBodyBlock()->getOps<ReduceOp>());
  for (ReduceOp reduce : reduces) {
    reduce.getResult().replaceAllUsesWith(asFold(reduce));
    reduce.erase();
  }
}

ReduceOp replaceByReduce(red::FoldOp fold) {
  OpBuilder b(fold);
  SmallVector<Value> factors(fold.getFactors());
  auto type = attn::ArrayType::get(b.getContext(), unionDims(programOf(fold), factors),
                                   fold.getType().getElementType());
  Value operand = factors.size() == 1 ? factors.front() : product(b, fold.getLoc(), type, factors);
  // The kinds are the same in both dialects.
  auto reduce = ReduceOp::create(b, fold.getLoc(), fold.getType(),
                                 static_cast<ReduceKind>(fold.getKind()), fold.getDims(), operand);
  fold.getResult().replaceAllUsesWith(reduce);
  fold.erase();
  return reduce;
}

} // namespace attnc
