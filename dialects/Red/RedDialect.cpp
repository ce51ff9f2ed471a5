#include "dialects/Red/Red.h"
#include "dialects/Red/Update.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::red;

#include "dialects/Red/RedDialect.cpp.inc"
#include "dialects/Red/RedEnums.cpp.inc"
#include "dialects/Red/Schedule.cpp.inc"

void RedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Red/RedOps.cpp.inc"
      >();
}

using attn::parseDimNames, attn::printDimNames;
template <typename... Regions> static void printUpdate(OpAsmPrinter &p, FoldOp fold, Regions &...) {
  printUpdateOf(p, fold);
}
template <typename... Regions>
static ParseResult parseUpdate(OpAsmParser &parser, Regions &...regions) {
  return parseUpdateOf(parser, {&regions...});
}

//===----------------------------------------------------------------------===//
// red.nest
//===----------------------------------------------------------------------===//

void NestOp::build(OpBuilder &builder, OperationState &state, TypeRange results,
                   ArrayRef<StringAttr> grid, ArrayRef<StringAttr> row, ArrayRef<StringAttr> stream,
                   ArrayRef<StringAttr> inner, std::unique_ptr<Region> domain) {
  auto list = [&](ArrayRef<StringAttr> dims) {
    return builder.getArrayAttr({dims.begin(), dims.end()});
  };
  state.addAttribute(getGridAttrName(state.name), list(grid));
  state.addAttribute(getRowAttrName(state.name), list(row));
  state.addAttribute(getStreamAttrName(state.name), list(stream));
  state.addAttribute(getInnerAttrName(state.name), list(inner));
  state.addTypes(results);
  state.addRegion()->emplaceBlock();
  if (domain)
    state.addRegion(std::move(domain));
}

SmallVector<FoldOp> NestOp::states() {
  SmallVector<FoldOp> result;
  for (auto fold : getBodyBlock()->getOps<FoldOp>())
    if (llvm::any_of(fold.getDims().getAsRange<StringAttr>(),
                     [&](StringAttr d) { return isStreamDim(d); }))
      result.push_back(fold);
  return result;
}

bool NestOp::dependsOnState(Value value) {
  llvm::SmallDenseSet<Operation *> states, seen; // an operand that is shared is walked once
  for (FoldOp state : this->states())
    states.insert(state);
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != getBodyBlock() || !seen.insert(op).second)
      continue;
    if (states.contains(op))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

llvm::SetVector<Value> NestOp::captures() {
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(getOperation()->getRegions(), values);
  return values;
}

// Every dim of the body has one role.
static LogicalResult verifyRoles(NestOp nest) {
  llvm::SmallDenseSet<StringAttr> roles;
  for (ArrayAttr list : {nest.getGrid(), nest.getRow(), nest.getStream(), nest.getInner()})
    for (StringAttr dim : list.getAsRange<StringAttr>())
      if (!roles.insert(dim).second)
        return nest.emitOpError("gives dim '") << dim.getValue() << "' two roles";
  for (Operation &op : *nest.getBodyBlock())
    for (Type type : op.getResultTypes())
      if (auto array = dyn_cast<attn::ArrayType>(type))
        for (StringAttr dim : array.getDims())
          if (!roles.contains(dim))
            return op.emitOpError("has dim '") << dim.getValue() << "', which has no role";
  return success();
}

// True if `value` is computed from a moment of the nest.
static bool dependsOnMoment(NestOp nest, Value value) {
  llvm::SmallDenseSet<Operation *> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock() || !seen.insert(op).second)
      continue;
    if (auto fold = dyn_cast<FoldOp>(op); fold && fold.getBase())
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

// A state may enter the step only as the reference of an exponent, or by way of a centre.
static LogicalResult verifyOnePass(NestOp nest) {
  for (FoldOp state : nest.states()) {
    if (!llvm::all_of(nest.getStream(),
                      [&](Attribute dim) { return llvm::is_contained(state.getDims(), dim); }))
      return state.emitOpError("folds over some of the stream and leaves the rest");
    for (Value operand : state.getFactors())
      if (nest.dependsOnState(operand))
        return state.emitOpError("has a factor that depends on a state of the same pass");
    if (state.getExponent() && nest.dependsOnState(state.getExponent()))
      return state.emitOpError("has an exponent that depends on a state of the same pass");
    if (state.getBase() && nest.dependsOnState(state.getBase()))
      return state.emitOpError("has a base that depends on a state of the same pass");
    // A moment is known once its centre is: none could be found first.
    if (state.getCentre() && dependsOnMoment(nest, state.getCentre()))
      return state.emitOpError("has a centre that depends on another moment of the same pass");
  }
  return success();
}

static LogicalResult verifyDomain(NestOp nest) {
  Block *block = nest.getDomainBlock();
  if (!block)
    return success();
  unsigned expected =
      nest.getGrid().size() + 2 * nest.getRow().size() + 2 * nest.getStream().size();
  if (block->getNumArguments() != expected)
    return nest.emitOpError("has a domain of ")
           << block->getNumArguments() << " arguments; its roles make it " << expected;
  if (!isa<BoundsOp>(block->getTerminator()))
    return nest.emitOpError("has a domain that does not end with red.bounds");
  return success();
}

// True if the types are alike but for the order of dims; f32 may be stored rounded to 16 bits.
static bool isLayoutOf(Type yielded, Type stored) {
  auto from = cast<attn::ArrayType>(yielded), to = cast<attn::ArrayType>(stored);
  auto ofFrom = from.getDims(), ofTo = to.getDims();
  Type element = to.getElementType();
  bool isRounded = from.getElementType().isF32() && (element.isF16() || element.isBF16());
  return (from.getElementType() == element || isRounded) &&
         std::is_permutation(ofFrom.begin(), ofFrom.end(), ofTo.begin(), ofTo.end());
}

LogicalResult NestOp::verify() {
  for (Operation &op : *getBodyBlock())
    if (!isa<attn::ReadOp, attn::IndexOp, attn::SizeOp, attn::MapOp, FoldOp, YieldOp>(op))
      return op.emitOpError("cannot be in the body of a nest");
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || !llvm::equal(yield.getValues().getTypes(), getResultTypes(), isLayoutOf))
    return emitOpError("must end with a red.yield of its results");
  if (getDomain().size() > 1)
    return emitOpError("has more than one domain");
  if (failed(verifyRoles(*this)) || failed(verifyOnePass(*this)))
    return failure();
  return verifyDomain(*this);
}

StringAttr PackOp::rows() {
  auto stored = getPacked().getType().getDims(), computed = getPadded().getType().getDims();
  return *llvm::find_if(stored, [&](StringAttr dim) { return !llvm::is_contained(computed, dim); });
}

LogicalResult PackOp::verify() {
  attn::ArrayType from = getPadded().getType(), to = getPacked().getType();
  auto ofSequences = [](attn::ArrayType type) {
    return type.getDims().size() == 1 && type.getElementType().isInteger(64);
  };
  if (!ofSequences(getStart().getType()) || getStart().getType() != getCount().getType())
    return emitOpError("needs integers for each sequence: its first row, and how many it has");
  if (!from.hasDim(over()) || !from.hasDim(getDimAttr()) || getDimAttr() == over())
    return emitOpError("packs a tensor that has an axis for the sequences and one for their rows");
  SmallVector<StringAttr> kept;
  for (StringAttr dim : from.getDims())
    if (dim != over() && dim != getDimAttr())
      kept.push_back(dim);
  unsigned rows = 0;
  for (StringAttr dim : to.getDims())
    rows += !llvm::is_contained(kept, dim);
  if (from.getElementType() != to.getElementType() || rows != 1 ||
      to.getDims().size() != kept.size() + 1)
    return emitOpError("has in place of both axes one of the rows of all sequences");
  if (!getPadded().getDefiningOp<NestOp>() || !getPadded().hasOneUse())
    return emitOpError("packs a result of a nest that nobody else reads");
  return success();
}

LogicalResult EncodeOp::verify() {
  auto type = cast<attn::ArrayType>(getTensor().getType());
  auto rank = static_cast<uint64_t>(type.getDims().size());
  if (!type.getElementType().isF32() || rank < 2 || getAxis() + 1 >= rank)
    return emitOpError("encodes a tensor of f32 whose rows lie along an axis before the last");
  auto isHalf = [&](Value value) {
    auto half = cast<attn::ArrayType>(value.getType());
    return half.getElementType().isF16() && half.getDims() == type.getDims();
  };
  auto scale = cast<attn::ArrayType>(getScale().getType());
  if (!isHalf(getHigh()) || !isHalf(getLow()) || !scale.getElementType().isF32() ||
      scale.getDims() != type.getDims().drop_back())
    return emitOpError("makes two of f16 like the tensor, and an f32 for each row");
  if (getColumns() && !getTops())
    return emitOpError("needs the tops of columns to divide them");
  return success();
}

LogicalResult ExtremeOp::verify() {
  if (getKind() != FoldKind::Max && getKind() != FoldKind::Min)
    return emitOpError("is of kind max or min");
  auto type = cast<attn::ArrayType>(getArray().getType());
  if (!isa<IntegerType>(type.getElementType())) // a truth is 1 or 0
    return emitOpError("needs an array of integers");
  if (getFirst().size() != type.getDims().size())
    return emitOpError("needs a first and a last index for each dim of its array");
  return success();
}

LogicalResult BoundsOp::verify() {
  auto nest = cast<NestOp>((*this)->getParentOp());
  if (getLo().size() != nest.getStream().size() || getHi().size() != nest.getStream().size())
    return emitOpError("needs one lo and one hi for each stream dim");
  return success();
}

//===----------------------------------------------------------------------===//
// red.fold
//===----------------------------------------------------------------------===//

static LogicalResult verifyFoldOperands(FoldOp fold) {
  bool additive = fold.getKind() == FoldKind::Add;
  if (!additive && (fold.getFactors().size() != 1 || fold.getExponent()))
    return fold.emitOpError("folds exactly one value unless it adds");
  if (additive && fold.getFactors().empty() && !fold.getExponent())
    return fold.emitOpError("adds nothing");
  bool logical = fold.getKind() == FoldKind::And || fold.getKind() == FoldKind::Or;
  for (Value operand : fold.getOperands())
    if (cast<attn::ArrayType>(operand.getType()).getElementType().isInteger(1) != logical)
      return fold.emitOpError("has an operand whose type does not fit its kind");
  if (!fold.getExponent())
    return success();
  auto reference = fold.getReference().getDefiningOp<FoldOp>();
  if (!reference || reference.getKind() != FoldKind::Max || reference.getDims() != fold.getDims() ||
      reference.getFactors().front() != fold.getExponent())
    return fold.emitOpError("needs the max fold of its exponent over the same dims as reference");
  return success();
}

// The lower moments are the same sums but for the power, and so is each of theirs.
static LogicalResult verifyMoment(FoldOp fold) {
  if (!fold.getBase())
    return fold.getLower().empty() ? success() : fold.emitOpError("has lower moments and no base");
  if (fold.getKind() != FoldKind::Add || fold.getLower().empty())
    return fold.emitOpError("is a moment that does not add, or one without lower moments");
  for (auto [degree, value] : llvm::enumerate(fold.getLower())) {
    auto lower = value.getDefiningOp<FoldOp>();
    bool same = lower && lower.getKind() == FoldKind::Add && lower.degree() == degree &&
                lower.getDims() == fold.getDims() && lower.getFactors() == fold.getFactors() &&
                lower.getExponent() == fold.getExponent() &&
                lower.getReference() == fold.getReference();
    if (!same || (degree > 0 &&
                  (lower.getBase() != fold.getBase() || lower.getCentre() != fold.getCentre())))
      return fold.emitOpError("needs the moments of lower degree of the same sum");
  }
  return success();
}

SmallVector<Value> FoldOp::termOperands() {
  SmallVector<Value> operands(getFactors());
  for (Value operand : {getExponent(), getBase()})
    if (operand)
      operands.push_back(operand);
  return operands;
}

LogicalResult FoldOp::verify() {
  if (getDims().empty())
    return emitOpError("folds over no dim");
  if (failed(verifyFoldOperands(*this)) || failed(verifyMoment(*this)) ||
      failed(verifyUpdate(*this)))
    return failure();
  SmallVector<StringAttr> dims;
  for (Value operand : termOperands())
    llvm::append_range(dims, cast<attn::ArrayType>(operand.getType()).getDims());
  for (StringAttr dim : getDims().getAsRange<StringAttr>())
    if (!llvm::is_contained(dims, dim))
      return emitOpError("folds over dim '") << dim.getValue() << "', which its operands have not";
  llvm::SmallDenseSet<StringAttr> kept(dims.begin(), dims.end());
  if (getCentre())
    for (StringAttr dim : cast<attn::ArrayType>(getCentre().getType()).getDims())
      kept.insert(dim);
  for (StringAttr dim : getDims().getAsRange<StringAttr>())
    kept.erase(dim);
  auto result = getType().getDims();
  if (kept != llvm::SmallDenseSet<StringAttr>(result.begin(), result.end()))
    return emitOpError("has a result whose dims are not those that remain");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/Red/RedOps.cpp.inc"
