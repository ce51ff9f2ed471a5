#include "compiler/transforms/split.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derive_updates.h"
#include "compiler/transforms/fusion/roles.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Red/Cancellation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

constexpr int64_t kGranule = 128;
constexpr int64_t kPrime = 65537;

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

// A summand of what a state becomes when a centre moves: a number times one of the moments up to
// the state's own times a power of how far the centre moves.
struct ShiftTerm {
  unsigned moment; ///< argument of the region: 0 is the state, then come those below it
  unsigned power;
  double times;
};

// The summands of `value`, of a region `shift`.
SmallVector<ShiftTerm> shiftTerms(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isDistance = argument.getArgNumber() + 1 == argument.getOwner()->getNumArguments();
    return {{isDistance ? 0 : argument.getArgNumber(), isDistance ? 1u : 0u, 1}};
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return {{0, 0, cast<FloatAttr>(constant.getValue()).getValueAsDouble()}};
  SmallVector<ShiftTerm> x = shiftTerms(op->getOperand(0)), y = shiftTerms(op->getOperand(1));
  if (isa<arith::AddFOp>(op)) {
    llvm::append_range(x, y);
    return x;
  }
  assert(isa<arith::MulFOp>(op) && x.size() == 1 && y.size() == 1 &&
         "a shift is a sum of products");
  return {{x[0].moment + y[0].moment, x[0].power + y[0].power, x[0].times * y[0].times}};
}

int64_t granuleOf(ProgramOp program) {
  auto granule = program->getAttrOfType<IntegerAttr>(kGranuleAttr);
  return granule ? granule.getInt() : kGranule;
}

// 0: parts are ranges.
int64_t scatterOf(ProgramOp program) {
  auto scatter = program->getAttrOfType<IntegerAttr>(kScatterAttr);
  return scatter ? scatter.getInt() : 0;
}

/// Splits one nest.
class Splitter {
public:
  Splitter(ProgramOp program, NestOp nest, StringAttr part, int64_t parts)
      : program(program), nest(nest), parts(parts), granule(granuleOf(program)),
        scatter(scatterOf(program)), b(nest), states(nest.states()),
        stream(cast<StringAttr>(nest.getStream()[0])), part(part) {}

  void run() {
    deriveUpdates(nest);
    NestOp partial = buildPartial();
    buildMerge(partial);
    nest.erase();
  }

private:
  //===--- the states of each part -----------------------------------------------------------===//

  NestOp buildPartial() {
    IRMapping mapping;
    auto body = std::make_unique<Block>();
    OpBuilder inner(b.getContext());
    inner.setInsertionPointToStart(body.get());
    insidePart = Value();
    guards.clear();
    ownCentres.clear();
    for (Operation &op : nest.getBodyBlock()->without_terminator()) {
      auto fold = dyn_cast<FoldOp>(op);
      if (fold && llvm::is_contained(states, fold)) {
        mapping.map(fold.getResult(), partialState(inner, fold, mapping));
        keepCentre(inner, fold, mapping.lookup(fold.getResult()));
      } else if (!dependsOnStates(&op)) {
        inner.clone(op, mapping);
      } else if (isa<MapOp>(op)) {
        cloneEpilogue(inner, cast<MapOp>(op), mapping);
      }
    }
    SmallVector<Value> yielded;
    SmallVector<Type> types;
    for (FoldOp state : states)
      yielded.push_back(mapping.lookup(state.getResult()));
    for (Value centre : centres())
      yielded.push_back(ownCentres.lookup(centre));
    for (Value value : yielded)
      types.push_back(value.getType());
    red::YieldOp::create(inner, nest.getLoc(), yielded);
    SmallVector<StringAttr> grid = dimNames(nest.getGrid());
    grid.push_back(part);
    auto partial = NestOp::create(b, nest.getLoc(), types, grid, dimNames(nest.getRow()),
                                  dimNames(nest.getStream()), dimNames(nest.getInner()));
    Block *target = partial.getBodyBlock();
    target->getOperations().splice(target->end(), body->getOperations());
    eraseUnused(target);
    derivation::record(partial, derivation::stepsOf(nest));
    derivation::record(partial, derivation::stepAt(derivation::Rule::Split, nest.getLoc(), "",
                                                   {{"dims", stream.getValue().str()},
                                                    {"parts", std::to_string(parts)}}));
    return partial;
  }

  bool dependsOnStates(Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value v) { return nest.dependsOnState(v); });
  }

  // What moments are about.
  SmallVector<Value> centres() {
    llvm::SetVector<Value> found;
    for (FoldOp state : states)
      if (state.getCentre() && nest.dependsOnState(state.getCentre()))
        found.insert(state.getCentre());
    return found.takeVector();
  }

  // A map of states, of each part.
  void cloneEpilogue(OpBuilder &inner, MapOp map, IRMapping &mapping) {
    for (Value operand : map.getOperands())
      if (operand.getParentBlock() == nest.getBodyBlock() && !mapping.contains(operand))
        return;
    auto copy = cast<MapOp>(inner.clone(*map, mapping));
    SmallVector<Value> operands(copy.getOperands());
    copy.getResult().setType(attn::ArrayType::get(b.getContext(), unionDims(program, operands),
                                                  map.getType().getElementType()));
    keepCentre(inner, map.getResult(), copy.getResult());
  }

  // A centre that a part without elements does not have is 0: -inf, even weighted by 0, would make
  // the merge NaN.
  void keepCentre(OpBuilder &inner, Value original, Value ofPart) {
    if (!llvm::is_contained(centres(), original))
      return;
    FoldOp moment =
        *llvm::find_if(states, [&](FoldOp state) { return state.getCentre() == original; });
    attn::ArrayType type = arrayType(ofPart);
    ownCentres[original] = MapOp::create(
        inner, original.getLoc(), type, ofPart,
        [&](OpBuilder &s, Location at, ValueRange x) -> Value {
          Value zero = arith::ConstantOp::create(s, at, FloatAttr::get(type.getElementType(), 0));
          return red::inlineUpdate(s, at, moment.getFollowCentre(), {zero, x[0]});
        });
  }

  // The fold over the elements of one part: all others contribute the identity.
  Value partialState(OpBuilder &inner, FoldOp state, IRMapping &mapping) {
    SmallVector<Value> factors;
    for (Value factor : state.getFactors())
      factors.push_back(mapping.lookupOrDefault(factor));
    Value exponent, reference;
    if (state.getExponent()) {
      exponent = guarded(inner, mapping.lookupOrDefault(state.getExponent()),
                         state.getReference().getDefiningOp<FoldOp>());
      reference = mapping.lookup(state.getReference());
    } else {
      Value &first = *llvm::find_if(factors, [&](Value f) { return arrayType(f).hasDim(stream); });
      first = guarded(inner, first, state);
    }
    SmallVector<Value> operands(factors), lower;
    if (exponent)
      operands.push_back(exponent);
    Value base, centre;
    if (state.getBase()) {
      base = mapping.lookupOrDefault(state.getBase());
      centre = ownCentres.lookup(state.getCentre());
      if (!centre)
        centre = mapping.lookupOrDefault(state.getCentre());
      operands.append({base, centre});
    }
    for (Value value : state.getLower())
      lower.push_back(mapping.lookup(value));
    SmallVector<StringAttr> dims;
    for (StringAttr dim : unionDims(program, operands))
      if (dim != stream)
        dims.push_back(dim);
    auto type = attn::ArrayType::get(b.getContext(), dims, state.getType().getElementType());
    return red::withCancellationOf(state, FoldOp::create(inner, state.getLoc(), type,
                                                         state.getKind(), state.getDims(), factors,
                                                         exponent, reference, base, centre, lower));
  }

  // `array` within the part, outside what leaves a fold of it as it is.
  Value guarded(OpBuilder &inner, Value array, FoldOp fold) {
    Value &known = guards[{array, fold.getKind()}];
    if (known)
      return known;
    Value inside = isInsidePart(inner);
    Type element = arrayType(array).getElementType();
    SmallVector<Value> operands = {inside, array};
    auto type = attn::ArrayType::get(b.getContext(), unionDims(program, operands), element);
    known = MapOp::create(inner, array.getLoc(), type, operands,
                          [&](OpBuilder &scalars, Location loc, ValueRange x) -> Value {
                            Value identity = red::inlineUpdate(scalars, loc, fold.getEmpty(), {});
                            return arith::SelectOp::create(scalars, loc, x[0], x[1], identity);
                          });
    return known;
  }

  Value scalars(OpBuilder &inner, ArrayRef<StringAttr> dims, Type element, ValueRange operands,
                function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
    auto type = attn::ArrayType::get(b.getContext(), dims, element);
    return MapOp::create(inner, renamed(nest.getLoc(), "part"), type, operands, body);
  }

  Value isInsidePart(OpBuilder &inner) {
    if (!insidePart)
      insidePart = scatter ? isScatteredHere(inner) : isInsideRange(inner);
    return insidePart;
  }

  // Part p has the elements p * c to (p + 1) * c, c the smallest multiple of the granule for which
  // the parts have all of the stream.
  Value isInsideRange(OpBuilder &inner) {
    Location loc = renamed(nest.getLoc(), "part");
    Type integer = b.getI64Type();
    auto integers = [&](ArrayRef<StringAttr> dims) {
      return attn::ArrayType::get(b.getContext(), dims, integer);
    };
    Value size = SizeOp::create(inner, loc, integers({}), stream);
    Value count = SizeOp::create(inner, loc, integers({}), part);
    Value length = scalars(inner, {}, integer, {size, count},
                           [&](OpBuilder &s, Location at, ValueRange x) -> Value {
                             Value unit = constant(s, at, granule), one = constant(s, at, 1);
                             Value most = arith::MulIOp::create(s, at, x[1], unit);
                             Value up = arith::AddIOp::create(s, at, x[0], most);
                             up = arith::SubIOp::create(s, at, up, one);
                             Value granules = arith::FloorDivSIOp::create(s, at, up, most);
                             return arith::MulIOp::create(s, at, granules, unit);
                           });
    Value index = IndexOp::create(inner, loc, integers(stream), stream);
    Value number = IndexOp::create(inner, loc, integers(part), part);
    SmallVector<Value> operands = {index, number, length};
    return scalars(inner, unionDims(program, operands), b.getI1Type(), operands,
                   [&](OpBuilder &s, Location at, ValueRange x) -> Value {
                     Value first = arith::MulIOp::create(s, at, x[1], x[2]);
                     Value end = arith::AddIOp::create(s, at, first, x[2]);
                     Value after =
                         arith::CmpIOp::create(s, at, arith::CmpIPredicate::sge, x[0], first);
                     Value before =
                         arith::CmpIOp::create(s, at, arith::CmpIPredicate::slt, x[0], end);
                     return arith::AndIOp::create(s, at, after, before);
                   });
  }

  // Squares modulo a prime go through the parts as good as at random.
  Value isScatteredHere(OpBuilder &inner) {
    Location loc = renamed(nest.getLoc(), "part");
    auto integers = [&](ArrayRef<StringAttr> dims) {
      return attn::ArrayType::get(b.getContext(), dims, b.getI64Type());
    };
    Value count = SizeOp::create(inner, loc, integers({}), part);
    Value index = IndexOp::create(inner, loc, integers(stream), stream);
    Value number = IndexOp::create(inner, loc, integers(part), part);
    SmallVector<Value> operands = {index, number, count};
    return scalars(inner, unionDims(program, operands), b.getI1Type(), operands,
                   [&](OpBuilder &s, Location at, ValueRange x) -> Value {
                     Value prime = constant(s, at, kPrime);
                     Value from = arith::AddIOp::create(s, at, x[0], constant(s, at, scatter));
                     Value squared = arith::MulIOp::create(s, at, from, from);
                     Value drawn = attn::ModOp::create(s, at, squared, prime);
                     Value chosen = attn::ModOp::create(s, at, drawn, x[2]);
                     return arith::CmpIOp::create(s, at, arith::CmpIPredicate::eq, chosen, x[1]);
                   });
  }

  static Value constant(OpBuilder &s, Location at, int64_t value) {
    return arith::ConstantOp::create(s, at, s.getI64IntegerAttr(value));
  }

  //===--- their merge -----------------------------------------------------------------------===//

  void buildMerge(NestOp partial) {
    auto body = std::make_unique<Block>();
    OpBuilder inner(b.getContext());
    inner.setInsertionPointToStart(body.get());
    IRMapping mapping;
    llvm::DenseMap<Value, Value> ofParts; // by state
    centresOfSplits.clear();
    SmallVector<FoldOp> merged;
    SmallVector<Value> stored;
    for (FoldOp state : states)
      stored.push_back(state);
    llvm::append_range(stored, centres());
    for (auto [number, value] : llvm::enumerate(stored)) {
      Value result = partial.getResult(number);
      auto dims = arrayType(result).getDims();
      auto &known = number < states.size() ? ofParts : centresOfSplits;
      known[value] = ReadOp::create(inner, value.getLoc(), result.getType(), result, ValueRange(),
                                    b.getArrayAttr({dims.begin(), dims.end()}), FloatAttr());
    }
    for (Operation &op : nest.getBodyBlock()->without_terminator()) {
      auto fold = dyn_cast<FoldOp>(op);
      if (!fold || !llvm::is_contained(states, fold))
        inner.clone(op, mapping);
      else
        mapping.map(fold.getResult(), mergeState(inner, fold, ofParts, mapping, merged));
    }
    SmallVector<Value> yielded;
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (Value value : yield.getValues())
      yielded.push_back(mapping.lookupOrDefault(value));
    red::YieldOp::create(inner, nest.getLoc(), yielded);
    eraseUnused(body.get());
    place(std::move(body), merged, yielded);
  }

  // A fold over the parts by the same operation, of their states moved to what all are relative to.
  // Where that is a centre they move by a sum (shiftTerms), and each summand is a moment over the
  // parts, about the centre of all, with those of the parts as base.
  Value mergeState(OpBuilder &inner, FoldOp state, llvm::DenseMap<Value, Value> &ofParts,
                   IRMapping &mapping, SmallVectorImpl<FoldOp> &merged) {
    Value exponent, reference;
    if (state.getReference()) {
      exponent = ofParts[state.getReference()];
      reference = mapping.lookup(state.getReference());
    }
    Value base = centresOfSplits.lookup(state.getCentre());
    SmallVector<ShiftTerm> terms = {{0, 0, 1}};
    if (base) // else the centre is the same for all parts
      terms = shiftTerms(cast<red::ReturnOp>(state.getShift().front().getTerminator()).getValue());
    SmallVector<Value> sums;
    for (const ShiftTerm &term : terms) {
      Value moment = term.moment == 0 ? state.getResult() : state.getLower()[term.moment - 1];
      Value part = ofParts[moment];
      SmallVector<Value> moments;
      for (unsigned degree = 0; degree <= term.power; ++degree) {
        SmallVector<Value> operands = {part};
        if (exponent)
          operands.push_back(exponent);
        Value centre = degree > 0 ? mapping.lookup(state.getCentre()) : Value();
        if (centre)
          operands.append({base, centre});
        SmallVector<StringAttr> dims;
        for (StringAttr dim : unionDims(program, operands))
          if (dim != this->part)
            dims.push_back(dim);
        auto type = attn::ArrayType::get(b.getContext(), dims, state.getType().getElementType());
        moments.push_back(
            once(merged, FoldOp::create(inner, state.getLoc(), type, state.getKind(),
                                        b.getArrayAttr({this->part}), part, exponent, reference,
                                        degree > 0 ? base : Value(), centre, moments)));
      }
      sums.push_back(moments.back());
    }
    if (sums.size() == 1)
      return sums.front();
    return MapOp::create(
        inner, state.getLoc(), state.getType(), sums,
        [&](OpBuilder &s, Location at, ValueRange x) -> Value {
          Value sum = x[0];
          for (size_t i = 1; i < x.size(); ++i) {
            Value term = x[i];
            if (double times = terms[i].times; times != 1)
              term = arith::MulFOp::create(
                  s, at, term,
                  arith::ConstantOp::create(s, at, FloatAttr::get(term.getType(), times)));
            sum = arith::AddFOp::create(s, at, sum, term);
          }
          return sum;
        });
  }

  // `fold`, or the same one that there is already.
  static Value once(SmallVectorImpl<FoldOp> &folds, FoldOp fold) {
    for (FoldOp known : folds)
      if (OperationEquivalence::isEquivalentTo(known, fold,
                                               OperationEquivalence::IgnoreLocations)) {
        fold.erase();
        return known;
      }
    folds.push_back(fold);
    return fold;
  }

  void place(std::unique_ptr<Block> body, ArrayRef<FoldOp> merged, ArrayRef<Value> yielded) {
    SmallVector<Operation *> ops;
    for (Operation &op : body->without_terminator())
      ops.push_back(&op);
    Roles roles = chooseRoles(program, part, ops, merged, yielded);
    auto merge = NestOp::create(b, nest.getLoc(), nest.getResultTypes(), roles.grid, roles.row,
                                roles.stream, roles.inner);
    Block *target = merge.getBodyBlock();
    target->getOperations().splice(target->end(), body->getOperations());
    derivation::record(merge, derivation::stepAt(derivation::Rule::Merged, nest.getLoc(), "",
                                                 {{"dims", stream.getValue().str()}}));
    nest.replaceAllUsesWith(merge.getResults());
  }

  //===--- either ----------------------------------------------------------------------------===//

  static void eraseUnused(Block *body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  ProgramOp program;
  NestOp nest;
  int64_t parts, granule, scatter;
  OpBuilder b;
  SmallVector<FoldOp> states;
  StringAttr stream, part;
  Value insidePart;
  llvm::DenseMap<std::pair<Value, FoldKind>, Value> guards;
  llvm::DenseMap<Value, Value> ownCentres,
      centresOfSplits; // of moments: in a part, and of all parts
};

} // namespace

// A dim for the parts of `stream` in one nest: the outermost one, so that the states of a part lie
// as they would without parts.
static StringAttr addPartDim(ProgramOp program, StringAttr stream, int64_t parts) {
  std::string first = stream.getValue().str() + "_part", name = first;
  for (int number = 2; program.lookupDim(StringAttr::get(program.getContext(), name)); ++number)
    name = first + "_" + std::to_string(number);
  SmallVector<Attribute> dims(program.getDims().begin(), program.getDims().end());
  auto part = DimAttr::get(program.getContext(), StringAttr::get(program.getContext(), name),
                           ShapedType::kDynamic);
  dims.insert(dims.begin(), part);
  program.setDimsAttr(ArrayAttr::get(program.getContext(), dims));
  OpBuilder b = OpBuilder::atBlockBegin(program.getBodyBlock());
  Location loc = renamed(program.getLoc(), name);
  auto type = attn::ArrayType::get(program.getContext(), {}, b.getI64Type());
  Value count =
      MapOp::create(b, loc, type, {}, [&](OpBuilder &s, Location at, ValueRange) -> Value {
        return arith::ConstantOp::create(s, at, s.getI64IntegerAttr(parts));
      });
  ExtentOp::create(b, loc, part.getName(), count);
  return part.getName();
}

bool isPartDim(ProgramOp program, StringAttr dim) {
  auto parts = program->getAttrOfType<ArrayAttr>(kPartDimsAttr);
  return parts && llvm::is_contained(parts, dim);
}

void split(ProgramOp program) {
  auto parts = program->getAttrOfType<IntegerAttr>(kSplitsAttr);
  if (!parts)
    return;
  SmallVector<Attribute> added;
  if (auto before = program->getAttrOfType<ArrayAttr>(kPartDimsAttr))
    llvm::append_range(added, before);
  SmallVector<NestOp> nests(program.getBodyBlock()->getOps<NestOp>());
  for (NestOp nest : nests) {
    if (nest.getStream().size() != 1 || nest.states().empty())
      continue;
    auto stream = cast<StringAttr>(nest.getStream()[0]);
    if (program.lookupDim(stream).isStatic())
      continue;
    StringAttr part = addPartDim(program, stream, parts.getInt()); // how many is its own affair
    added.push_back(part);
    Splitter(program, nest, part, parts.getInt()).run();
  }
  program->setAttr(kPartDimsAttr, ArrayAttr::get(program.getContext(), added));
}

} // namespace attnc
