#include "compiler/transforms/fusion/real_sums.h"
#include "compiler/transforms/arrays/substitution.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/pair_products.h"
#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

// Conditions that are spelled out.
constexpr int64_t kFewConditions = 8;
// Integers up to this one are numbers of f32, and so are the sums of some if their magnitudes add
// up to no more.
constexpr int64_t kLargestExact = 1 << 24;
// The same of factors: products of tensor cores take 11 bits of each exactly, and may leave out
// what the rest of both makes.
constexpr int64_t kLargestFactor = 1 << 11;

/// The integers that arrays hold.
class IntegerRanges {
public:
  /// The largest magnitude of an element, or nothing.
  std::optional<int64_t> magnitude(Value array) {
    ConstantIntRanges range = ofArray(array);
    int64_t low = range.smin().getSExtValue(), high = range.smax().getSExtValue();
    if (low < -kLargestExact || high > kLargestExact)
      return std::nullopt;
    return std::max(std::abs(low), std::abs(high));
  }

private:
  static ConstantIntRanges anything(unsigned bits) { return ConstantIntRanges::maxRange(bits); }
  static ConstantIntRanges anything(Type type) { return anything(type.getIntOrFloatBitWidth()); }

  ConstantIntRanges ofArray(Value array) {
    if (auto known = arrays.find(array); known != arrays.end())
      return known->second;
    ConstantIntRanges range = compute(array);
    arrays.try_emplace(array, range);
    return range;
  }

  ConstantIntRanges compute(Value array) {
    Type element = elementOf(array);
    if (auto map = array.getDefiningOp<MapOp>())
      return ofScalar(map, map.getYielded());
    auto read = array.getDefiningOp<ReadOp>();
    auto stored = read ? dyn_cast<IntegerType>(elementOf(read.getSource())) : IntegerType();
    if (!stored || stored.getWidth() >= 64)
      return anything(element);
    // Outside of the tensor it is 0.
    bool isUnsigned = stored.isUnsigned() || stored.getWidth() == 1;
    APInt low = isUnsigned ? APInt::getMinValue(stored.getWidth())
                           : APInt::getSignedMinValue(stored.getWidth());
    APInt high = isUnsigned ? APInt::getMaxValue(stored.getWidth())
                            : APInt::getSignedMaxValue(stored.getWidth());
    unsigned width = element.getIntOrFloatBitWidth();
    if (width <= stored.getWidth())
      return anything(element);
    return ConstantIntRanges::fromSigned(isUnsigned ? low.zext(width) : low.sext(width),
                                         isUnsigned ? high.zext(width) : high.sext(width));
  }

  ConstantIntRanges ofScalar(MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return ofArray(map.getOperand(argument.getArgNumber()));
    if (auto known = scalars.find(scalar); known != scalars.end())
      return known->second;
    ConstantIntRanges range = anything(scalar.getType());
    Operation *op = scalar.getDefiningOp();
    auto isInteger = [](Type type) { return isa<IntegerType>(type); };
    if (auto inferred = dyn_cast<InferIntRangeInterface>(op);
        inferred && llvm::all_of(op->getOperandTypes(), isInteger)) {
      SmallVector<ConstantIntRanges> operands;
      for (Value operand : op->getOperands())
        operands.push_back(ofScalar(map, operand));
      inferred.inferResultRanges(operands,
                                 [&](Value, const ConstantIntRanges &found) { range = found; });
    }
    if (isa<math::AbsIOp>(op))
      range = ofMagnitude(ofScalar(map, op->getOperand(0)));
    scalars.try_emplace(scalar, range);
    return range;
  }

  static ConstantIntRanges ofMagnitude(const ConstantIntRanges &range) {
    APInt zero(range.smin().getBitWidth(), 0);
    if (range.smin().isMinSignedValue())
      return anything(range.smin().getBitWidth());
    return ConstantIntRanges::fromSigned(
        zero, llvm::APIntOps::smax(range.smin().abs(), range.smax().abs()));
  }

  llvm::DenseMap<Value, ConstantIntRanges> arrays, scalars;
};

class RealSums {
public:
  explicit RealSums(ProgramOp program) : program(program), arrays(program) {}

  void run() {
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>())) {
      arrays.builder().setInsertionPoint(fold);
      arrays.setLocation(fold.getLoc());
      bool isCondition = fold.getKind() == FoldKind::And || fold.getKind() == FoldKind::Or;
      if (isCondition && isFew(fold))
        replace(fold, spellOut(fold));
      else if (isCondition && isOfPairs(fold))
        replace(fold, count(fold));
      else if (isExactInReals(fold))
        sum(fold);
    }
  }

private:
  // How many elements each result folds; nothing if that is known only at run time.
  std::optional<int64_t> termsOf(FoldOp fold) {
    int64_t terms = 1;
    for (StringAttr dim : dimNames(fold.getDims())) {
      DimAttr attr = program.lookupDim(dim);
      if (!attr.isStatic() || attr.getExtent() > kLargestExact)
        return std::nullopt;
      terms *= attr.getExtent();
      if (terms > kLargestExact)
        return std::nullopt;
    }
    return terms;
  }

  static void replace(FoldOp fold, Value value) {
    fold.getResult().replaceAllUsesWith(value);
    fold.erase();
  }

  //===--- conditions ------------------------------------------------------------------------===//

  // True if the conditions are few, and are not folds themselves.
  bool isFew(FoldOp fold) {
    std::optional<int64_t> terms = termsOf(fold);
    if (!terms || *terms > kFewConditions || *terms == 0)
      return false;
    llvm::SetVector<Operation *> reached;
    reached.insert(fold.getFactors().front().getDefiningOp());
    for (size_t i = 0; i < reached.size(); ++i) {
      if (isa<FoldOp>(reached[i]))
        return false;
      if (isa<MapOp, ReadOp>(reached[i]))
        for (Value operand : reached[i]->getOperands())
          reached.insert(operand.getDefiningOp());
    }
    return true;
  }

  Value spellOut(FoldOp fold) {
    SmallVector<Value> terms = {fold.getFactors().front()};
    Type integer = arrays.builder().getI64Type();
    for (StringAttr dim : dimNames(fold.getDims())) {
      SmallVector<Value> all;
      for (Value term : terms)
        for (int64_t i = 0; i < program.lookupDim(dim).getExtent(); ++i)
          all.push_back(
              substitute(arrays, term, {{dim, arrays.constant(integer, i)}}, /*areInside=*/true));
      terms = std::move(all);
    }
    bool isAny = fold.getKind() == FoldKind::Or;
    return arrays.map(terms, arrays.builder().getI1Type(),
                      [&](ImplicitLocOpBuilder &b, ValueRange x) {
                        Value all = x.front();
                        for (Value term : x.drop_front())
                          all = isAny ? arith::OrIOp::create(b, all, term).getResult()
                                      : arith::AndIOp::create(b, all, term).getResult();
                        return all;
                      });
  }

  // `any` if one or more hold, `all` if none does not: a sum of ones that has become too large to
  // grow is not 0.
  Value count(FoldOp fold) {
    bool isAny = fold.getKind() == FoldKind::Or;
    Type real = arrays.builder().getF32Type(), truth = arrays.builder().getI1Type();
    Value ones = arrays.map(
        fold.getFactors().front(), real, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
          Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
          Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
          return arith::SelectOp::create(b, x[0], isAny ? one : zero, isAny ? zero : one);
        });
    Value sum = foldOf(fold, ones);
    return arrays.map(sum, truth, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
      return arith::CmpFOp::create(b, isAny ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OEQ,
                                   x[0], zero);
    });
  }

  Value foldOf(FoldOp fold, ValueRange factors) {
    auto type = attn::ArrayType::get(program.getContext(), fold.getType().getDims(),
                                     arrays.builder().getF32Type());
    return FoldOp::create(arrays.builder(), fold.getLoc(), type, FoldKind::Add, fold.getDims(),
                          factors, Value(), Value());
  }

  //===--- integers --------------------------------------------------------------------------===//

  bool isExactInReals(FoldOp fold) {
    if (fold.getKind() != FoldKind::Add || isReal(fold))
      return false;
    std::optional<int64_t> terms = termsOf(fold);
    std::optional<int64_t> most = ranges.magnitude(fold.getFactors().front());
    return terms && most && *most * *terms <= kLargestExact;
  }

  // The arrays whose product is what `fold` sums.
  SmallVector<Value> factorsOf(FoldOp fold) {
    Value term = fold.getFactors().front();
    auto map = term.getDefiningOp<MapOp>();
    auto product = map ? map.getYielded().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
    if (!product)
      return {term};
    SmallVector<Value> factors;
    for (Value side : product->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(side);
      Value factor = argument ? map.getOperand(argument.getArgNumber())
                              : subexpression(arrays.builder(), map, side).getResult();
      std::optional<int64_t> most = ranges.magnitude(factor);
      if (!most || *most > kLargestFactor)
        return {term};
      factors.push_back(factor);
    }
    return factors;
  }

  void sum(FoldOp fold) {
    Type real = arrays.builder().getF32Type();
    SmallVector<Value> factors;
    for (Value factor : factorsOf(fold))
      factors.push_back(
          arrays.map(factor, real, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
            return arith::SIToFPOp::create(b, real, x[0]);
          }));
    Value sum = foldOf(fold, factors);
    takeAsReal(fold, sum);
    if (fold.use_empty())
      return fold.erase();
    replace(fold, arrays.map(sum, elementOf(fold), [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return arith::FPToSIOp::create(b, elementOf(fold), x[0]).getResult();
    }));
  }

  // Maps that do nothing with the integer but make it real take the real one.
  void takeAsReal(FoldOp fold, Value sum) {
    for (OpOperand &use : llvm::make_early_inc_range(fold.getResult().getUses())) {
      auto map = dyn_cast<MapOp>(use.getOwner());
      if (!map)
        continue;
      BlockArgument argument = map.getBodyBlock()->getArgument(use.getOperandNumber());
      bool isMadeReal = llvm::all_of(argument.getUsers(), [](Operation *user) {
        return isa<arith::SIToFPOp>(user) && user->getResult(0).getType().isF32();
      });
      if (!isMadeReal)
        continue;
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
      argument.setType(elementOf(sum));
      use.set(sum);
    }
  }

  ProgramOp program;
  ArrayBuilder arrays;
  IntegerRanges ranges;
};

} // namespace

void sumAsReals(ProgramOp program) { RealSums(program).run(); }

} // namespace attnc
