#include "compiler/transforms/read_adjoints/table_adjoint.h"
#include "compiler/transforms/analysis/extent_cost.h"
#include "compiler/transforms/read_adjoints/inverse_table.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// The largest number of dynamic dims that a tensor of the program has.
unsigned largestDegree(ProgramOp program) {
  unsigned largest = 0;
  auto take = [&](ArrayRef<StringAttr> dims) {
    largest = std::max(largest, ExtentCost(program, dims).getDegree());
  };
  for (Operation &op : *program.getBodyBlock())
    if (auto output = dyn_cast<OutputOp>(op))
      take(dimNames(output.getDims()));
    else if (isa<InputOp>(op))
      take(dimsOf(op.getResult(0)));
  return largest;
}

class TableAdjoint {
public:
  TableAdjoint(ArrayBuilder &arrays, const Access &access, const Subscript &keyed, TableKey key)
      : arrays(arrays), access(access), axis(keyed.axis), key(std::move(key)) {
    takeOthers();
    takeTable();
  }

  bool isLarge() const {
    ProgramOp program = arrays.programOp();
    return ExtentCost(program, composed.axes()).getDegree() > largestDegree(program);
  }

  Value run(Value gradient) {
    Value ofElements = adjointOfAccess(arrays, composed, gradient);
    Value sum = sumByKey(arrays, key, dims, entries, axis, ofElements);
    return key.hasKeyOutside() && outside ? arrays.add(sum, ofOutside(gradient)) : sum;
  }

private:
  /// Those of the source but for the one that the table gives.
  void takeOthers() {
    composed.places = access.places;
    for (const Subscript &subscript : access.subscripts)
      if (subscript.axis != axis)
        composed.subscripts.push_back(subscript);
  }

  /// Those of the table. One that is read along a dim of both is there already.
  void takeTable() {
    for (auto [dim, value] : key.access(arrays).subscripts) {
      auto index = value ? value.getDefiningOp<IndexOp>() : IndexOp();
      StringAttr along = index ? index.getDimAttr() : value ? StringAttr() : dim;
      if (along && access.isPlain(along)) {
        dims.push_back(along);
        continue;
      }
      bool isTaken = llvm::is_contained(access.axes(), dim) || llvm::is_contained(dims, dim);
      entries.push_back(isTaken ? arrays.addDim(dim) : dim);
      dims.push_back(entries.back());
      bool isPlain = !value && !isTaken;
      Value at = value ? value : arrays.index(dim);
      composed.subscripts.push_back({entries.back(), isPlain ? Value() : at});
      if (value)
        addOutside(isWithin(arrays, value, dim));
    }
  }

  void addOutside(Value within) {
    SmallVector<Value> conditions = {within};
    if (outside)
      conditions.push_back(outside);
    outside = arrays.map(conditions, arrays.builder().getI1Type(),
                         [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                           Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
                           Value beyond = arith::XOrIOp::create(b, x[0], yes);
                           return x.size() == 1 ? beyond : arith::OrIOp::create(b, beyond, x[1]);
                         });
  }

  /// Of places that read beside the table, whose key is one for all.
  Value ofOutside(Value gradient) {
    Access beside = access;
    for (Subscript &subscript : beside.subscripts)
      if (subscript.axis == axis)
        subscript.value = key.outside(arrays);
    return adjointOfAccess(arrays, beside, arrays.where(outside, gradient));
  }

  ArrayBuilder &arrays;
  const Access &access;
  StringAttr axis; // that the table gives
  TableKey key;
  Access composed;    // of the array that has the table's axes in the place of that one
  Dims dims, entries; // the names of the table's axes there; those that the source has not
  Value outside;      // i1: a place reads beside the table; may be null
};

} // namespace

Value adjointThroughTable(ArrayBuilder &arrays, const Access &access, Value gradient) {
  std::optional<TableKey> key;
  const Subscript *keyed = nullptr;
  for (const Subscript &subscript : access.subscripts)
    if (std::optional<TableKey> found =
            subscript.value ? TableKey::of(subscript.value) : std::nullopt) {
      if (keyed)
        return {};
      keyed = &subscript;
      key = found;
    }
  if (!keyed)
    return {};
  TableAdjoint adjoint(arrays, access, *keyed, *key);
  return adjoint.isLarge() ? Value() : adjoint.run(gradient);
}

} // namespace attnc
