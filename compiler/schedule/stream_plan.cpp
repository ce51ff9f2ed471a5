#include "compiler/schedule/stream_plan.h"
#include "compiler/schedule/packing.h"
#include "compiler/schedule/stream_schedule.h"
#include "compiler/schedule/weight_range.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {
namespace {

constexpr double kLargestHalf = 65504;
// A factor that takes this many powers of 2 from the 24 between the largest weight and the smallest
// subnormal number leaves enough.
constexpr double kSmallestFactor = 0x1p-6;

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

std::string nameOf(Value value) {
  StringRef name = attn::specName(value.getLoc());
  return name.empty() ? "a value" : ("'" + name + "'").str();
}

class Planner {
public:
  Planner(red::NestOp nest, std::string &why) : nest(nest), why(why) {}

  FailureOr<StreamPlan> plan() {
    if (failed(planRoles()))
      return failure();
    planInputs();
    if (failed(planContractions()) || failed(planStates()) || failed(checkStep()) ||
        failed(checkResults()))
      return failure();
    planResults();
    result.packing = findPacking(nest, result);
    return std::move(result);
  }

private:
  LogicalResult refuse(const Twine &reason) {
    why = reason.str();
    return failure();
  }

  bool isRow(StringAttr dim) const { return dim == result.row; }
  bool isStream(StringAttr dim) const { return dim == result.stream; }
  bool isInner(StringAttr dim) { return llvm::is_contained(nest.getInner(), dim); }
  bool isGridOnly(Value array) {
    return llvm::all_of(arrayType(array).getDims(),
                        [&](StringAttr dim) { return llvm::is_contained(nest.getGrid(), dim); });
  }
  bool has(Value array, StringAttr dim) { return arrayType(array).hasDim(dim); }
  bool hasInner(Value array) {
    return llvm::any_of(arrayType(array).getDims(), [&](StringAttr d) { return isInner(d); });
  }

  LogicalResult planRoles() {
    if (nest.getRow().size() != 1 || nest.getStream().size() != 1)
      return refuse("it has " + Twine(nest.getRow().size()) + " row dims and " +
                    Twine(nest.getStream().size()) + " stream dims; tiles need one of each");
    result.row = cast<StringAttr>(nest.getRow()[0]);
    result.stream = cast<StringAttr>(nest.getStream()[0]);
    for (StringAttr dim : nest.getInner().getAsRange<StringAttr>())
      if (!attn::programOf(nest).lookupDim(dim).isStatic())
        return refuse("the extent of '" + dim.getValue() + "' is not static");
    return success();
  }

  void planInputs() {
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
      Tensor tensor = tensorOf(read.getSource());
      unsigned rank = tensor.dims.size();
      if (read.getOtherwise() || rank < 2 || read.subscriptDim(rank - 1) != result.stream)
        continue;
      InputTile input{read, ~0u, tensor.element};
      bool fits = tensor.element.isF16() || tensor.element.isBF16() || tensor.element.isF32();
      for (unsigned axis = 0; axis + 1 < rank; ++axis) {
        StringAttr dim = read.subscriptDim(axis);
        if (dim == result.row && input.rowAxis == ~0u)
          input.rowAxis = axis;
        else
          fits &=
              dim ? llvm::is_contained(nest.getGrid(), dim) : isGridOnly(read.subscriptValue(axis));
      }
      if (fits && input.rowAxis != ~0u)
        result.inputs.push_back(input);
    }
  }

  void planResults() {
    for (Value value : nest.getResults()) {
      Tensor tensor = tensorOf(value);
      const StringAttr *row = llvm::find(tensor.dims, result.row);
      StringAttr columns = tensor.dims.back();
      if (isInner(columns) && row != tensor.dims.end() &&
          (tensor.element.isF16() || tensor.element.isBF16()))
        result.results.push_back({value, static_cast<unsigned>(row - tensor.dims.begin()),
                                  attn::programOf(nest).lookupDim(columns).getExtent(),
                                  tensor.element});
    }
  }

  // The length n of a subscript that is the index where it is below n, and negative beyond.
  Value lengthOfRows(Value subscript, StringAttr along) {
    auto map = subscript.getDefiningOp<attn::MapOp>();
    auto select = map ? map.getYielded().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
    auto within = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    APInt beyond;
    if (!within || within.getPredicate() != arith::CmpIPredicate::slt ||
        within.getLhs() != select.getTrueValue() ||
        !matchPattern(select.getFalseValue(), m_ConstantInt(&beyond)) || !beyond.isNegative())
      return {};
    auto operand = [&](Value scalar) {
      auto argument = dyn_cast<BlockArgument>(scalar);
      return argument ? map.getOperand(argument.getArgNumber()) : Value();
    };
    Value index = operand(within.getLhs()), length = operand(within.getRhs());
    auto indexOp = index ? index.getDefiningOp<attn::IndexOp>() : attn::IndexOp();
    return indexOp && indexOp.getDimAttr() == along && length && isGridOnly(length) ? length
                                                                                    : Value();
  }

  // `array` as a tile with rows along `along`, or nothing.
  std::optional<OperandTile> operandTile(Value array, StringAttr along) {
    auto read = array.getDefiningOp<attn::ReadOp>();
    // An `else` may only stand for rows beyond a length, which copies fill with zeros.
    bool bounded = read && read.getOtherwise();
    if (!read || (bounded && (!read.getOtherwise()->isPosZero() || read.getIndices().size() != 1)))
      return {};
    Tensor tensor = tensorOf(read.getSource());
    unsigned rank = tensor.dims.size();
    StringAttr last = rank < 2 ? StringAttr() : read.subscriptDim(rank - 1);
    if (!last || !isInner(last))
      return {};
    OperandTile tile{read, ~0u, attn::programOf(nest).lookupDim(last).getExtent(), tensor.element};
    for (unsigned axis = 0; axis + 1 < rank; ++axis) {
      StringAttr dim = read.subscriptDim(axis);
      if (!dim && bounded)
        tile.length = lengthOfRows(read.subscriptValue(axis), along);
      if ((dim == along || (!dim && tile.length)) && tile.rowAxis == ~0u)
        tile.rowAxis = axis;
      else if (dim ? !llvm::is_contained(nest.getGrid(), dim)
                   : bounded || !isGridOnly(read.subscriptValue(axis)))
        return {};
    }
    bool real = tile.element.isF16() || tile.element.isBF16() || tile.element.isF32();
    return real && tile.rowAxis != ~0u ? std::optional(tile) : std::nullopt;
  }

  // Why `factor` of `fold` does not arrive as tiles.
  static std::string whyNoTile(Value factor, red::FoldOp fold, const Twine &last) {
    auto read = factor.getDefiningOp<attn::ReadOp>();
    if (read && read.getOtherwise())
      return "each element of '" + tensorOf(read.getSource()).name +
             "' is read at subscripts that are checked, not as tiles";
    return ("a factor of " + nameOf(fold) + " is not a tensor read along its last axis by " + last)
        .str();
  }

  unsigned streamedIndex(const OperandTile &tile) {
    for (auto [i, known] : llvm::enumerate(result.streamed))
      if (known.read == tile.read)
        return i;
    result.streamed.push_back(tile);
    return result.streamed.size() - 1;
  }

  LogicalResult planContractions() {
    for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>()) {
      bool scores = has(fold, result.row) && has(fold, result.stream);
      if (nest.dependsOnState(fold) || !scores)
        continue;
      if (failed(planContraction(fold)))
        return failure();
    }
    return success();
  }

  LogicalResult planContraction(red::FoldOp fold) {
    if (fold.getKind() != red::FoldKind::Add || fold.getDims().size() != 1 ||
        fold.getFactors().size() != 2 || fold.getExponent() || hasInner(fold))
      return refuse(nameOf(fold) + " is not a sum of products of two factors over one dim");
    Value a = fold.getFactors()[0], b = fold.getFactors()[1];
    if (has(a, result.stream))
      std::swap(a, b);
    std::optional<OperandTile> resident = operandTile(a, result.row);
    std::optional<OperandTile> streamed = operandTile(b, result.stream);
    if (!resident || !streamed)
      return refuse(whyNoTile(resident ? b : a, fold, "the dim that is summed"));
    if (resident->element != streamed->element)
      return refuse("the factors of " + nameOf(fold) + " have different types");
    result.contractions.push_back({fold, *resident, streamedIndex(*streamed)});
    return success();
  }

  LogicalResult planStates() {
    for (red::FoldOp fold : nest.states())
      if (Value reference = fold.getReference())
        if (llvm::none_of(result.references,
                          [&](auto &r) { return r.fold == reference.getDefiningOp(); }))
          result.references.push_back({reference.getDefiningOp<red::FoldOp>()});
    for (red::FoldOp fold : nest.states())
      if (llvm::none_of(result.references, [&](auto &r) { return r.fold == fold; }))
        if (failed(planState(fold)))
          return failure();
    for (Reference &reference : result.references)
      if (!has(reference.fold, result.row) || hasInner(reference.fold))
        return refuse(nameOf(reference.fold) + " is not a maximum for each row");
    if (result.contractions.empty() && result.streamed.empty())
      return refuse("nothing in it is a matrix product");
    return success();
  }

  LogicalResult planState(red::FoldOp fold) {
    StreamState state{fold};
    if (!arrayType(fold).getElementType().isF32())
      return refuse(nameOf(fold) + " is not a real number");
    if (fold.getBase())
      return refuse(nameOf(fold) + " is a moment about a centre that moves");
    if (fold.getDims().size() != 1)
      return refuse(nameOf(fold) + " folds over an inner dim together with the stream");
    if (!has(fold, result.row))
      return refuse(nameOf(fold) + " does not depend on the row");
    if (fold.getKind() != red::FoldKind::Add) {
      if (hasInner(fold))
        return refuse(nameOf(fold) + " is a " + stringifyFoldKind(fold.getKind()) +
                      " for each element of a row");
      result.states.push_back(state);
      return success();
    }
    Weight weight;
    for (Value factor : fold.getFactors()) {
      if (!hasInner(factor)) {
        weight.factors.push_back(factor);
        continue;
      }
      std::optional<OperandTile> tile = operandTile(factor, result.stream);
      if (!tile || state.streamed != -1)
        return refuse(whyNoTile(factor, fold, "an inner dim"));
      state.streamed = streamedIndex(*tile);
    }
    if (fold.getExponent() && (hasInner(fold.getExponent())))
      return refuse("the exponent of " + nameOf(fold) + " depends on an inner dim");
    for (auto [i, reference] : llvm::enumerate(result.references))
      if (fold.getReference() && reference.fold == fold.getReference().getDefiningOp())
        weight.reference = i;
    if (state.streamed != -1 && result.streamed[state.streamed].element.isF16())
      if (failed(checkHalfRange(fold, weight)))
        return failure();
    state.weight = weightIndex(weight);
    result.states.push_back(state);
    return success();
  }

  // Weights are rounded to the type of what they weigh. An exponential under its maximum is at most
  // 2^slack, and what f16 flushes to 0 is nothing beside the largest weight of its row; other
  // factors have to be proven neither too large nor too small.
  LogicalResult checkHalfRange(red::FoldOp fold, const Weight &weight) {
    double largest = weight.reference == -1 ? 1 : std::exp2(kMaxSlack);
    for (Value factor : weight.factors) {
      std::optional<Magnitudes> magnitudes = literalMagnitudes(factor);
      bool keepsPrecision = magnitudes && magnitudes->smallest >= kSmallestFactor;
      largest = keepsPrecision ? largest * magnitudes->largest : kLargestHalf + 1;
    }
    if (largest <= kLargestHalf)
      return success();
    return refuse("the weights of " + nameOf(fold) + " may leave the range of f16");
  }

  int weightIndex(const Weight &weight) {
    for (auto [i, known] : llvm::enumerate(result.weights))
      if (known.reference == weight.reference && known.factors == weight.factors)
        return i;
    result.weights.push_back(weight);
    return result.weights.size() - 1;
  }

  // What becomes scalar code of the step may not contain loops over tiles.
  LogicalResult checkStep() {
    for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>()) {
      bool finish = nest.dependsOnState(fold) && !llvm::is_contained(nest.states(), fold);
      if (finish)
        return refuse(nameOf(fold) + " folds over an inner dim after the stream");
    }
    return success();
  }

  LogicalResult checkResults() {
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (auto [value, stored] : llvm::zip(yield.getValues(), nest.getResults())) {
      unsigned inner =
          llvm::count_if(arrayType(value).getDims(), [&](StringAttr d) { return isInner(d); });
      if (!has(value, result.row) || has(value, result.stream) || inner > 1)
        return refuse("the result " + nameOf(value) + " is not stored by row");
      Tensor tensor = tensorOf(stored);
      if (inner == 1 && !isInner(tensor.dims.back()))
        return refuse("the result " + nameOf(value) + " is not stored with its inner dim last");
      if (inner == 1 && llvm::none_of(result.states, [&](StreamState &s) {
            return s.streamed != -1 && has(s.fold, tensor.dims.back());
          }))
        return refuse("the result " + nameOf(value) + " is not computed from a matrix product");
      if (!tensor.element.isF32() && !tensor.element.isF16() && !tensor.element.isBF16())
        return refuse("the result " + nameOf(value) + " is not stored as f32, f16 or bf16");
    }
    return success();
  }

  red::NestOp nest;
  std::string &why;
  StreamPlan result;
};

} // namespace

FailureOr<StreamPlan> planStream(red::NestOp nest, std::string &why) {
  return Planner(nest, why).plan();
}

bool canLowerStream(red::NestOp nest, std::string &why) { return succeeded(planStream(nest, why)); }

} // namespace attnc::schedule
