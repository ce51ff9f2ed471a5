#include "dialects/Attn/Attn.h"
#include "dialects/Attn/ScalarProperties.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attnc::attn;

#include "dialects/Attn/AttnDialect.cpp.inc"
#include "dialects/Attn/AttnEnums.cpp.inc"

void AttnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Attn/AttnTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Attn/AttnOps.cpp.inc"
      >();
  getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
  attachScalarProperties(*getContext());
}

//===----------------------------------------------------------------------===//
// Names of dims
//===----------------------------------------------------------------------===//

namespace attnc::attn {

// Dim names are identifiers of the spec in any script; those that are not bare words are quoted.
static void printDim(AsmPrinter &p, StringAttr dim) { p.printKeywordOrString(dim.getValue()); }

static FailureOr<StringAttr> parseDim(AsmParser &parser) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  return StringAttr::get(parser.getContext(), name);
}

static ParseResult parseDimList(AsmParser &parser, SmallVectorImpl<StringAttr> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    FailureOr<StringAttr> dim = parseDim(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  });
}

void printDimNames(OpAsmPrinter &p, Operation *, ArrayAttr dims) {
  p << "[";
  llvm::interleaveComma(dims.getAsRange<StringAttr>(), p, [&](StringAttr d) { printDim(p, d); });
  p << "]";
}

ParseResult parseDimNames(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<StringAttr> names;
  if (parseDimList(parser, names))
    return failure();
  dims = ArrayAttr::get(parser.getContext(), {names.begin(), names.end()});
  return success();
}

SmallVector<StringAttr> dimNames(ArrayAttr dims) {
  auto range = dims.getAsRange<StringAttr>();
  return {range.begin(), range.end()};
}

ProgramOp programOf(Operation *op) {
  return isa<ProgramOp>(op) ? cast<ProgramOp>(op) : op->getParentOfType<ProgramOp>();
}

SmallVector<StringAttr> canonicalDims(ProgramOp program, ArrayRef<StringAttr> dims) {
  llvm::SetVector<StringAttr> set(dims.begin(), dims.end());
  SmallVector<StringAttr> sorted(set.begin(), set.end());
  llvm::sort(sorted, [&](StringAttr a, StringAttr b) {
    return program.dimPosition(a) < program.dimPosition(b);
  });
  return sorted;
}

SmallVector<StringAttr> unionDims(ProgramOp program, ValueRange arrays) {
  SmallVector<StringAttr> all;
  for (Value array : arrays)
    llvm::append_range(all, cast<ArrayType>(array.getType()).getDims());
  return canonicalDims(program, all);
}

Type computeType(Type storage) {
  if (storage.isInteger(1))
    return storage;
  if (isa<IntegerType>(storage))
    return IntegerType::get(storage.getContext(), 64);
  return storage.isF64() ? storage : Float32Type::get(storage.getContext());
}

} // namespace attnc::attn

static void printDimName(OpAsmPrinter &p, Operation *, StringAttr dim) { printDim(p, dim); }

static ParseResult parseDimName(OpAsmParser &parser, StringAttr &dim) {
  FailureOr<StringAttr> parsed = parseDim(parser);
  if (failed(parsed))
    return failure();
  dim = *parsed;
  return success();
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

Type ArrayType::parse(AsmParser &parser) {
  SmallVector<StringAttr> dims;
  Type element;
  if (parser.parseLess() || parseDimList(parser, dims) || parser.parseComma() ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  return get(parser.getContext(), dims, element);
}

void ArrayType::print(AsmPrinter &p) const {
  p << "<[";
  llvm::interleaveComma(getDims(), p, [&](StringAttr d) { printDim(p, d); });
  p << "], " << getElementType() << ">";
}

static FailureOr<DimAttr> parseDimAttr(AsmParser &parser) {
  FailureOr<StringAttr> name = parseDim(parser);
  if (failed(name))
    return failure();
  int64_t extent = ShapedType::kDynamic;
  if (succeeded(parser.parseOptionalEqual()) && parser.parseInteger(extent))
    return failure();
  return DimAttr::get(parser.getContext(), *name, extent);
}

static void printDimAttr(AsmPrinter &p, DimAttr dim) {
  printDim(p, dim.getName());
  if (dim.isStatic())
    p << " = " << dim.getExtent();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimAttr> dim = parseDimAttr(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimAttr::print(AsmPrinter &p) const {
  p << "<";
  printDimAttr(p, *this);
  p << ">";
}

//===----------------------------------------------------------------------===//
// attn.program
//===----------------------------------------------------------------------===//

static void printProgramDims(OpAsmPrinter &p, Operation *, ArrayAttr dims) {
  p << "[";
  llvm::interleaveComma(dims.getAsRange<DimAttr>(), p, [&](DimAttr d) { printDimAttr(p, d); });
  p << "]";
}

static ParseResult parseProgramDims(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> list;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<DimAttr> dim = parseDimAttr(parser);
    if (failed(dim))
      return failure();
    list.push_back(*dim);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  dims = ArrayAttr::get(parser.getContext(), list);
  return success();
}

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                      ArrayRef<DimAttr> dims) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getDimsAttrName(state.name), builder.getArrayAttr({dims.begin(), dims.end()}));
  state.addRegion()->emplaceBlock();
}

DimAttr ProgramOp::lookupDim(StringAttr name) {
  for (DimAttr dim : getDims().getAsRange<DimAttr>())
    if (dim.getName() == name)
      return dim;
  return {};
}

int64_t ProgramOp::dimPosition(StringAttr name) {
  for (auto [i, dim] : llvm::enumerate(getDims().getAsRange<DimAttr>()))
    if (dim.getName() == name)
      return i;
  return -1;
}

LogicalResult ProgramOp::verify() {
  llvm::SmallDenseSet<StringAttr> seen;
  for (DimAttr dim : getDims().getAsRange<DimAttr>()) {
    if (!seen.insert(dim.getName()).second)
      return emitOpError("lists dim '") << dim.getName().getValue() << "' twice";
    if (dim.isStatic() && dim.getExtent() < 1)
      return emitOpError("dim '") << dim.getName().getValue() << "' has extent " << dim.getExtent()
                                  << ", which is not positive";
  }
  WalkResult result = getBody().walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      auto array = dyn_cast<ArrayType>(type);
      if (!array)
        continue;
      for (StringAttr dim : array.getDims())
        if (!seen.contains(dim))
          return op->emitOpError("has dim '")
                 << dim.getValue() << "', which the program does not list";
      if (!op->hasTrait<StoresResults>() &&
          canonicalDims(*this, array.getDims()) != array.getDims())
        return op->emitOpError("lists dims of its result out of the program's order");
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Verification of the array ops
//===----------------------------------------------------------------------===//

static LogicalResult verifyScalarOfDim(Operation *op, ArrayType type, StringAttr dim,
                                       bool overDim) {
  if (!type.getElementType().isInteger(64))
    return op->emitOpError("yields i64");
  ArrayRef<StringAttr> dims = type.getDims();
  bool fits = overDim ? dims.size() == 1 && dims[0] == dim : dims.empty();
  return fits ? success() : op->emitOpError("has a result with the wrong dims");
}

LogicalResult SizeOp::verify() { return verifyScalarOfDim(*this, getType(), getDimAttr(), false); }
LogicalResult IndexOp::verify() { return verifyScalarOfDim(*this, getType(), getDimAttr(), true); }

LogicalResult ExtentOp::verify() {
  ArrayType type = getValue().getType();
  if (!type.getElementType().isInteger(64))
    return emitOpError("takes an i64 array");
  DimAttr dim = programOf(*this).lookupDim(getDimAttr());
  if (!dim || type.hasDim(getDimAttr()) || (type.isScalar() && dim.isStatic()))
    return emitOpError("is not of a dynamic dim of the program");
  return success();
}

LogicalResult ParamOp::verify() {
  if (!getType().isScalar())
    return emitOpError("is a scalar");
  if (getDefaultValue() && getDefaultValue().getType() != getType())
    return emitOpError("has a default of another type");
  return success();
}

static LogicalResult verifyUnion(Operation *op, ArrayRef<StringAttr> expected, ArrayType result) {
  llvm::SmallDenseSet<StringAttr> want(expected.begin(), expected.end());
  llvm::SmallDenseSet<StringAttr> have(result.getDims().begin(), result.getDims().end());
  if (want != have || have.size() != result.getDims().size())
    return op->emitOpError("has a result whose dims are not those of its operands");
  return success();
}

Value ReadOp::subscriptValue(unsigned axis) {
  unsigned position = 0;
  for (unsigned i = 0; i < axis; ++i)
    position += cast<StringAttr>(getSubscripts()[i]).empty();
  return cast<StringAttr>(getSubscripts()[axis]).empty() ? getIndices()[position] : Value();
}

StringAttr ReadOp::subscriptDim(unsigned axis) {
  auto name = cast<StringAttr>(getSubscripts()[axis]);
  return name.empty() ? StringAttr() : name;
}

LogicalResult ReadOp::verify() {
  auto source = getSource().getType();
  if (getSubscripts().size() != source.getDims().size())
    return emitOpError("has ") << getSubscripts().size() << " subscripts for an array of rank "
                               << source.getDims().size();
  unsigned values = llvm::count_if(getSubscripts().getAsRange<StringAttr>(),
                                   [](StringAttr s) { return s.empty(); });
  if (values != getIndices().size())
    return emitOpError("has subscripts that do not match its index operands");
  SmallVector<StringAttr> dims;
  for (StringAttr name : getSubscripts().getAsRange<StringAttr>())
    if (!name.empty())
      dims.push_back(name);
  for (Value index : getIndices()) {
    auto type = cast<ArrayType>(index.getType());
    if (!type.getElementType().isInteger(64))
      return emitOpError("has a subscript that is not an i64 array");
    llvm::append_range(dims, type.getDims());
  }
  if (getType().getElementType() != computeType(source.getElementType()))
    return emitOpError("yields ") << computeType(source.getElementType());
  return verifyUnion(*this, dims, getType());
}

LogicalResult MapOp::verify() {
  Block *block = getBodyBlock();
  if (block->getNumArguments() != getNumOperands())
    return emitOpError("has ") << block->getNumArguments() << " scalars for " << getNumOperands()
                               << " operands";
  SmallVector<StringAttr> dims;
  for (auto [operand, scalar] : llvm::zip(getOperands(), block->getArguments())) {
    auto type = cast<ArrayType>(operand.getType());
    if (type.getElementType() != scalar.getType())
      return emitOpError("has a scalar whose type is not its operand's element type");
    llvm::append_range(dims, type.getDims());
  }
  auto yield = dyn_cast<YieldOp>(block->getTerminator());
  if (!yield || yield.getValue().getType() != getType().getElementType())
    return emitOpError("must end with an attn.yield of its element type");
  for (Operation &op : block->without_terminator())
    if (!isa<arith::ArithDialect, math::MathDialect>(op.getDialect()) &&
        !isa<SubOp, ModOp, RandOp, ScalarProperties>(op))
      return op.emitOpError("is not a scalar operation");
  return verifyUnion(*this, dims, getType());
}

static LogicalResult verifyReduction(Operation *op, ArrayAttr dims, ArrayType operand) {
  llvm::SmallDenseSet<StringAttr> seen;
  if (dims.empty())
    return op->emitOpError("reduces over no dim");
  for (StringAttr dim : dims.getAsRange<StringAttr>()) {
    if (!operand.hasDim(dim))
      return op->emitOpError("reduces over dim '")
             << dim.getValue() << "', which its operand has not";
    if (!seen.insert(dim).second)
      return op->emitOpError("reduces twice over dim '") << dim.getValue() << "'";
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  auto operand = getOperand().getType();
  if (failed(verifyReduction(*this, getDims(), operand)))
    return failure();
  bool logical = getKind() == ReduceKind::And || getKind() == ReduceKind::Or;
  if (logical != operand.getElementType().isInteger(1) ||
      operand.getElementType() != getType().getElementType())
    return emitOpError("has an element type that does not fit its kind");
  SmallVector<StringAttr> kept;
  for (StringAttr dim : operand.getDims())
    if (!llvm::is_contained(getDims(), dim))
      kept.push_back(dim);
  return verifyUnion(*this, kept, getType());
}

LogicalResult SoftmaxOp::verify() {
  if (getType() != getOperand().getType() || !isa<FloatType>(getType().getElementType()))
    return emitOpError("keeps the type of its operand, a float array");
  return verifyReduction(*this, getDims(), getOperand().getType());
}

LogicalResult OutputOp::verify() {
  SmallVector<StringAttr> dims = dimNames(getDims());
  if (getType() != getValue().getType().getElementType() &&
      computeType(getType()) != getValue().getType().getElementType())
    return emitOpError("stores a ")
           << getValue().getType().getElementType() << " array as " << getType();
  return verifyUnion(*this, dims, getValue().getType());
}

//===----------------------------------------------------------------------===//
// Subscripts: plain dims by name, computed ones by value
//===----------------------------------------------------------------------===//

static void printSubscripts(OpAsmPrinter &p, Operation *, OperandRange indices,
                            ArrayAttr subscripts) {
  auto index = indices.begin();
  p << "[";
  llvm::interleaveComma(subscripts.getAsRange<StringAttr>(), p, [&](StringAttr name) {
    if (name.empty())
      p << *index++;
    else
      printDim(p, name);
  });
  p << "]";
}

static ParseResult parseSubscripts(OpAsmParser &parser,
                                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
                                   ArrayAttr &subscripts) {
  SmallVector<Attribute> names;
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult value = parser.parseOptionalOperand(operand);
    if (value.has_value()) {
      indices.push_back(operand);
      names.push_back(StringAttr::get(parser.getContext(), ""));
      return *value;
    }
    FailureOr<StringAttr> dim = parseDim(parser);
    if (failed(dim))
      return failure();
    names.push_back(*dim);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  subscripts = ArrayAttr::get(parser.getContext(), names);
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  auto lhs = dyn_cast_or_null<FloatAttr>(adaptor.getLhs());
  auto rhs = dyn_cast_or_null<FloatAttr>(adaptor.getRhs());
  if (rhs && rhs.getValue().isZero() && !rhs.getValue().isNegative())
    return getLhs();
  if (!lhs || !rhs)
    return {};
  if (lhs.getValue().isInfinity() && lhs.getValue().isNegative())
    return lhs;
  return FloatAttr::get(lhs.getType(), lhs.getValue() - rhs.getValue());
}

#define GET_TYPEDEF_CLASSES
#include "dialects/Attn/AttnTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Attn/AttnAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Attn/AttnOps.cpp.inc"
