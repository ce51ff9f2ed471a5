#include "compiler/schedule/stream/addends.h"
#include "compiler/schedule/nest/map_parts.h"
#include "compiler/schedule/nest/reference_degree.h"
#include "compiler/schedule/nest/score_scale.h"
#include "compiler/schedule/stream/computed_operands.h"
#include "compiler/schedule/stream/difference_analysis.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

/// A scalar of a map.
struct Scalar {
  attn::MapOp map;
  Value value;
};

/// A sum of products, and the param that it is multiplied by, or null.
struct ScaledSum {
  red::FoldOp fold;
  Value scale;
};

/// The product of factors, or divisors, that do not vary along the stream with a number that does.
struct Line {
  struct Factor {
    Scalar scalar;
    bool divides;
  };
  SmallVector<Factor> factors;
  bool isNegative = false;
  Scalar number = {};
};

class Joiner {
public:
  Joiner(red::NestOp nest, StringAttr row, StringAttr stream)
      : nest(nest), row(row), stream(stream), analysis(nest, row, stream) {}

  /// True if it has written one sum of the map anew.
  bool joinOne(attn::MapOp map) {
    auto isGridOrBoth = [&](StringAttr dim) {
      return dim == row || dim == stream || llvm::is_contained(nest.getGrid(), dim);
    };
    attn::ArrayType type = arrayType(map.getResult());
    if (!type.hasDim(row) || !type.hasDim(stream) || !llvm::all_of(type.getDims(), isGridOrBoth) ||
        nest.dependsOnState(map.getResult()))
      return false;
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      if (isa<arith::AddFOp>(op))
        for (unsigned side : {0, 1})
          if (join(map, op, op.getOperand(side), op.getOperand(1 - side), /*negative=*/false))
            return true;
      if (isa<attn::SubOp>(op) &&
          join(map, op, op.getOperand(0), op.getOperand(1), /*negative=*/true))
        return true;
    }
    return false;
  }

private:
  attn::MapOp mapOf(Value array) {
    auto map = array.getDefiningOp<attn::MapOp>();
    return map && map->getBlock() == nest.getBodyBlock() ? map : attn::MapOp();
  }

  static bool isOfHalves(red::FoldOp fold) {
    return fold.getFactors().size() == 2 && llvm::all_of(fold.getFactors(), [](Value factor) {
             auto read = factor.getDefiningOp<attn::ReadOp>();
             return read && halfType(read);
           });
  }

  // The sum that the scalar is, where each step on the way to it is taken by nobody else.
  std::optional<ScaledSum> sumOf(attn::MapOp map, Value scalar) {
    Value scale;
    while (scalar.hasOneUse()) {
      if (auto product = scalar.getDefiningOp<arith::MulFOp>()) {
        unsigned side = positiveParam(map, product.getLhs()) ? 0 : 1;
        Value param = positiveParam(map, product->getOperand(side));
        if (scale || !param)
          return {};
        scale = param;
        scalar = product->getOperand(1 - side);
        continue;
      }
      Value array = isa<BlockArgument>(scalar) ? operandOf(map, scalar) : Value();
      if (!array || !array.hasOneUse())
        return {};
      if (auto fold = array.getDefiningOp<red::FoldOp>()) {
        if (!llvm::is_contained(nest.states(), fold) && isOfHalves(fold) &&
            sidesOf(nest, fold, row, stream))
          return ScaledSum{fold, scale};
        return {};
      }
      map = mapOf(array);
      if (!map)
        return {};
      scalar = map.getYielded();
    }
    return {};
  }

  static Value operandOf(attn::MapOp map, Value argument) {
    return map.getOperand(cast<BlockArgument>(argument).getArgNumber());
  }

  // Adds the scalar's factors to the line; false if it is none.
  bool addFactors(attn::MapOp map, Value scalar, bool divides, Line &line) {
    if (!hasDim(map, scalar, stream)) {
      line.factors.push_back({{map, scalar}, divides});
      return true;
    }
    if (isa<BlockArgument>(scalar)) {
      attn::MapOp inner = mapOf(operandOf(map, scalar));
      return inner && addFactors(inner, inner.getYielded(), divides, line);
    }
    Operation *op = scalar.getDefiningOp();
    auto addFactor = [&](unsigned i, bool divides) {
      return addFactors(map, op->getOperand(i), divides, line);
    };
    if (isa<arith::MulFOp>(op))
      return addFactor(0, divides) && addFactor(1, divides);
    if (isa<arith::DivFOp>(op))
      return !divides && addFactor(0, false) && !hasDim(map, op->getOperand(1), stream) &&
             addFactor(1, true);
    if (isa<arith::NegFOp>(op)) {
      line.isNegative ^= true;
      return addFactor(0, divides);
    }
    if (divides || line.number.value || !isa<arith::SIToFPOp>(op))
      return false;
    line.number = {map, op->getOperand(0)};
    std::optional<int64_t> step = analysis.stepOf(map, op->getOperand(0));
    return step && std::abs(*step) == 1;
  }

  Value arrayOf(OpBuilder &b, Scalar scalar) {
    return schedule::arrayOf(b, scalar.map, scalar.value);
  }

  bool join(attn::MapOp map, Operation &op, Value first, Value second, bool negative) {
    std::optional<ScaledSum> sum = sumOf(map, first);
    Line line;
    line.isNegative = negative;
    if (!sum || !addFactors(map, second, /*divides=*/false, line) || !line.number.value)
      return false;
    OpBuilder b(map);
    Value slope = slopeOf(b, map, op.getLoc(), line, sum->scale);
    Value number = arrayOf(b, line.number);
    SmallVector<Value> parts = {sum->fold, slope, number};
    Type real = b.getF32Type();
    Value joined =
        attn::MapOp::create(b, red::FoldOp(sum->fold).getLoc(), typeOfPart(map, parts, real), parts,
                            [&](OpBuilder &in, Location loc, ValueRange x) -> Value {
                              Value distance = arith::SIToFPOp::create(in, loc, real, x[2]);
                              Value term = arith::MulFOp::create(in, loc, x[1], distance);
                              return arith::AddFOp::create(in, loc, x[0], term);
                            });
    Value score = addOperand(map, joined);
    if (sum->scale) {
      b.setInsertionPoint(&op);
      score = arith::MulFOp::create(b, op.getLoc(), score, addOperand(map, sum->scale));
    }
    op.getResult(0).replaceAllUsesWith(score);
    return true;
  }

  // The factors of the line by the scale.
  Value slopeOf(OpBuilder &b, attn::MapOp map, Location loc, const Line &line, Value scale) {
    SmallVector<Value> arrays;
    for (const Line::Factor &factor : line.factors)
      arrays.push_back(arrayOf(b, factor.scalar));
    if (scale)
      arrays.push_back(scale);
    return attn::MapOp::create(
        b, loc, typeOfPart(map, arrays, b.getF32Type()), arrays,
        [&](OpBuilder &in, Location loc, ValueRange x) -> Value {
          Value product = arith::ConstantOp::create(in, loc, in.getF32FloatAttr(1));
          bool isOne = true;
          for (auto [i, element] : llvm::enumerate(x)) {
            if (i == line.factors.size() || line.factors[i].divides)
              product = arith::DivFOp::create(in, loc, product, element);
            else if (isOne)
              product = element;
            else
              product = arith::MulFOp::create(in, loc, product, element);
            isOne = false;
          }
          return line.isNegative ? arith::NegFOp::create(in, loc, product).getResult() : product;
        });
  }

  red::NestOp nest;
  StringAttr row, stream;
  DifferenceAnalysis analysis;
};

/// Where scores go from an array to the maximum that their exponents are relative to.
class ScorePath {
public:
  ScorePath(red::NestOp nest, const StreamPlan &plan) : nest(nest), plan(plan) {}

  /// The number of the reference whose scores the array is, or becomes by maps that keep shifts:
  /// what is added to a row of it is added to the scores, but for their factor. -1 if anything else
  /// is made of it, or of the maximum, which is rounded with what is added.
  int referenceOf(Value array) {
    Value scale;
    while (array.hasOneUse()) {
      auto map = dyn_cast<attn::MapOp>(*array.user_begin());
      std::optional<Value> factor = map ? factorOf(map, map.getYielded(), array) : std::nullopt;
      if (!factor || (scale && *factor))
        break;
      scale = *factor ? *factor : scale;
      array = map.getResult();
    }
    const auto *reference = llvm::find_if(
        plan.references, [&](Reference r) { return r.fold.getFactors().front() == array; });
    bool isFound = reference != plan.references.end() && isOfExponents(array, reference->fold) &&
                   positiveFactor(nest, array) == scale &&
                   !dependsOnReference(nest, reference->fold);
    return isFound ? static_cast<int>(reference - plan.references.begin()) : -1;
  }

private:
  // The positive param that the scalar is the array's element times, null if it is the element
  // alone; each may be chosen or -inf. Nothing if it is anything else.
  std::optional<Value> factorOf(attn::MapOp map, Value scalar, Value array) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return map.getOperand(argument.getArgNumber()) == array ? std::optional<Value>(Value())
                                                              : std::nullopt;
    if (auto product = scalar.getDefiningOp<arith::MulFOp>()) {
      unsigned side = positiveParam(map, product.getLhs()) ? 0 : 1;
      std::optional<Value> factor = factorOf(map, product->getOperand(1 - side), array);
      Value param = positiveParam(map, product->getOperand(side));
      return factor && !*factor && param ? std::optional(param) : std::nullopt;
    }
    auto select = scalar.getDefiningOp<arith::SelectOp>();
    if (!select || llvm::is_contained(operandsOf(map, select.getCondition()), array))
      return std::nullopt;
    if (isNegativeInfinity(select.getTrueValue()))
      return factorOf(map, select.getFalseValue(), array);
    if (isNegativeInfinity(select.getFalseValue()))
      return factorOf(map, select.getTrueValue(), array);
    return std::nullopt;
  }

  static bool isNegativeInfinity(Value scalar) {
    FloatAttr constant;
    return matchPattern(scalar, m_Constant(&constant)) && constant.getValue().isInfinity() &&
           constant.getValue().isNegative();
  }

  // True if all that is made of the array is the maximum, and exponents relative to it.
  static bool isOfExponents(Value array, red::FoldOp maximum) {
    return llvm::all_of(array.getUsers(), [&](Operation *user) {
      auto fold = dyn_cast<red::FoldOp>(user);
      return fold == maximum || (fold && fold.getExponent() == array && !fold.getBase() &&
                                 !llvm::is_contained(fold.getFactors(), array));
    });
  }

  red::NestOp nest;
  const StreamPlan &plan;
};

// What the map adds to a sum, as Joiner writes it.
std::optional<Addend> addendIn(attn::MapOp map, red::FoldOp fold, DifferenceAnalysis &analysis) {
  auto isArgument = [&](Value scalar, unsigned i) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument && argument.getArgNumber() == i;
  };
  auto sum = map.getYielded().getDefiningOp<arith::AddFOp>();
  if (!sum || map->getNumOperands() != 3 || map.getOperand(0) != fold->getResult(0) ||
      !isArgument(sum.getLhs(), 0))
    return {};
  auto term = sum.getRhs().getDefiningOp<arith::MulFOp>();
  auto distance = term ? term.getRhs().getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  if (!distance || !isArgument(term.getLhs(), 1) || !isArgument(distance.getIn(), 2))
    return {};
  std::optional<int64_t> step = analysis.stepOf(map, distance.getIn());
  if (!step || std::abs(*step) != 1)
    return {};
  return Addend{fold, map.getResult(), map.getOperand(1), map.getOperand(2), *step, -1};
}

} // namespace

void joinAddends(red::NestOp nest) {
  if (nest.getRow().size() != 1 || nest.getStream().size() != 1)
    return;
  auto row = cast<StringAttr>(nest.getRow()[0]), stream = cast<StringAttr>(nest.getStream()[0]);
  for (auto map : llvm::to_vector(nest.getBodyBlock()->getOps<attn::MapOp>()))
    if (Joiner(nest, row, stream).joinOne(map))
      eraseUnused(map);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*nest.getBodyBlock())))
    if (isa<attn::MapOp>(op) && op.use_empty())
      op.erase();
}

// Of all contractions, also where they cannot join.
static SmallVector<Addend> addendsIn(red::NestOp nest, const StreamPlan &plan) {
  SmallVector<Addend> addends;
  DifferenceAnalysis analysis(nest, plan.row, plan.stream);
  for (const Contraction &contraction : plan.contractions) {
    red::FoldOp fold = contraction.fold;
    bool isOfHalves = !contraction.resident.element.isF32();
    auto map = isOfHalves && fold->hasOneUse() ? dyn_cast<attn::MapOp>(*fold->user_begin())
                                               : attn::MapOp();
    if (!map)
      continue;
    if (std::optional<Addend> addend = addendIn(map, fold, analysis))
      addends.push_back(*addend);
  }
  return addends;
}

SmallVector<Addend> planAddends(red::NestOp nest, const StreamPlan &plan) {
  SmallVector<Addend> joining;
  for (Addend addend : addendsIn(nest, plan)) {
    addend.reference = ScorePath(nest, plan).referenceOf(addend.sum);
    if (addend.reference != -1)
      joining.push_back(addend);
  }
  return joining;
}

std::optional<Growth> planGrowth(red::NestOp nest, const StreamPlan &plan) {
  if (!plan.references.empty())
    for (const Addend &addend : addendsIn(nest, plan))
      if (!arrayType(addend.slope).hasDim(plan.row))
        return Growth{addend.slope, addend.step};
  return {};
}

} // namespace attnc::schedule
