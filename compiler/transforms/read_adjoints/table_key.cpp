#include "compiler/transforms/read_adjoints/table_key.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

/// What an array that varies is computed from by maps.
static llvm::SetVector<Value> varyingLeaves(Value array) {
  llvm::SetVector<Value> reached, leaves;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i)
    if (auto map = reached[i].getDefiningOp<MapOp>())
      reached.insert(map->operand_begin(), map->operand_end());
    else if (!dimsOf(reached[i]).empty())
      leaves.insert(reached[i]);
  return leaves;
}

static bool readTheSamePlace(ReadOp x, ReadOp y) {
  return x.getSource().getType().getDims() == y.getSource().getType().getDims() &&
         x.getSubscripts() == y.getSubscripts() && llvm::equal(x.getIndices(), y.getIndices());
}

std::optional<TableKey> TableKey::of(Value subscript) {
  TableKey key(subscript);
  for (Value leaf : varyingLeaves(subscript)) {
    auto read = leaf.getDefiningOp<ReadOp>();
    if (!read || !read.getSource().getDefiningOp<InputOp>() || !isa<IntegerType>(elementOf(leaf)) ||
        (!key.reads.empty() && !readTheSamePlace(read, key.reads.front())))
      return std::nullopt;
    key.reads.push_back(read);
  }
  return key.reads.empty() ? std::nullopt : std::optional(key);
}

StringRef TableKey::tableName() const {
  return ReadOp(reads.front()).getSource().getDefiningOp<InputOp>().getName();
}

/// `array` with other leaves that vary.
static Value withLeaves(ArrayBuilder &arrays, Value array,
                        llvm::function_ref<Value(ReadOp)> replace) {
  if (dimsOf(array).empty())
    return array;
  if (auto read = array.getDefiningOp<ReadOp>())
    return replace(read);
  auto map = array.getDefiningOp<MapOp>();
  if (!map)
    return array;
  IRMapping mapping;
  SmallVector<Value> operands;
  for (Value operand : map.getOperands()) {
    operands.push_back(withLeaves(arrays, operand, replace));
    mapping.map(operand, operands.back());
  }
  auto copy = cast<MapOp>(arrays.builder().clone(*map, mapping));
  copy.getResult().setType(attn::ArrayType::get(
      map.getContext(), unionDims(arrays.programOp(), operands), map.getType().getElementType()));
  return copy;
}

Value TableKey::along(ArrayBuilder &arrays, ArrayRef<StringAttr> dims) const {
  return withLeaves(arrays, subscript, [&](ReadOp read) -> Value {
    OpBuilder &b = arrays.builder();
    SmallVector<Attribute> names(dims.begin(), dims.end());
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(arrays.programOp(), dims),
                                     read.getType().getElementType());
    return ReadOp::create(b, arrays.location(), type, read.getSource(), ValueRange(),
                          b.getArrayAttr(names), read.getOtherwiseAttr());
  });
}

bool TableKey::hasKeyOutside() const {
  return llvm::any_of(reads, [&](ReadOp read) {
    auto otherwise = read.getOtherwise();
    return otherwise && !(read.getResult() == subscript && otherwise->isNegative());
  });
}

Value TableKey::outside(ArrayBuilder &arrays) const {
  return withLeaves(arrays, subscript, [&](ReadOp read) -> Value {
    auto otherwise = read.getOtherwise();
    int64_t number = otherwise ? static_cast<int64_t>(otherwise->convertToDouble()) : 0;
    Type integer = elementOf(read);
    return arrays.map({}, integer, [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
      return arith::ConstantOp::create(b, b.getIntegerAttr(integer, number));
    });
  });
}

} // namespace attnc
