#include "dialects/Red/Update.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace attnc::red {

// The names of all regions that a fold may have, in their order.
static constexpr StringLiteral kNames[] = {"empty",      "lift",    "merge",
                                           "weight",     "rescale", "follow",
                                           "difference", "shift",   "follow_centre"};

static Type elementOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getElementType();
}

SmallVector<FoldOp::Frame, 2> FoldOp::frames() {
  SmallVector<Frame, 2> all;
  if (getExponent())
    all.push_back(
        {getExponent(), getReference(), &getWeight(), &getRescale(), &getFollow(), false});
  if (getBase())
    all.push_back(
        {getBase(), getCentre(), &getDifference(), &getShift(), &getFollowCentre(), true});
  return all;
}

SmallVector<FoldOp::Part> FoldOp::updateParts() {
  Type state = elementOf(getResult());
  Part lift = {kNames[1], &getLift(), {}};
  for (Value factor : getFactors())
    lift.arguments.push_back(elementOf(factor));
  lift.arguments.append(frames().size(), state);
  SmallVector<Part> parts = {
      {kNames[0], &getEmpty(), {}}, lift, {kNames[2], &getMerge(), {state, state}}};
  for (const Frame &frame : frames()) {
    SmallVector<Type> moved(2 + (frame.takesLower ? getLower().size() : 0), state);
    auto nameOf = [&](Region *region) { return kNames[region->getRegionNumber()]; };
    parts.push_back({nameOf(frame.distance), frame.distance, {state, state}});
    parts.push_back({nameOf(frame.rescale), frame.rescale, moved});
    parts.push_back({nameOf(frame.follow), frame.follow, {state, state}});
  }
  return parts;
}

void printUpdateOf(OpAsmPrinter &p, FoldOp fold) {
  if (!fold.hasUpdate())
    return;
  p << "update {";
  p.increaseIndent();
  for (auto [name, region] : llvm::zip_equal(kNames, fold->getRegions())) {
    if (region.empty())
      continue;
    p.printNewline();
    p << name << '(';
    llvm::interleaveComma(region.getArguments(), p,
                          [&](BlockArgument argument) { p.printRegionArgument(argument); });
    p << ") ";
    p.printRegion(region, /*printEntryBlockArgs=*/false);
  }
  p.decreaseIndent();
  p.printNewline();
  p << '}';
}

ParseResult parseUpdateOf(OpAsmParser &parser, ArrayRef<Region *> regions) {
  if (failed(parser.parseOptionalKeyword("update")))
    return success();
  if (parser.parseLBrace())
    return failure();
  while (failed(parser.parseOptionalRBrace())) {
    SMLoc at = parser.getCurrentLocation();
    StringRef name;
    SmallVector<OpAsmParser::Argument> arguments;
    if (parser.parseKeyword(&name))
      return failure();
    const auto *known = llvm::find(kNames, name);
    if (known == std::end(kNames))
      return parser.emitError(at, "'") << name << "' is no part of an update";
    Region &region = *regions[known - std::begin(kNames)];
    if (!region.empty())
      return parser.emitError(at, "'") << name << "' is there twice";
    if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
        parser.parseRegion(region, arguments))
      return failure();
  }
  return success();
}

static LogicalResult verifyPart(FoldOp fold, const FoldOp::Part &part) {
  auto error = [&]() {
    return fold.emitOpError("has an update whose part '") << part.name << "' ";
  };
  if (!part.region->hasOneBlock())
    return error() << "is missing or has more than one block";
  if (part.region->getArgumentTypes() != TypeRange(part.arguments))
    return error() << "does not take the arguments that its operands make it";
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(*part.region, captured);
  if (!captured.empty())
    return error() << "uses a value from outside";
  auto end = dyn_cast<ReturnOp>(part.region->front().getTerminator());
  if (!end || end.getValue().getType() != elementOf(fold.getResult()))
    return error() << "does not return a scalar of the state's type";
  return success();
}

LogicalResult verifyUpdate(FoldOp fold) {
  unsigned there =
      llvm::count_if(fold->getRegions(), [](Region &region) { return !region.empty(); });
  if (there == 0)
    return success();
  SmallVector<FoldOp::Part> parts = fold.updateParts();
  for (const FoldOp::Part &part : parts)
    if (failed(verifyPart(fold, part)))
      return failure();
  if (there != parts.size())
    return fold.emitOpError("has an update with a part for operands that it has not");
  return success();
}

Value inlineUpdate(OpBuilder &builder, Location loc, Region &region, ValueRange arguments,
                   EmitScalar emit) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator())
    if (emit)
      emit(builder, op, mapping);
    else
      builder.clone(op, mapping)->setLoc(loc);
  return mapping.lookup(cast<ReturnOp>(region.front().getTerminator()).getValue());
}

FoldOp::Frame frameOf(NestOp nest, Value element, Value reference) {
  for (auto fold : nest.getBodyBlock()->getOps<FoldOp>())
    for (const FoldOp::Frame &frame : fold.frames())
      if (frame.element == element && frame.reference == reference)
        return frame;
  llvm_unreachable("a fold of the nest has the frame");
}

} // namespace attnc::red
