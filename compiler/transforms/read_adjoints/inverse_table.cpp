#include "compiler/transforms/read_adjoints/inverse_table.h"
#include "compiler/transforms/analysis/extent_cost.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

using Compare = arith::CmpIPredicate;

/// The elements of a table in the order of their keys.
class InverseTable {
public:
  InverseTable(ArrayBuilder &arrays, const TableKey &key, ArrayRef<StringAttr> dims,
               ArrayRef<StringAttr> entries)
      : arrays(arrays), table(key.tableName()), entries(entries), key(key.along(arrays, dims)),
        place(arrays.scratchDim(entries)), others(addOthers()),
        otherKey(key.along(arrays, inOthers(dims))) {
    Value rank = count(comesBefore(), others, "_rank");
    Value isHere = compare(Compare::eq, rank, arrays.index(place));
    for (StringAttr dim : entries)
      element[dim] = sumWhere(isHere, arrays.index(dim), entries, "_order");
  }

  /// For each index along `axis` the sum over the places that its elements have in that order.
  Value sum(StringAttr axis, Value gradient) {
    Value index = arrays.index(axis), at = arrays.index(place);
    Value first = count(compare(Compare::slt, key, index), entries, "_first");
    Value end = count(compare(Compare::sle, key, index), entries, "_end");
    llvm::DenseMap<StringAttr, Value> subscripts;
    for (StringAttr dim : entries)
      if (llvm::is_contained(dimsOf(gradient), dim))
        subscripts[dim] = element.lookup(dim);
    Value ordered = arrays.read(gradient, subscripts);
    Value isOwn = both(compare(Compare::sle, first, at), compare(Compare::slt, at, end));
    return arrays.sum(arrays.where(isOwn, ordered), place);
  }

private:
  Dims addOthers() {
    return llvm::map_to_vector(entries, [&](StringAttr dim) { return arrays.scratchDim(dim); });
  }

  Dims inOthers(ArrayRef<StringAttr> dims) {
    return llvm::map_to_vector(dims, [&](StringAttr dim) {
      auto entry = llvm::find(entries, dim);
      return entry == entries.end() ? dim : others[entry - entries.begin()];
    });
  }

  /// An element comes before another if its key is smaller, or if it is so by its indices.
  Value comesBefore() {
    Value before = constant(false);
    for (auto [dim, other] : llvm::reverse(llvm::zip_equal(entries, others)))
      before = precedes(arrays.index(other), arrays.index(dim), before);
    return precedes(otherKey, key, before);
  }

  /// x < y, or they are equal and `otherwise` holds.
  Value precedes(Value x, Value y, Value otherwise) {
    return arrays.map({x, y, otherwise}, arrays.builder().getI1Type(),
                      [](ImplicitLocOpBuilder &b, ValueRange s) -> Value {
                        Value less = arith::CmpIOp::create(b, Compare::slt, s[0], s[1]);
                        Value equal = arith::CmpIOp::create(b, Compare::eq, s[0], s[1]);
                        Value tie = arith::AndIOp::create(b, equal, s[2]);
                        return arith::OrIOp::create(b, less, tie);
                      });
  }

  Value constant(bool value) {
    return arrays.map({}, arrays.builder().getI1Type(),
                      [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                        return arith::ConstantOp::create(b, b.getBoolAttr(value));
                      });
  }

  Value compare(Compare predicate, Value x, Value y) {
    return arrays.map({x, y}, arrays.builder().getI1Type(),
                      [&](ImplicitLocOpBuilder &b, ValueRange s) -> Value {
                        return arith::CmpIOp::create(b, predicate, s[0], s[1]);
                      });
  }

  Value both(Value x, Value y) {
    return arrays.map({x, y}, arrays.builder().getI1Type(),
                      [&](ImplicitLocOpBuilder &b, ValueRange s) -> Value {
                        return arith::AndIOp::create(b, s[0], s[1]);
                      });
  }

  /// Arrays of the inverse are called after the table.
  Value sumWhere(Value condition, Value integer, ArrayRef<StringAttr> over, StringRef name) {
    Location loc = arrays.location();
    arrays.setLocation(renamed(loc, (table + name).str()));
    Value sum = arrays.reduce(ReduceKind::Add, arrays.where(condition, integer), over);
    arrays.setLocation(loc);
    return sum;
  }

  Value count(Value condition, ArrayRef<StringAttr> over, StringRef name) {
    Value one = arrays.map({}, arrays.builder().getI64Type(),
                           [](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                             return arith::ConstantOp::create(b, b.getI64IntegerAttr(1));
                           });
    return sumWhere(condition, one, over, name);
  }

  ArrayBuilder &arrays;
  StringRef table;
  ArrayRef<StringAttr> entries;
  Value key;
  StringAttr place; // a dim along which each element has one index
  Dims others;      // the same dims again, to compare each element with each
  Value otherKey;
  llvm::DenseMap<StringAttr, Value> element; // the index along an entry's dim, by place
};

double extentsOf(ArrayBuilder &arrays, ArrayRef<StringAttr> dims) {
  double product = 1;
  for (StringAttr dim : dims)
    product *= referenceExtent(arrays.programOp(), dim);
  return product;
}

} // namespace

Value sumByKey(ArrayBuilder &arrays, const TableKey &key, ArrayRef<StringAttr> dims,
               ArrayRef<StringAttr> entries, StringAttr axis, Value gradient) {
  // Work for one index along the dims that are neither summed nor part of what is stored.
  double elements = extentsOf(arrays, entries), indices = extentsOf(arrays, axis);
  double row = extentsOf(arrays, without(dimsOf(gradient), dims));
  double ordered = 2 * elements * (elements + indices) + elements * row;
  if (!entries.empty() && ordered < indices * elements * row)
    return InverseTable(arrays, key, dims, entries).sum(axis, gradient);
  Value isOwn = arrays.equal(key.along(arrays, dims), arrays.index(axis));
  return arrays.sum(arrays.where(isOwn, gradient), entries);
}

} // namespace attnc
