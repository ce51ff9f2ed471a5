#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/sum_factors.h"
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

Value multiply(OpBuilder &b, Location loc, ValueRange factors) {
  Value product = factors.front();
  for (Value factor : factors.drop_front())
    product = arith::MulFOp::create(b, loc, product, factor);
  return product;
}

bool scalesReduction(MapOp map) {
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

llvm::SetVector<Value> arraysOf(MapOp map, Value scalar) {
  llvm::SetVector<Value> arrays, scalars;
  scalars.insert(scalar);
  for (size_t i = 0; i < scalars.size(); ++i)
    if (auto argument = dyn_cast<BlockArgument>(scalars[i]))
      arrays.insert(map.getOperand(argument.getArgNumber()));
    else
      scalars.insert_range(scalars[i].getDefiningOp()->getOperands());
  return arrays;
}

bool isMask(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  if (!map)
    return false;
  Value scalar = map.getYielded();
  if (Operation *op = scalar.getDefiningOp();
      isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    scalar = op->getOperand(0);
    if (scalar.getType().isInteger(1))
      return true;
  }
  auto choice = scalar.getDefiningOp<arith::SelectOp>();
  auto isZero = [](Value x) {
    return matchPattern(x, m_Zero()) || matchPattern(x, m_AnyZeroFloat());
  };
  return choice && matchPattern(choice.getTrueValue(), m_Constant()) &&
         matchPattern(choice.getFalseValue(), m_Constant()) &&
         (isZero(choice.getTrueValue()) || isZero(choice.getFalseValue()));
}

static red::FoldKind foldKind(ReduceKind kind) {
  // The first six kinds are the same in both dialects; sugar is gone.
  return static_cast<red::FoldKind>(kind);
}

Value asFold(ReduceOp reduce) {
  OpBuilder b(reduce);
  Value operand = reduce.getOperand();
  if (reduce.getKind() == ReduceKind::Add && isa<FloatType>(reduce.getType().getElementType()))
    return buildSum(b, reduce.getLoc(), reduce.getType(), reduce.getDims(),
                    sumFactors(b, operand, reduce.getDims()));
  return red::FoldOp::create(b, reduce.getLoc(), reduce.getType(), foldKind(reduce.getKind()),
                             reduce.getDims(), operand, Value(), Value());
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
  Value operand = factors.size() == 1
                      ? factors.front()
                      : MapOp::create(b, fold.getLoc(), type, factors, multiply).getResult();
  // The kinds are the same in both dialects.
  auto reduce = ReduceOp::create(b, fold.getLoc(), fold.getType(),
                                 static_cast<ReduceKind>(fold.getKind()), fold.getDims(), operand);
  fold.getResult().replaceAllUsesWith(reduce);
  fold.erase();
  return reduce;
}

} // namespace attnc
