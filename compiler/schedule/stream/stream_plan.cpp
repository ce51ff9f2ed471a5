#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/choice/packing.h"
#include "compiler/schedule/nest/weight_range.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/stream/addends.h"
#include "compiler/schedule/stream/band_products.h"
#include "compiler/schedule/stream/computed_operands.h"
#include "compiler/schedule/stream/differences.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Red/Cancellation.h"
#include "dialects/Red/MaskedRead.h"
#include "dialects/Tile/ElementTypes.h"
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
    if (failed(planContractions()) || failed(planStates()) || failed(planRowSums()) ||
        failed(checkStep()) || failed(checkResults()))
      return failure();
    planResults();
    planFinishInputs();
    result.bands = planBands(nest, result);
    result.differences = planDifferences(nest, result);
    result.addends = planAddends(nest, result);
    result.growth = planGrowth(nest, result);
    result.packing = findPacking(nest, result);
    result.needs = countRegisterNeeds(nest, result);
    planVectors();
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
      if (!attn::programOf(nest).lookupDim(dim).isStatic() && !isWalkedOnly(dim))
        return refuse("the extent of '" + dim.getValue() + "' is not static");
    return success();
  }

  // True if all that is made of elements along the dim is a fold of one factor, which scalar code
  // computes index by index: no tile is as wide as the dim.
  bool isWalkedOnly(StringAttr dim) {
    auto hasDim = [&](Value array) { return arrayType(array).hasDim(dim); };
    return llvm::none_of(nest.getResults(), hasDim) &&
           llvm::all_of(nest.getBodyBlock()->getOps<red::FoldOp>(), [&](red::FoldOp fold) {
             return !hasDim(fold) &&
                    (llvm::none_of(fold->getOperands(), hasDim) ||
                     (fold->getNumOperands() == 1 && !llvm::is_contained(nest.states(), fold)));
           });
  }

  void planInputs() {
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
      unsigned rank = tensorOf(read.getSource()).dims.size();
      StringAttr last = rank ? read.subscriptDim(rank - 1) : StringAttr();
      if (read.getOtherwise() || !last)
        continue;
      if (isStream(last))
        planInput(read, result.row, result.inputs);
      else if (isRow(last))
        planInput(read, result.stream, result.turned);
    }
  }

  bool isGridOnly(attn::ReadOp read, unsigned axis) {
    StringAttr dim = read.subscriptDim(axis);
    return dim ? llvm::is_contained(nest.getGrid(), dim) : isGridOnly(read.subscriptValue(axis));
  }

  // Bytes, which are mostly truths, are read by the lanes that ask for them; nothing is known of
  // f64 here.
  void planVectors() {
    for (const ColumnVector &column : result.needs.columns) {
      attn::ReadOp read = column.read;
      Tensor tensor = tensorOf(read.getSource());
      unsigned last = tensor.dims.size() - 1;
      bool comes = !tensor.element.isF64() && tile::elementType(tensor.element).bytes > 1;
      if (comes && !read.getOtherwise() && read.subscriptDim(last) &&
          isStream(read.subscriptDim(last)) &&
          llvm::all_of(llvm::seq(last), [&](unsigned a) { return isGridOnly(read, a); }))
        result.vectors.push_back(read);
    }
  }

  // Adds the read to `list` if its tensor has rows along `along`.
  void planInput(attn::ReadOp read, StringAttr along, SmallVectorImpl<InputTile> &list) {
    Tensor tensor = tensorOf(read.getSource());
    InputTile input{read, ~0u, tensor.element};
    bool fits = tile::elementType(tensor.element).warpProducts;
    for (unsigned axis = 0; axis + 1 < tensor.dims.size(); ++axis) {
      if (read.subscriptDim(axis) == along && input.rowAxis == ~0u)
        input.rowAxis = axis;
      else
        fits &= isGridOnly(read, axis);
    }
    if (fits && input.rowAxis != ~0u)
      list.push_back(input);
  }

  void planResults() {
    for (Value value : nest.getResults()) {
      Tensor tensor = tensorOf(value);
      const StringAttr *row = llvm::find(tensor.dims, result.row);
      StringAttr columns = tensor.dims.back();
      if (isInner(columns) && row != tensor.dims.end() &&
          tile::elementType(tensor.element).isNarrow)
        result.results.push_back({value, static_cast<unsigned>(row - tensor.dims.begin()),
                                  attn::programOf(nest).lookupDim(columns).getExtent(),
                                  tensor.element});
    }
  }

  void planFinishInputs() {
    for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
      Tensor tensor = tensorOf(read.getSource());
      StringAttr last =
          tensor.dims.empty() ? StringAttr() : read.subscriptDim(tensor.dims.size() - 1);
      bool besideResult = last && isInner(last) && llvm::any_of(result.results, [&](ResultTile &r) {
                            return tensorOf(r.result).dims.back() == last;
                          });
      if (besideResult && !read.getOtherwise() && !has(read, result.stream) && !feedsFolds(read))
        planInput(read, result.row, result.finishInputs);
    }
  }

  static bool feedsFolds(Value array) {
    return llvm::any_of(array.getUsers(), [](Operation *user) {
      return isa<red::FoldOp>(user) || (isa<attn::MapOp>(user) && feedsFolds(user->getResult(0)));
    });
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
    tile.source = read;
    bool real = tile::elementType(tile.element).warpProducts;
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
      if (known.source == tile.source && known.element == tile.element)
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
    std::optional<OperandTile> resident, streamed;
    if (std::optional<ProductSides> sides = sidesOf(nest, fold, result.row, result.stream)) {
      resident = anyTile(sides->resident, result.row, fold);
      streamed = anyTile(sides->streamed, result.stream, fold);
    }
    if (!resident || !streamed) {
      if (std::string reason = whyNotDirect(nest, fold); !reason.empty())
        return refuse(reason);
      result.direct.push_back(fold);
      return success();
    }
    if (resident->element != streamed->element) {
      resident = widened(*resident);
      streamed = widened(*streamed);
    }
    result.contractions.push_back({fold, *resident, streamedIndex(*streamed)});
    return success();
  }

  // The product of factors as a tensor's tile, else as one that is computed.
  std::optional<OperandTile> anyTile(ArrayRef<Value> factors, StringAttr along, red::FoldOp fold) {
    std::optional<OperandTile> tile;
    if (factors.size() == 1)
      tile = operandTile(factors.front(), along);
    return tile ? tile : computedTile(nest, factors, along, fold);
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
    return success();
  }

  // Each lane keeps its own centre, which it can compute from its own shares of row vectors.
  LogicalResult checkMoment(red::FoldOp fold) {
    if (hasInner(fold) || hasInner(fold.getBase()) || hasInner(fold.getCentre()))
      return refuse(nameOf(fold) + " is a moment for each element of a row");
    for (red::FoldOp state : nest.states())
      if ((state.getBase() || hasInner(state)) && isComputedFrom(fold.getCentre(), state))
        return refuse("the centre of " + nameOf(fold) + " is computed from " + nameOf(state) +
                      ", which is no sum for each row");
    return success();
  }

  bool isComputedFrom(Value array, Value from) {
    llvm::SetVector<Value> reached;
    reached.insert(array);
    for (size_t i = 0; i < reached.size(); ++i)
      if (auto map = reached[i].getDefiningOp<attn::MapOp>())
        reached.insert(map->operand_begin(), map->operand_end());
    return reached.contains(from);
  }

  LogicalResult planState(red::FoldOp fold) {
    StreamState state{fold};
    if (!arrayType(fold).getElementType().isF32())
      return refuse(nameOf(fold) + " is not a real number");
    if (fold.getBase() && failed(checkMoment(fold)))
      return failure();
    if (fold.getDims().size() != 1)
      return refuse(nameOf(fold) + " folds over an inner dim together with the stream");
    // A number that all rows share, as the count of elements, is kept for each of them.
    if (!has(fold, result.row) && hasInner(fold))
      return refuse(nameOf(fold) + " does not depend on the row");
    if (fold.getKind() != red::FoldKind::Add) {
      if (hasInner(fold))
        return refuse(nameOf(fold) + " is a " + stringifyFoldKind(fold.getKind()) +
                      " for each element of a row");
      result.states.push_back(state);
      return success();
    }
    Weight weight;
    SmallVector<Value> columns;
    for (Value factor : fold.getFactors())
      (hasInner(factor) ? columns : weight.factors).push_back(factor);
    std::optional<OperandTile> tile;
    if (!columns.empty()) {
      tile = anyTile(columns, result.stream, fold);
      if (!tile)
        return refuse(whyNoTile(columns.front(), fold, "an inner dim"));
    }
    if (fold.getExponent() && (hasInner(fold.getExponent())))
      return refuse("the exponent of " + nameOf(fold) + " depends on an inner dim");
    for (auto [i, reference] : llvm::enumerate(result.references))
      if (fold.getReference() && reference.fold == fold.getReference().getDefiningOp())
        weight.reference = i;
    if (tile && (keepsFloat(weight) || mayCancel(fold, weight) ||
                 (tile->element.isF16() && !isInHalfRange(weight))))
      tile = widened(*tile);
    if (tile)
      state.streamed = streamedIndex(*tile);
    state.weight = weightIndex(weight);
    result.states.push_back(state);
    return success();
  }

  // What an input or another nest holds as f32 is not rounded: it may be a sum whose terms cancel
  // in the product (docs/rationale/red.md), and nothing bounds it as 1 bounds a weight.
  static bool keepsFloat(const Weight &weight) {
    auto isRead = [](Value factor) { return bool(red::maskedRead(factor)); };
    auto isFloat = [](Value factor) {
      return tensorOf(red::maskedRead(factor).getSource()).element.isF32();
    };
    return weight.reference == -1 && llvm::all_of(weight.factors, isRead) &&
           llvm::any_of(weight.factors, isFloat);
  }

  // True if the weight would be rounded relative to products that may cancel later: unless it is
  // 16-bit elements as they are, which the other operand is then, too.
  static bool mayCancel(red::FoldOp fold, const Weight &weight) {
    auto read = weight.factors.size() == 1 ? weight.factors.front().getDefiningOp<attn::ReadOp>()
                                           : attn::ReadOp();
    bool isRounded = weight.reference != -1 || !read || !halfType(read);
    auto cancels = [&](Value array) { return red::mayCancelAlong(fold, array); };
    return isRounded && (llvm::any_of(weight.factors, cancels) ||
                         (fold.getExponent() && cancels(fold.getExponent())));
  }

  // Weights are rounded to the type of what they weigh. An exponential under its maximum is at most
  // 2^threshold, and what f16 flushes to 0 is nothing beside the largest weight of its row; other
  // factors have to be proven neither too large nor too small.
  static bool isInHalfRange(const Weight &weight) {
    auto isHalf = [](Value factor) {
      auto read = factor.getDefiningOp<attn::ReadOp>();
      Type half = read ? halfType(read) : Type();
      return half && half.isF16();
    };
    if (weight.reference == -1 && weight.factors.size() == 1 && isHalf(weight.factors.front()))
      return true; // as it is
    double largest = weight.reference == -1 ? 1 : std::exp2(tile::kMostRescaleThreshold);
    for (Value factor : weight.factors) {
      std::optional<Magnitudes> magnitudes = literalMagnitudes(factor);
      bool keepsPrecision = magnitudes && magnitudes->smallest >= kSmallestFactor;
      largest = keepsPrecision ? largest * magnitudes->largest : kLargestHalf + 1;
    }
    return largest <= kLargestHalf;
  }

  int weightIndex(const Weight &weight) {
    for (auto [i, known] : llvm::enumerate(result.weights))
      if (known.reference == weight.reference && known.factors == weight.factors)
        return i;
    result.weights.push_back(weight);
    return result.weights.size() - 1;
  }

  LogicalResult planRowSums() {
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>()) {
      if (!llvm::is_contained(fold.getDims(), result.row))
        continue;
      if (fold.getDims().size() != 1 || fold.getKind() != red::FoldKind::Add ||
          fold.getExponent() || fold.getBase())
        return refuse(nameOf(fold) + " folds over the rows, and is no plain sum");
      SmallVector<Value> columns, factors;
      for (Value factor : fold.getFactors())
        (hasInner(factor) ? columns : factors).push_back(factor);
      auto isIts = [&](const Weight &w) { return w.reference == -1 && w.factors == factors; };
      auto *weight = llvm::find_if(result.weights, isIts);
      std::optional<OperandTile> resident;
      if (columns.size() == 1)
        resident = operandTile(columns.front(), result.row);
      auto place = llvm::find(yield.getValues(), fold.getResult());
      if (weight == result.weights.end() || !resident || !fold->hasOneUse())
        return refuse(nameOf(fold) + " is no sum over the rows of a state's weight and a tensor");
      result.rowSums.push_back(
          {fold, static_cast<int>(weight - result.weights.begin()), *resident,
           nest->getOpResult(std::distance(yield.getValues().begin(), place))});
    }
    return success();
  }

  // What becomes scalar code of the step may not contain loops over tiles.
  LogicalResult checkStep() {
    for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>()) {
      bool epilogue = nest.dependsOnState(fold) && !llvm::is_contained(nest.states(), fold);
      if (epilogue && failed(planEpilogue(fold)))
        return failure();
    }
    return success();
  }

  // Elements that a state has in registers are folded for each row.
  LogicalResult planEpilogue(red::FoldOp fold) {
    SmallVector<StringAttr> dims = attn::dimNames(fold.getDims());
    auto isOther = [&](StringAttr dim) { return isInner(dim) && dim != dims.front(); };
    bool isElement = llvm::all_of(fold.getFactors(), [&](Value factor) {
      return arrayType(factor).getElementType().isF32() &&
             llvm::none_of(arrayType(factor).getDims(), isOther);
    });
    bool isHeld = llvm::any_of(result.states, [&](StreamState &s) {
      return s.streamed != -1 && has(s.fold, dims.front());
    });
    bool isKind = fold.getKind() != red::FoldKind::And && fold.getKind() != red::FoldKind::Or;
    if (dims.size() != 1 || !isElement || !isHeld || !isKind || !has(fold, result.row) ||
        hasInner(fold) || fold.getExponent() || fold.getBase())
      return refuse(nameOf(fold) +
                    " folds over an inner dim after the stream, and not the elements "
                    "of a row that a state holds");
    result.epilogue.push_back(fold);
    return success();
  }

  LogicalResult checkResults() {
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (auto [value, stored] : llvm::zip(yield.getValues(), nest.getResults())) {
      if (nest.states().empty()) {
        if (failed(checkPairs(value, stored)))
          return failure();
        result.pairs.push_back(stored);
        continue;
      }
      if (result.isRowSum(stored)) {
        Tensor tensor = tensorOf(stored);
        if (!isInner(tensor.dims.back()) || !tensor.element.isF32())
          return refuse("the sum over rows " + nameOf(value) + " is not f32, its columns last");
        continue;
      }
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
      if (!tile::elementType(tensor.element).warpProducts)
        return refuse("the result " + nameOf(value) + " is not stored as f32, f16 or bf16");
    }
    return success();
  }

  LogicalResult checkPairs(Value value, Value stored) {
    Tensor tensor = tensorOf(stored);
    if (result.contractions.empty() && result.direct.empty())
      return refuse("nothing in it is folded for each row and stream index");
    if (!has(value, result.row) || !isStream(tensor.dims.back()) || hasInner(value))
      return refuse("the result " + nameOf(value) + " is not stored by row, the stream dim last");
    if (!tile::elementType(tensor.element).warpProducts)
      return refuse("the result " + nameOf(value) + " is not stored as f32, f16 or bf16");
    return success();
  }

  red::NestOp nest;
  std::string &why;
  StreamPlan result;
};

} // namespace

red::NestOp StreamPlan::nest() const {
  red::FoldOp fold = !contractions.empty() ? contractions.front().fold : states.front().fold;
  return fold->getParentOfType<red::NestOp>();
}

bool StreamPlan::isRowSum(Value result) const {
  return llvm::any_of(rowSums, [&](const RowSum &sum) { return sum.result == result; });
}

bool StreamPlan::isOfTensorsOnly() const {
  return hasProducts() && direct.empty() &&
         llvm::none_of(streamed, [](const OperandTile &tile) { return tile.isComputed(); }) &&
         llvm::none_of(contractions, [](const Contraction &c) { return c.resident.isComputed(); });
}

bool StreamPlan::isOfRowsOnly() const {
  auto isOfRows = [](const OperandTile &tile) { return tile.tensorRead() != nullptr; };
  return hasProducts() && direct.empty() && llvm::all_of(streamed, isOfRows) &&
         llvm::all_of(contractions, [&](const Contraction &c) { return isOfRows(c.resident); });
}

FailureOr<StreamPlan> planStream(red::NestOp nest, std::string &why) {
  return Planner(nest, why).plan();
}

bool canLowerPortable(red::NestOp nest, std::string &why) {
  return succeeded(planStream(nest, why));
}

} // namespace attnc::schedule
