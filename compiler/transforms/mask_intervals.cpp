#include "compiler/transforms/mask_intervals.h"
#include "compiler/transforms/masks.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
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

/// A scalar inside a map.
struct Scalar {
  MapOp map;
  Value value;
};

/// Reads the conditions of a nest's step; emits the arithmetic of its domain.
class DomainBuilder {
public:
  explicit DomainBuilder(NestOp nest)
      : nest(nest), program(programOf(nest)), b(nest.getContext()),
        loc(renamed(nest.getLoc(), "bound")), stream(cast<StringAttr>(nest.getStream()[0])) {
    region = std::make_unique<Region>();
    Block &block = region->emplaceBlock();
    auto argument = [&](const Twine &name) {
      return block.addArgument(b.getI64Type(), renamed(nest.getLoc(), name.str()));
    };
    for (StringAttr dim : dimNames(nest.getGrid())) {
      Value index = argument(dim.getValue());
      ranges[dim] = {index, index};
    }
    for (ArrayAttr role : {nest.getRow(), nest.getStream()})
      for (StringAttr dim : dimNames(role)) {
        Value first = argument(dim.getValue() + "_first");
        ranges[dim] = {first, argument(dim.getValue() + "_last")};
      }
    b.setInsertionPointToStart(&block);
  }

  /// Adds the domain to the nest, unless it would say nothing.
  void run() {
    MaskRef live = maskConstant(false);
    for (FoldOp state : nest.states())
      live = maskOr(live, liveState(state));
    MaskEmitter emitter(b, loc, [&](StringAttr dim) { return ranges.lookup(dim); });
    MaskRef full = markSelects();
    MaskEmitter::Interval hull = emitter.hull(*live, stream);
    if (!hull.lo && !hull.hi && full->kind == Mask::Kind::True)
      return;
    Value zero = emitter.constant(0), extent = sizeOf(stream);
    Value lo = hull.lo ? b.createOrFold<arith::MaxSIOp>(loc, hull.lo, zero) : zero;
    Value hi = hull.hi ? b.createOrFold<arith::MinSIOp>(loc, hull.hi, extent) : extent;
    red::BoundsOp::create(b, loc, lo, hi, emitter.holdsEverywhere(*full));
    simplify();
    attach();
  }

private:
  //===--- where a state moves ---------------------------------------------------------------===//

  MaskRef liveState(FoldOp state) {
    if (state.getKind() == FoldKind::Max)
      return isFinite(state.getFactors().front());
    if (state.getKind() != FoldKind::Add)
      return maskConstant(true);
    MaskRef live = state.getExponent() ? isFinite(state.getExponent()) : maskConstant(true);
    for (Value factor : state.getFactors())
      live = maskAnd(live, isNonZero(factor));
    return live;
  }

  MaskRef isFinite(Value array) { return through(array, &DomainBuilder::isFiniteScalar); }
  MaskRef isNonZero(Value array) { return through(array, &DomainBuilder::isNonZeroScalar); }

  MaskRef through(Value array, MaskRef (DomainBuilder::*rule)(Scalar)) {
    auto map = array.getDefiningOp<MapOp>();
    return map ? (this->*rule)({map, map.getYielded()}) : maskConstant(true);
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
      return maskConstant(false);
    if (isa<arith::SelectOp>(op))
      return liveSelect(x, op, &DomainBuilder::isFiniteScalar);
    if (isa<arith::AddFOp>(op))
      return maskAnd(isFiniteScalar(operand(0)), isFiniteScalar(operand(1)));
    if (isa<SubOp>(op))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op) && isPositive(operand(1)))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op) && isPositive(operand(0)))
      return isFiniteScalar(operand(1));
    if (isa<arith::DivFOp>(op) && isPositive(operand(1)))
      return isFiniteScalar(operand(0));
    return maskConstant(true);
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
    if (isConstant(x.value, 0))
      return maskConstant(false);
    if (isa<arith::SelectOp>(op))
      return liveSelect(x, op, &DomainBuilder::isNonZeroScalar);
    if (isa<math::ExpOp, math::Exp2Op>(op))
      return isFiniteScalar(operand(0));
    if (isa<arith::MulFOp>(op))
      return maskAnd(isNonZeroScalar(operand(0)), isNonZeroScalar(operand(1)));
    return maskConstant(true);
  }

  MaskRef liveSelect(Scalar x, Operation *op, MaskRef (DomainBuilder::*rule)(Scalar)) {
    Scalar condition{x.map, op->getOperand(0)};
    MaskRef yes = (this->*rule)({x.map, op->getOperand(1)});
    MaskRef no = (this->*rule)({x.map, op->getOperand(2)});
    if (yes->kind == Mask::Kind::True && no->kind == Mask::Kind::True)
      return yes;
    return maskOr(maskAnd(conditionOf(condition, true), yes),
                  maskAnd(conditionOf(condition, false), no));
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

  //===--- conditions ------------------------------------------------------------------------===//

  // The mask that holds where the i1 scalar may equal `expected`; exact unless Unknown occurs.
  MaskRef conditionOf(Scalar x, bool expected) {
    return once(conditions, std::pair(x.value.getAsOpaquePointer(), expected),
                [&] { return findCondition(x, expected); });
  }

  MaskRef findCondition(Scalar x, bool expected) {
    if (auto argument = dyn_cast<BlockArgument>(x.value)) {
      auto map = x.map.getOperand(argument.getArgNumber()).getDefiningOp<MapOp>();
      return map ? conditionOf({map, map.getYielded()}, expected) : maskUnknown();
    }
    Operation *op = x.value.getDefiningOp();
    auto operand = [&](unsigned i) { return Scalar{x.map, op->getOperand(i)}; };
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return maskConstant(cast<IntegerAttr>(constant.getValue()).getValue().isOne() == expected);
    if (isa<arith::AndIOp, arith::OrIOp>(op)) {
      MaskRef l = conditionOf(operand(0), expected), r = conditionOf(operand(1), expected);
      return isa<arith::AndIOp>(op) == expected ? maskAnd(l, r) : maskOr(l, r);
    }
    if (isa<arith::XOrIOp>(op))
      for (unsigned i : {0u, 1u})
        if (auto flip = op->getOperand(i).getDefiningOp<arith::ConstantOp>())
          return conditionOf(operand(1 - i),
                             expected != cast<IntegerAttr>(flip.getValue()).getValue().isOne());
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return comparison(compare, operand(0), operand(1), expected);
    return maskUnknown();
  }

  MaskRef comparison(arith::CmpIOp compare, Scalar x, Scalar y, bool expected) {
    std::optional<Linear> l = linearOf(x), r = linearOf(y);
    if (!l || !r)
      return maskUnknown();
    arith::CmpIPredicate predicate = compare.getPredicate();
    if (!expected)
      predicate = arith::invertPredicate(predicate);
    // x <= y is y - x >= 0, x < y is y - x - 1 >= 0.
    auto notNegative = [&](const Linear &x, const Linear &y, int64_t gap) {
      std::optional<Linear> room = difference(x, y, gap);
      return room ? maskNonNegative(*room) : maskUnknown();
    };
    auto below = [&](int64_t gap) { return notNegative(*r, *l, gap); };
    auto above = [&](int64_t gap) { return notNegative(*l, *r, gap); };
    switch (predicate) {
    case arith::CmpIPredicate::sle:
      return below(0);
    case arith::CmpIPredicate::slt:
      return below(1);
    case arith::CmpIPredicate::sge:
      return above(0);
    case arith::CmpIPredicate::sgt:
      return above(1);
    case arith::CmpIPredicate::eq:
      return maskAnd(below(0), above(0));
    case arith::CmpIPredicate::ne:
      return maskOr(below(1), above(1));
    default:
      return maskUnknown();
    }
  }

  //===--- integers --------------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }

  std::optional<Linear> combine(const Linear &x, const Linear &y, bool minus) {
    Linear sum = x;
    for (auto [dim, c] : y.terms)
      if (!sum.addTerm(dim, minus ? -c : c))
        return std::nullopt;
    if (minus) {
      sum.lo = b.createOrFold<arith::SubIOp>(loc, x.lo, y.hi);
      sum.hi =
          x.lo == x.hi && y.lo == y.hi ? sum.lo : b.createOrFold<arith::SubIOp>(loc, x.hi, y.lo);
    } else {
      sum.lo = b.createOrFold<arith::AddIOp>(loc, x.lo, y.lo);
      sum.hi =
          x.lo == x.hi && y.lo == y.hi ? sum.lo : b.createOrFold<arith::AddIOp>(loc, x.hi, y.hi);
    }
    return sum;
  }

  std::optional<Linear> difference(const Linear &x, const Linear &y, int64_t gap) {
    std::optional<Linear> d = combine(x, y, /*minus=*/true);
    if (gap == 0 || !d)
      return d;
    Value g = constant(gap);
    bool exact = d->lo == d->hi;
    d->lo = b.createOrFold<arith::SubIOp>(loc, d->lo, g);
    d->hi = exact ? d->lo : b.createOrFold<arith::SubIOp>(loc, d->hi, g);
    return d;
  }

  Linear exact(Value value) { return {{}, value, value}; }

  std::optional<Linear> linearOfArray(Value array) {
    if (auto index = array.getDefiningOp<IndexOp>()) {
      if (!ranges.contains(index.getDimAttr()))
        return std::nullopt;
      return Linear{{{index.getDimAttr(), 1}}, constant(0), constant(0)};
    }
    if (auto size = array.getDefiningOp<SizeOp>())
      return exact(sizeOf(size.getDimAttr()));
    if (auto param = array.getDefiningOp<ParamOp>())
      return exact(red::ScalarOp::create(b, loc, b.getI64Type(), array));
    if (auto map = array.getDefiningOp<MapOp>())
      return linearOf({map, map.getYielded()});
    return std::nullopt;
  }

  std::optional<Linear> linearOf(Scalar x) {
    return once(linears, x.value.getAsOpaquePointer(), [&] { return findLinear(x); });
  }

  std::optional<Linear> findLinear(Scalar x) {
    if (!x.value.getType().isInteger(64))
      return std::nullopt;
    if (auto argument = dyn_cast<BlockArgument>(x.value))
      return linearOfArray(x.map.getOperand(argument.getArgNumber()));
    Operation *op = x.value.getDefiningOp();
    if (auto literal = dyn_cast<arith::ConstantOp>(op))
      return exact(constant(cast<IntegerAttr>(literal.getValue()).getInt()));
    if (op->getNumOperands() != 2)
      return std::nullopt;
    std::optional<Linear> l = linearOf({x.map, op->getOperand(0)});
    std::optional<Linear> r = linearOf({x.map, op->getOperand(1)});
    if (!l || !r)
      return std::nullopt;
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      return combine(*l, *r, isa<arith::SubIOp>(op));
    if (l->terms.empty() && r->terms.empty() && l->lo == l->hi && r->lo == r->hi)
      return exactOp(op, l->lo, r->lo);
    if (isa<arith::MulIOp>(op))
      return literalOf(op->getOperand(0))   ? scaled(*r, *literalOf(op->getOperand(0)))
             : literalOf(op->getOperand(1)) ? scaled(*l, *literalOf(op->getOperand(1)))
                                            : std::nullopt;
    if (isa<arith::FloorDivSIOp>(op) && literalOf(op->getOperand(1)))
      return quotient(*l, *literalOf(op->getOperand(1)));
    return std::nullopt;
  }

  // Scalars without indices: the same operation.
  std::optional<Linear> exactOp(Operation *op, Value x, Value y) {
    if (!isa<arith::MulIOp, arith::FloorDivSIOp, arith::MaxSIOp, arith::MinSIOp>(op))
      return std::nullopt;
    IRMapping mapping;
    mapping.map(op->getOperands(), ArrayRef<Value>{x, y});
    return exact(b.clone(*op, mapping)->getResult(0));
  }

  static std::optional<int64_t> literalOf(Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return std::nullopt;
    return cast<IntegerAttr>(constant.getValue()).getInt();
  }

  std::optional<Linear> scaled(Linear x, int64_t factor) {
    if (factor == 0)
      return exact(constant(0));
    bool isExact = x.lo == x.hi;
    for (auto &[dim, c] : x.terms)
      if (llvm::MulOverflow(c, factor, c) || c > Linear::maxCoefficient ||
          c < -Linear::maxCoefficient)
        return std::nullopt;
    if (factor < 0)
      std::swap(x.lo, x.hi);
    Value f = constant(factor);
    x.lo = b.createOrFold<arith::MulIOp>(loc, x.lo, f);
    x.hi = isExact ? x.lo : b.createOrFold<arith::MulIOp>(loc, x.hi, f);
    return x;
  }

  // floor(x / c) of a row or grid expression: its range over the tile. Along the stream the range
  // would not be a bound that a loop can use.
  std::optional<Linear> quotient(const Linear &x, int64_t divisor) {
    bool streamed = llvm::any_of(x.terms, [&](auto &term) { return nest.isStreamDim(term.first); });
    if (divisor <= 0 || streamed)
      return std::nullopt;
    Value lo = x.lo, hi = x.hi;
    for (auto [dim, c] : x.terms) {
      TileRange range = ranges.lookup(dim);
      Value scale = constant(c);
      Value first = b.createOrFold<arith::MulIOp>(loc, c > 0 ? range.first : range.last, scale);
      Value last = b.createOrFold<arith::MulIOp>(loc, c > 0 ? range.last : range.first, scale);
      lo = b.createOrFold<arith::AddIOp>(loc, lo, first);
      hi = b.createOrFold<arith::AddIOp>(loc, hi, last);
    }
    Value d = constant(divisor);
    return Linear{{},
                  b.createOrFold<arith::FloorDivSIOp>(loc, lo, d),
                  b.createOrFold<arith::FloorDivSIOp>(loc, hi, d)};
  }

  Value sizeOf(StringAttr dim) {
    DimAttr known = program.lookupDim(dim);
    if (known.isStatic())
      return constant(known.getExtent());
    Value &size = sizes[dim];
    if (!size) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&region->front());
      auto type = attn::ArrayType::get(b.getContext(), {}, b.getI64Type());
      Value array = SizeOp::create(b, loc, type, dim);
      size = red::ScalarOp::create(b, loc, b.getI64Type(), array);
    }
    return size;
  }

  //===--- full tiles ------------------------------------------------------------------------===//

  // Marks the selects of the step that drop an element, and returns the mask under which none does.
  MaskRef markSelects() {
    MaskRef full = maskConstant(true);
    for (auto map : nest.getBodyBlock()->getOps<MapOp>()) {
      if (!map.getType().hasDim(stream))
        continue;
      for (auto select : map.getBodyBlock()->getOps<arith::SelectOp>()) {
        std::optional<bool> kept = keptSide(select);
        if (!kept)
          continue;
        MaskRef mask = conditionOf({map, select.getCondition()}, *kept);
        if (mask->hasUnknown)
          continue;
        select->setAttr(red::kFullAttr, b.getBoolAttr(*kept));
        full = maskAnd(full, mask);
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
  ProgramOp program;
  OpBuilder b;
  Location loc;
  StringAttr stream;
  std::unique_ptr<Region> region;
  // By scalar.
  std::map<void *, MaskRef> finite, nonZero;
  std::map<std::pair<void *, bool>, MaskRef> conditions;
  std::map<void *, std::optional<Linear>> linears;
  llvm::DenseMap<StringAttr, TileRange> ranges;
  llvm::DenseMap<StringAttr, Value> sizes;
};

} // namespace

void maskIntervals(ProgramOp program) {
  SmallVector<NestOp> nests(program.getBodyBlock()->getOps<NestOp>());
  for (NestOp nest : nests)
    if (nest.getStream().size() == 1 && nest.getDomain().empty() && !nest.states().empty())
      DomainBuilder(nest).run();
  // The arithmetic of the domains holds many equal constants. Nest by nest, so that no nest comes
  // to use a scalar of the program that another one has too.
  for (auto nest : program.getBodyBlock()->getOps<NestOp>()) {
    IRRewriter rewriter(program.getContext());
    DominanceInfo dominance(nest);
    eliminateCommonSubExpressions(rewriter, dominance, nest);
  }
}

} // namespace attnc
