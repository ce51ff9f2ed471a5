// How a map is made, printed and parsed; AttnDialect.cpp verifies it.
#include "dialects/Attn/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

namespace attnc::attn {

void MapOp::build(OpBuilder &builder, OperationState &state, Type result, ValueRange operands) {
  state.addOperands(operands);
  state.addTypes(result);
  Block &block = state.addRegion()->emplaceBlock();
  for (Value operand : operands)
    block.addArgument(cast<ArrayType>(operand.getType()).getElementType(), operand.getLoc());
}

void MapOp::build(OpBuilder &builder, OperationState &state, Type result, ValueRange operands,
                  function_ref<Value(OpBuilder &, Location, ValueRange)> emit) {
  build(builder, state, result, operands);
  OpBuilder::InsertionGuard guard(builder);
  Block &block = state.regions.front()->front();
  builder.setInsertionPointToStart(&block);
  Value value = emit(builder, state.location, block.getArguments());
  YieldOp::create(builder, state.location, value);
}

Value MapOp::getYielded() { return cast<YieldOp>(getBodyBlock()->getTerminator()).getValue(); }

void MapOp::print(OpAsmPrinter &p) {
  p << " (";
  llvm::interleaveComma(llvm::zip(getBodyBlock()->getArguments(), getOperands()), p,
                        [&](auto pair) {
                          auto [scalar, operand] = pair;
                          p << scalar << " = " << operand << " : " << operand.getType();
                        });
  p << ") -> " << getType();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> scalars;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  auto parseOne = [&]() -> ParseResult {
    Type type;
    if (parser.parseArgument(scalars.emplace_back()) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) || parser.parseColonType(type))
      return failure();
    auto array = dyn_cast<ArrayType>(type);
    if (!array)
      return parser.emitError(parser.getCurrentLocation(), "expected an array type");
    types.push_back(type);
    scalars.back().type = array.getElementType();
    return success();
  };
  Type result;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne) ||
      parser.parseArrow() || parser.parseType(result) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperands(operands, types, parser.getNameLoc(), state.operands))
    return failure();
  state.addTypes(result);
  return parser.parseRegion(*state.addRegion(), scalars);
}

} // namespace attnc::attn
