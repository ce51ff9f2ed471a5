#include "compiler/transforms/mask_intervals.h"
#include "compiler/transforms/derivation/nest_steps.h"
#include "compiler/transforms/domain/mask_conditions.h"
#include "compiler/transforms/fusion/eliminate_common.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <optional>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

/// Finds where the states of a nest move; emits the arithmetic of its domain.
class DomainBuilder {
public:
  DomainBuilder(NestOp nest, TileExtremes &extremes)
      : nest(nest), b(nest.getContext()), a(b, renamed(nest.getLoc(), "bound")),
        tile(a, cast<StringAttr>(nest.getStream()[0])), region(std::make_unique<Region>()),
        conditions(nest, tile, masks, extremes) {
    Block &block = region->emplaceBlock();
    auto argument = [&](const Twine &name) {
      return block.addArgument(b.getI64Type(), renamed(nest.getLoc(), name.str()));
    };
    for (StringAttr dim : dimNames(nest.getGrid())) {
      Value index = argument(dim.getValue());
      tile.bind(dim, {index, index});
    }
    for (ArrayAttr role : {nest.getRow(), nest.getStream()})
      for (StringAttr dim : dimNames(role)) {
        Value first = argument(dim.getValue() + "_first");
        tile.bind(dim, {first, argument(dim.getValue() + "_last")});
      }
    b.setInsertionPointToStart(&block);
  }

  /// Adds the domain to the nest, unless it would say nothing.
  void run() {
    MaskRef live = masks.constant(false);
    for (FoldOp state : nest.states())
      live = masks.either(live, liveState(state));
    MaskRef used = masks.constant(false);
    for (Value result : nest.getBodyBlock()->getTerminator()->getOperands())
      used = masks.either(used, usesStates(result));
    live = masks.both(used, live);
    MaskEmitter emitter(tile, masks);
    MaskRef full = markSelects();
    MaskEmitter::Interval hull = emitter.hull(*live);
    bool hasHoles = emitter.hasHoles(*live);
    if (!hull.lo && !hull.hi && !hasHoles && full->kind == Mask::Kind::True)
      return;
    Value zero = a.constant(0), extent = conditions.sizeOf(tile.stream);
    Value lo = hull.lo ? a.max(hull.lo, zero) : zero;
    Value hi = hull.hi ? a.min(hull.hi, extent) : extent;
    Value everywhere = emitter.holdsEverywhere(*full);
    Value somewhere = hasHoles ? emitter.holdsSomewhere(*live) : Value();
    red::BoundsOp::create(b, a.location(), lo, hi, everywhere, somewhere);
    simplify();
    attach();
  }

private:
  //===--- where a state moves ---------------------------------------------------------------===//

  MaskRef liveState(FoldOp state) {
    bool isExtremum = state.getKind() == FoldKind::Max || state.getKind() == FoldKind::Min;
    if (isExtremum && !isReal(state))
      return through(state.getFactors().front(), state.getKind() == FoldKind::Max
                                                     ? &DomainBuilder::isAboveLeast
                                                     : &DomainBuilder::isBelowMost);
    if (state.getKind() == FoldKind::Max)
      return isFinite(state.getFactors().front());
    if (state.getKind() != FoldKind::Add)
      return masks.constant(true);
    MaskRef live = state.getExponent() ? isFinite(state.getExponent()) : masks.constant(true);
    for (Value factor : state.getFactors())
      live = masks.both(live, isNonZero(factor));
    return live;
  }

  static bool isReal(FoldOp state) { return isa<FloatType>(state.getType().getElementType()); }

  // Integers are compared with the identities of their folds where they are chosen.
  MaskRef isAboveLeast(Scalar x) { return differs(x, std::numeric_limits<int64_t>::min()); }
  MaskRef isBelowMost(Scalar x) { return differs(x, std::numeric_limits<int64_t>::max()); }

  MaskRef differs(Scalar x, int64_t identity) {
    auto select = x.value.getDefiningOp<arith::SelectOp>();
    if (!select || !x.value.getType().isInteger(64))
      return masks.constant(true);
    auto kept = [&](Value side, bool expected) {
      Scalar condition{x.map, select.getCondition()};
      return IndexArithmetic::literal(side) == identity ? masks.constant(false)
                                                        : conditions.condition(condition, expected);
    };
    return masks.either(kept(select.getTrueValue(), true), kept(select.getFalseValue(), false));
  }

  MaskRef isFinite(Value array) { return through(array, &DomainBuilder::isFiniteScalar); }
  MaskRef isNonZero(Value array) { return through(array, &DomainBuilder::isNonZeroScalar); }

  MaskRef through(Value array, MaskRef (DomainBuilder::*rule)(Scalar)) {
    auto map = array.getDefiningOp<MapOp>();
    return map ? (this->*rule)({map, map.getYielded()}) : masks.constant(true);
  }

  // What a scalar leads to is found once: arithmetic that is shared has many more paths than
  // operations, and states that share a scalar share the arithmetic that its mask leads to.
  template <class Known, class Key, class Rule>
  static auto once(Known &known, const Key &key, Rule rule) {
    auto found = known.find(key);
    if (found == known.end()) {
      auto result = rule(); // adds to `known` itself
      found = known.emplace(key, std::move(result)).first;
    }
    return found->second;
  }

  // Holds wherever the scalar may differ from -inf.
  MaskRef isFiniteScalar(Scalar x) {
    return once(finite, x.value.getAsOpaquePointer(), [&] { return findFinite(x); });
  }

  MaskRef findFinite(Scalar x) {
    if (auto argument = dyn_cast<BlockArgument>(x.value))
      return isFinite(x.map.getOperand(argument.getArgNumber()));
    Operation *op = x.value.getDefiningOp();
    auto operand = [&](unsigned i) { return Scalar{x.map, op->getOperand(i)}; };
    if (isConstant(x.value, -std::numeric_limits<double>::infinity()))
      return masks.constant(false);
    if (isa<arith::SelectOp>(op))
      return liveSelect(x, op, &DomainBuilder::isFiniteScalar);
    if (isa<arith::AddFOp>(op))
      return masks.both(isFiniteScalar(operand(0)), isFiniteScalar(operand(1)));
    if (isa<SubOp>(op))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op) && isPositive(operand(1)))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op) && isPositive(operand(0)))
      return isFiniteScalar(operand(1));
    if (isa<arith::DivFOp>(op) && isPositive(operand(1)))
      return isFiniteScalar(operand(0));
    return masks.constant(true);
  }

  // Holds wherever the scalar may differ from 0.
  MaskRef isNonZeroScalar(Scalar x) {
    return once(nonZero, x.value.getAsOpaquePointer(), [&] { return findNonZero(x); });
  }

  MaskRef findNonZero(Scalar x) {
    if (auto argument = dyn_cast<BlockArgument>(x.value))
      return isNonZero(x.map.getOperand(argument.getArgNumber()));
    Operation *op = x.value.getDefiningOp();
    auto operand = [&](unsigned i) { return Scalar{x.map, op->getOperand(i)}; };
    if (isConstant(x.value, 0) || IndexArithmetic::literal(x.value) == 0)
      return masks.constant(false);
    if (isa<arith::SelectOp>(op))
      return liveSelect(x, op, &DomainBuilder::isNonZeroScalar);
    if (isa<arith::SIToFPOp>(op))
      return isNonZeroScalar(operand(0));
    if (isa<math::ExpOp, math::Exp2Op>(op))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op))
      return masks.both(isNonZeroScalar(operand(0)), isNonZeroScalar(operand(1)));
    return masks.constant(true);
  }

  MaskRef liveSelect(Scalar x, Operation *op, MaskRef (DomainBuilder::*rule)(Scalar)) {
    Scalar condition{x.map, op->getOperand(0)};
    MaskRef yes = (this->*rule)({x.map, op->getOperand(1)});
    MaskRef no = (this->*rule)({x.map, op->getOperand(2)});
    if (yes->kind == Mask::Kind::True && no->kind == Mask::Kind::True)
      return yes;
    return masks.either(masks.both(conditions.condition(condition, true), yes),
                        masks.both(conditions.condition(condition, false), no));
  }

  static bool isConstant(Value value, double expected) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto literal = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return literal && literal.getValueAsDouble() == expected;
  }

  bool isPositive(Scalar x) {
    if (auto argument = dyn_cast<BlockArgument>(x.value)) {
      Value array = x.map.getOperand(argument.getArgNumber());
      if (auto map = array.getDefiningOp<MapOp>())
        return isPositive({map, map.getYielded()});
      auto param = array.getDefiningOp<ParamOp>();
      return param && param.getLower() &&
             (param.getLower()->convertToDouble() > 0 ||
              (param.getLower()->convertToDouble() == 0 && param.getLowerOpen()));
    }
    auto constant = x.value.getDefiningOp<arith::ConstantOp>();
    auto literal = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return literal && literal.getValueAsDouble() > 0;
  }

  //===--- where a result is made of states --------------------------------------------------===//

  // Holds wherever an element of the array may depend on a state: rows beyond a length need none.
  MaskRef usesStates(Value array) {
    if (!nest.dependsOnState(array))
      return masks.constant(false);
    return through(array, &DomainBuilder::usesStatesScalar);
  }

  MaskRef usesStatesScalar(Scalar x) {
    return once(used, x.value.getAsOpaquePointer(), [&] { return findUse(x); });
  }

  MaskRef findUse(Scalar x) {
    if (auto argument = dyn_cast<BlockArgument>(x.value))
      return usesStates(x.map.getOperand(argument.getArgNumber()));
    Operation *op = x.value.getDefiningOp();
    if (isa<arith::SelectOp>(op) && isFree(x, op->getOperand(0)))
      return liveSelect(x, op, &DomainBuilder::usesStatesScalar);
    MaskRef use = masks.constant(op->getNumRegions() != 0);
    for (Value operand : op->getOperands())
      use = masks.either(use, usesStatesScalar({x.map, operand}));
    return use;
  }

  // No state says which side it is.
  bool isFree(Scalar x, Value condition) {
    return usesStatesScalar({x.map, condition})->kind == Mask::Kind::False;
  }

  //===--- full tiles ------------------------------------------------------------------------===//

  // Marks the selects of the step that drop an element, and returns the mask under which none does.
  MaskRef markSelects() {
    MaskRef full = masks.constant(true);
    for (auto map : nest.getBodyBlock()->getOps<MapOp>()) {
      if (!map.getType().hasDim(tile.stream))
        continue;
      for (auto select : map.getBodyBlock()->getOps<arith::SelectOp>()) {
        std::optional<bool> kept = keptSide(select);
        if (!kept)
          continue;
        MaskRef mask = conditions.condition({map, select.getCondition()}, *kept);
        if (!mask->canBeFull)
          continue;
        select->setAttr(red::kFullAttr, b.getBoolAttr(*kept));
        full = masks.both(full, mask);
      }
    }
    return full;
  }

  // The side that is not the constant -inf or 0.
  static std::optional<bool> keptSide(arith::SelectOp select) {
    auto drops = [](Value v) {
      return isConstant(v, -std::numeric_limits<double>::infinity()) || isConstant(v, 0);
    };
    if (drops(select.getFalseValue()))
      return true;
    if (drops(select.getTrueValue()))
      return false;
    return std::nullopt;
  }

  // Constants once, and nothing that is not used.
  void simplify() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(region->front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  void attach() {
    OpBuilder at(nest);
    auto copy = NestOp::create(at, nest.getLoc(), nest.getResultTypes(), dimNames(nest.getGrid()),
                               dimNames(nest.getRow()), dimNames(nest.getStream()),
                               dimNames(nest.getInner()), std::move(region));
    copy->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    copy.getBody().takeBody(nest.getBody());
    nest.replaceAllUsesWith(copy.getResults());
    nest.erase();
  }

  NestOp nest;
  OpBuilder b;
  IndexArithmetic a;
  Tile tile;
  std::unique_ptr<Region> region;
  Masks masks;
  ConditionReader conditions;
  std::map<void *, MaskRef> finite, nonZero, used; // by scalar
};

} // namespace

void maskIntervals(ProgramOp program) {
  TileExtremes extremes(program);
  auto bound = [&](ArrayRef<NestOp> nests) {
    for (NestOp nest : nests)
      if (nest.getStream().size() == 1 && nest.getDomain().empty() && !nest.states().empty())
        DomainBuilder(nest, extremes).run();
  };
  bound(llvm::to_vector(program.getBodyBlock()->getOps<NestOp>()));
  bound(extremes.finish());
  // The arithmetic of the domains holds many equal constants. Nest by nest, so that no nest comes
  // to use a scalar of the program that another one has too.
  for (auto nest : program.getBodyBlock()->getOps<NestOp>())
    eliminateCommon(nest);
  recordNestSteps(program);
}

} // namespace attnc
