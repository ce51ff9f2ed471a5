#include "dialects/Tile/RowPlace.h"
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// tile.kernel
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     ArrayRef<std::pair<std::string, Type>> args, ArrayAttr grid, int64_t threads,
                     int64_t smem) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  Block &block = state.addRegion()->emplaceBlock();
  SmallVector<Attribute> names;
  for (const auto &[argName, type] : args) {
    StringAttr attr = builder.getStringAttr(argName);
    names.push_back(attr);
    block.addArgument(type, NameLoc::get(attr));
  }
  state.addAttribute(getArgNamesAttrName(state.name), builder.getArrayAttr(names));
  state.addAttribute(getGridAttrName(state.name), grid);
  state.addAttribute(getThreadsAttrName(state.name), builder.getI64IntegerAttr(threads));
  state.addAttribute(getSmemAttrName(state.name), builder.getI64IntegerAttr(smem));
}

void KernelOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getSymName());
  p << "(";
  llvm::interleaveComma(
      llvm::zip(getBodyBlock()->getArguments(), getArgNames().getAsRange<StringAttr>()), p,
      [&](auto pair) {
        auto [arg, name] = pair;
        p << name << " = ";
        p.printRegionArgument(arg);
      });
  p << ") grid " << getGrid() << " threads " << getThreads() << " smem " << getSmem();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     {getSymNameAttrName(), getArgNamesAttrName(),
                                      getGridAttrName(), getThreadsAttrName(), getSmemAttrName()});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Attribute> names;
  auto parseArg = [&]() -> ParseResult {
    std::string argName;
    if (parser.parseString(&argName) || parser.parseEqual() ||
        parser.parseArgument(args.emplace_back(), /*allowType=*/true))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(argName));
    return success();
  };
  ArrayAttr grid;
  int64_t threads = 0, smem = 0;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseArg) ||
      parser.parseKeyword("grid") || parser.parseAttribute(grid) ||
      parser.parseKeyword("threads") || parser.parseInteger(threads) ||
      parser.parseKeyword("smem") || parser.parseInteger(smem) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), args))
    return failure();
  if (state.regions.front()->empty())
    state.regions.front()->emplaceBlock();
  Builder &builder = parser.getBuilder();
  state.addAttribute(getArgNamesAttrName(state.name), builder.getArrayAttr(names));
  state.addAttribute(getGridAttrName(state.name), grid);
  state.addAttribute(getThreadsAttrName(state.name), builder.getI64IntegerAttr(threads));
  state.addAttribute(getSmemAttrName(state.name), builder.getI64IntegerAttr(smem));
  return success();
}

// An extent: an integer, ["size", dim], ["param", name], ["let", name] of a loop around the launch,
// or an operation on extents.
static bool isExtent(Attribute extent) {
  if (isa<IntegerAttr>(extent))
    return true;
  auto list = dyn_cast<ArrayAttr>(extent);
  auto head = list && !list.empty() ? dyn_cast<StringAttr>(list[0]) : StringAttr();
  if (!head)
    return false;
  if (head == "size" || head == "param" || head == "let")
    return list.size() == 2 && isa<StringAttr>(list[1]);
  if (head == "multiprocessors")
    return list.size() == 1;
  static constexpr StringRef kOperations[] = {"add", "sub",     "mul", "floordiv",
                                              "mod", "ceildiv", "min", "max"};
  return llvm::is_contained(kOperations, head.getValue()) && list.size() == 3 &&
         llvm::all_of(list.getValue().drop_front(), isExtent);
}

LogicalResult KernelOp::verify() {
  if (getArgNames().size() != getBodyBlock()->getNumArguments())
    return emitOpError("names ") << getArgNames().size() << " of its "
                                 << getBodyBlock()->getNumArguments() << " arguments";
  if (getGrid().empty() || getGrid().size() > 3 || !llvm::all_of(getGrid(), isExtent))
    return emitOpError("has a grid that is not one to three extents");
  if (getThreads() < 1 || getThreads() > 1024)
    return emitOpError("has ") << getThreads() << " threads in a block; there are 1 to 1024";
  if (getSmem() > static_cast<uint64_t>(kBlockBytes))
    return emitOpError("has ") << getSmem() << " bytes of shared memory; a block has at most "
                               << kBlockBytes;
  for (BlockArgument arg : getBodyBlock()->getArguments())
    if (auto pointer = dyn_cast<PtrType>(arg.getType());
        pointer && pointer.getShared() && !getChain())
      return emitOpError("is launched with a pointer to shared memory");
  return success();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

static LogicalResult verifyElement(Operation *op, PtrType pointer, Type scalar) {
  if (attn::computeType(pointer.getElement()) != scalar)
    return op->emitOpError("moves ")
           << scalar << " where the compute type of " << pointer.getElement() << " is "
           << attn::computeType(pointer.getElement());
  return success();
}

LogicalResult LoadOp::verify() { return verifyElement(*this, getPointer().getType(), getType()); }
LogicalResult StoreOp::verify() {
  return verifyElement(*this, getPointer().getType(), getValue().getType());
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static LogicalResult verifyStored(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  Type element) {
  return findElementType(element) ? success()
                                  : emitError() << element << " is no type of elements in memory";
}

LogicalResult PtrType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Type element,
                              bool) {
  return verifyStored(emitError, element);
}

LogicalResult SharedType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                 int64_t, Type element, int64_t panelRows) {
  if (panelRows != 0 && panelRows < rows)
    return emitError() << "has " << rows << " rows of panels that have " << panelRows;
  return verifyStored(emitError, element);
}

LogicalResult TensorMapType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                    ArrayRef<int64_t>, Type element) {
  return verifyStored(emitError, element);
}

LogicalResult OperandType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t,
                                  int64_t, Type element) {
  return verifyStored(emitError, element);
}

int64_t SharedType::getWidth() const {
  const ElementType &element = elementType(getElement());
  if (!hasPanels())
    return element.paddedWidth(getCols());
  return llvm::alignTo(getCols(), element.panelColumns());
}

int64_t SharedType::getBytes() const {
  return getRows() * getWidth() * elementType(getElement()).bytes;
}

bool SharedType::fitsBlock(int64_t count) const {
  auto fits = [](int64_t value) { return value >= 1 && value <= kBlockBytes; };
  return fits(getRows()) && fits(getCols()) && fits(count) && fits(getBytes()) &&
         fits(count * getBytes());
}

LogicalResult SharedOp::verify() {
  if (auto barriers = dyn_cast<BarriersType>(getType()))
    return barriers.getCount() >= 1 && barriers.getCount() <= 1024
               ? success()
               : emitOpError("has ") << barriers.getCount() << " barriers; it can be 1 to 1024";
  if (auto pointer = dyn_cast<PtrType>(getType()))
    return pointer.getShared() ? success() : emitOpError("is a pointer to global memory");
  auto ring = dyn_cast<RingType>(getType());
  SharedType tile = ring ? ring.getTile() : cast<SharedType>(getType());
  if (!tile.fitsBlock(ring ? ring.getStages() : 1))
    return emitOpError("holds ") << getType() << ", nothing or more than the " << kBlockBytes
                                 << " bytes of a block";
  return success();
}

LogicalResult StageOp::verify() {
  auto pipe = dyn_cast<PipeType>(getRing().getType());
  SharedType tile = pipe ? pipe.getTile() : cast<RingType>(getRing().getType()).getTile();
  return tile == getType() ? success() : emitOpError("takes ") << getType() << " from " << tile;
}

// What a thread moves at a time.
static LogicalResult verifyVector(Operation *op, uint64_t bytes, Type element) {
  auto least = static_cast<uint64_t>(elementType(element).bytes);
  return bytes >= least && bytes <= 16 && llvm::isPowerOf2_64(bytes)
             ? success()
             : op->emitOpError("moves ") << static_cast<int64_t>(bytes) << " bytes at a time; it "
                                         << "can be a power of 2 from " << least << " to 16";
}

LogicalResult StoreTileOp::verify() {
  return verifyVector(*this, getVectorBytes(), getTile().getType().getElement());
}

LogicalResult CopyOp::verify() {
  SharedType tile = getTile().getType();
  if (failed(verifyVector(*this, getVectorBytes(), tile.getElement())))
    return failure();
  int64_t count = getTiles();
  if (count < 1 || !tile.fitsBlock(count))
    return emitOpError("copies ") << count << " tiles of " << tile;
  if (count > 1 && tile.getCols() != tile.getWidth())
    return emitOpError("copies ") << count << " tiles whose rows are padded";
  return success();
}

LogicalResult MmaOp::verify() {
  auto c = getC().getType();
  auto b = getB().getType();
  int64_t rows, depth;
  if (auto shared = dyn_cast<SharedType>(getA().getType()))
    std::tie(rows, depth) = std::pair(shared.getRows(), shared.getWidth());
  else
    std::tie(rows, depth) = std::pair(cast<OperandType>(getA().getType()).getRows(),
                                      cast<OperandType>(getA().getType()).getDepth());
  int64_t bDepth = getTransposed() ? b.getWidth() : b.getRows();
  int64_t bCols = getTransposed() ? b.getRows() : b.getWidth();
  if (rows != c.getRows() || bCols != c.getCols() || depth != bDepth)
    return emitOpError("multiplies ") << rows << "x" << depth << " by " << bDepth << "x" << bCols
                                      << " into " << c.getRows() << "x" << c.getCols();
  auto a = dyn_cast<OperandType>(getA().getType());
  Type element = a ? a.getElement() : cast<SharedType>(getA().getType()).getElement();
  if (element != b.getElement())
    return emitOpError("multiplies ") << element << " by " << b.getElement();
  bool isSplit = a && elementType(element).isSplit;
  if (getHalves() && (!isSplit || getTransposed()))
    return emitOpError("has halves of f32 only, a in registers and b not transposed");
  return success();
}

// With panels each column of the fragment is one of the tile; without, both have paddings of their
// own, of 32 bytes at most.
LogicalResult StoreFragmentOp::verify() {
  FragmentType from = getFragment().getType();
  SharedType to = getTile().getType();
  int64_t widest = to.hasPanels() ? to.getCols() : llvm::alignTo(to.getCols(), 16);
  if (from.getRows() != to.getRows() || (to.hasPanels() && to.getRows() != 16) ||
      from.getCols() < to.getCols() || from.getCols() > widest)
    return emitOpError("writes ") << from << " to " << to << ", not its rows and columns";
  if (!elementType(to.getElement()).warpProducts)
    return emitOpError("rounds f32 to ") << to.getElement();
  return success();
}

void MapOp::print(OpAsmPrinter &p) {
  p << " rows(" << getRows() << " as ";
  p.printRegionArgument(rowIndex(), {}, /*omitType=*/true);
  p << ")";
  if (!isOverRows()) {
    p << " cols(" << getCols() << " as ";
    p.printRegionArgument(columnIndex(), {}, /*omitType=*/true);
    p << ")";
  }
  p << " ins(";
  for (unsigned i = 0; i < getIns().size(); ++i) {
    p << (i ? ", " : "") << element(i) << " = " << getIns()[i] << " : " << getIns()[i].getType();
  }
  p << ") outs(";
  llvm::interleaveComma(getOuts(), p, [&](Value v) { p << v << " : " << v.getType(); });
  p << ")";
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getOperandSegmentSizesAttrName()});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  Type i32 = parser.getBuilder().getI32Type(), f32 = parser.getBuilder().getF32Type();
  SmallVector<OpAsmParser::Argument> args;
  int32_t segments[4] = {1, 0, 0, 0};
  auto parseIndex = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand from;
    if (parser.parseLParen() || parser.parseOperand(from) || parser.parseKeyword("as") ||
        parser.parseArgument(args.emplace_back()) || parser.parseRParen())
      return failure();
    args.back().type = i32;
    return parser.resolveOperand(from, i32, state.operands);
  };
  auto parsePlace = [&](bool named) -> ParseResult {
    if (named && (parser.parseArgument(args.emplace_back()) || parser.parseEqual()))
      return failure();
    if (named)
      args.back().type = f32;
    ++segments[named ? 2 : 3];
    OpAsmParser::UnresolvedOperand place;
    Type type;
    return failure(parser.parseOperand(place) || parser.parseColonType(type) ||
                   parser.resolveOperand(place, type, state.operands));
  };
  if (parser.parseKeyword("rows") || parseIndex())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("cols"))) {
    segments[1] = 1;
    if (parseIndex())
      return failure();
  }
  if (parser.parseKeyword("ins") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     [&] { return parsePlace(true); }) ||
      parser.parseKeyword("outs") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     [&] { return parsePlace(false); }) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion(), args))
    return failure();
  state.addAttribute(getOperandSegmentSizesAttrName(state.name),
                     parser.getBuilder().getDenseI32ArrayAttr(segments));
  return success();
}

LogicalResult MapOp::verify() {
  if (getOuts().empty() || !llvm::all_equal(getOuts().getTypes()))
    return emitOpError("writes places of one type");
  bool overRows = isa<RowsType>(getOuts().front().getType());
  if (overRows != isOverRows())
    return emitOpError("has columns exactly where it writes fragments");
  if (getBodyBlock()->getNumArguments() != getIns().size() + (overRows ? 1 : 2))
    return emitOpError("has a block whose arguments do not match its operands");
  for (Value in : getIns())
    if (overRows && !isa<RowsType>(in.getType()))
      return emitOpError("reads a fragment where it writes row vectors");
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || yield.getValues().size() != getOuts().size())
    return emitOpError("yields one scalar for each place that it writes");
  return success();
}

LogicalResult PeekOp::verify() {
  if (!(*this)->getParentOfType<MapOp>())
    return emitOpError("is scalar code of a map");
  Type element = getTile().getType().getElement();
  if (getType() != attn::computeType(element))
    return emitOpError("reads ") << getType() << " from elements " << element;
  return success();
}

std::pair<int64_t, int64_t> CopyRowsOp::warps() {
  if (auto role = (*this)->getParentOfType<RoleOp>())
    return {role.getFirst(), role.getCount()};
  return {0, (*this)->getParentOfType<KernelOp>().getThreads() / 32};
}

std::pair<int64_t, int64_t> CopyRowsOp::turns() {
  int64_t ofWarp = llvm::divideCeil(getTile().getType().getRows(), warps().second);
  int64_t turns = llvm::divideCeil(ofWarp, 32);
  return {turns, llvm::divideCeil(ofWarp, turns)};
}

LogicalResult tile::verifyRowPlace(Operation *op, Block &rows, int64_t run, SharedType tile) {
  auto yield = dyn_cast<YieldOp>(rows.getTerminator());
  if (!yield || yield.getValues().size() < 2 || !yield.getValues()[0].getType().isInteger(64) ||
      !yield.getValues()[1].getType().isInteger(1))
    return op->emitOpError("yields an offset and whether there is such a row");
  ValueRange more = yield.getValues().drop_front(2);
  if (run == 0)
    return more.empty() ? success() : op->emitOpError("yields a place in a map, and has no run");
  if (!tile.hasPanels() || run < 8 || run % 8 || tile.getRows() % run || tile.getRows() / run > 32)
    return op->emitOpError("has a run of ")
           << run << " rows; it divides a tile with panels of " << tile.getRows()
           << ", into 32 parts at most, and is a multiple of 8";
  bool isPlace = more.size() > 1 && isa<TensorMapType>(more.front().getType()) &&
                 llvm::all_of(more.drop_front(), [](Value v) { return v.getType().isInteger(32); });
  return isPlace ? success() : op->emitOpError("yields no place in a tensor map for its run");
}

LogicalResult CopyRowsOp::verify() {
  if (failed(verifyRowPlace(*this, *getBodyBlock(), static_cast<int64_t>(getRun()),
                            getTile().getType())))
    return failure();
  if (getRun() && !getTile().getDefiningOp<StageOp>())
    return emitOpError("has a run, and fills no slot of a pipe");
  if (getBodyBlock()->getArgumentTypes() != TypeRange({getFirst().getType()}))
    return emitOpError("has a block with a row");
  if (getTile().getType().hasPanels() && getVectorBytes() != 16)
    return emitOpError("moves ") << static_cast<int64_t>(getVectorBytes())
                                 << " bytes at a time into a tile with panels, not 16";
  return verifyVector(*this, getVectorBytes(), getTile().getType().getElement());
}

LogicalResult TabulateOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || yield.getValues().size() != 1 || !yield.getValues().front().getType().isF32())
    return emitOpError("yields one f32");
  if (getBodyBlock()->getArgumentTypes() != TypeRange({getRows().getType(), getRows().getType()}))
    return emitOpError("has a block with a row and a column");
  return success();
}

// `, shared` or nothing: where what a pointer points to is.
static ParseResult parseSpace(AsmParser &parser, bool &shared) {
  shared = succeeded(parser.parseOptionalComma());
  return shared ? parser.parseKeyword("shared") : success();
}

static void printSpace(AsmPrinter &printer, bool shared) {
  if (shared)
    printer << ", shared";
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"
