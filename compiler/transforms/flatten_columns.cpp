#include "compiler/transforms/flatten_columns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using attnc::attn::MapOp;
using attnc::attn::ReadOp;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

using Dims = SmallVector<StringAttr>;

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

// Those of `dims` that the array has, in their order.
Dims common(Value array, ArrayRef<StringAttr> dims) {
  Dims some;
  llvm::copy_if(dims, std::back_inserter(some),
                [&](StringAttr d) { return arrayType(array).hasDim(d); });
  return some;
}

// In the order in which they lie in a tensor that has all of them, if one does.
Dims asStored(NestOp nest, const Dims &dims) {
  for (auto read : nest.getBodyBlock()->getOps<ReadOp>()) {
    Dims order;
    for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis)
      if (StringAttr dim = read.subscriptDim(axis); llvm::is_contained(dims, dim))
        order.push_back(dim);
    if (order.size() == dims.size())
      return order;
  }
  return dims;
}

// The inner dims of states that have several, each list once; nothing where two lists overlap.
std::optional<SmallVector<Dims>> columnDims(NestOp nest) {
  SmallVector<Dims> all;
  llvm::SmallDenseSet<StringAttr> seen;
  for (FoldOp state : nest.states()) {
    Dims dims = asStored(nest, common(state, attn::dimNames(nest.getInner())));
    if (dims.size() < 2 || llvm::is_contained(all, dims))
      continue;
    for (StringAttr dim : dims)
      if (!seen.insert(dim).second || !attn::programOf(nest).lookupDim(dim).isStatic())
        return std::nullopt;
    all.push_back(dims);
  }
  return all;
}

/// Puts one dim in the place of several.
class ColumnFlattener {
public:
  ColumnFlattener(NestOp nest, ArrayRef<StringAttr> dims)
      : nest(nest), program(attn::programOf(nest)), dims(dims), b(nest.getContext()) {}

  NestOp run() {
    addDim();
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    b.setInsertionPointToStart(nest.getBodyBlock());
    findIndices();
    for (OpOperand &operand : yield->getOpOperands())
      operand.set(flatten(operand.get()));
    for (FoldOp state : nest.states()) // also of one that is only a reference
      flatten(state);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*nest.getBodyBlock())))
      if (op.use_empty() && op.getNumResults() && has(op.getResult(0)))
        op.erase();
    return replaceNest(yield);
  }

private:
  bool has(Value array) { return !common(array, dims).empty(); }

  int64_t extentOf(StringAttr dim) { return program.lookupDim(dim).getExtent(); }

  void addDim() {
    std::string name;
    int64_t extent = 1;
    for (StringAttr dim : dims) {
      name += (name.empty() ? "" : "_") + dim.str();
      extent *= extentOf(dim);
    }
    while (program.lookupDim(b.getStringAttr(name)))
      name += "_";
    column = b.getStringAttr(name);
    auto all = llvm::to_vector(program.getDims());
    all.push_back(attn::DimAttr::get(b.getContext(), column, extent));
    program.setDimsAttr(b.getArrayAttr(all));
  }

  attn::ArrayType typeOf(ArrayRef<StringAttr> of, Type element) {
    return attn::ArrayType::get(b.getContext(), attn::canonicalDims(program, of), element);
  }

  Value index(StringAttr dim) {
    return attn::IndexOp::create(b, nest.getLoc(), typeOf(dim, b.getI64Type()), dim);
  }

  Value map(ValueRange arrays, function_ref<Value(OpBuilder &, ValueRange)> emit) {
    auto type = typeOf(attn::unionDims(program, llvm::to_vector(arrays)), b.getI64Type());
    return MapOp::create(b, nest.getLoc(), type, arrays,
                         [&](OpBuilder &inner, Location, ValueRange x) { return emit(inner, x); });
  }

  static Value constant(OpBuilder &inner, Location loc, int64_t value) {
    return arith::ConstantOp::create(inner, loc, inner.getI64IntegerAttr(value));
  }

  // The index along each of the dims, of the index along the one.
  void findIndices() {
    Value whole = index(column);
    int64_t behind = program.lookupDim(column).getExtent();
    for (StringAttr dim : dims) {
      behind /= extentOf(dim);
      Value along = map(whole, [&](OpBuilder &inner, ValueRange x) -> Value {
        Location loc = nest.getLoc();
        Value quotient = behind == 1 ? x[0]
                                     : arith::FloorDivSIOp::create(inner, loc, x[0],
                                                                   constant(inner, loc, behind));
        if (dim == dims.front())
          return quotient;
        return attn::ModOp::create(inner, loc, quotient, constant(inner, loc, extentOf(dim)));
      });
      at[dim] = along;
    }
  }

  // The dims with the one in the place of those that it stands for, last.
  Dims flatDims(ArrayRef<StringAttr> of) {
    Dims left;
    llvm::copy_if(of, std::back_inserter(left),
                  [&](StringAttr dim) { return !llvm::is_contained(dims, dim); });
    if (left.size() != of.size())
      left.push_back(column);
    return left;
  }

  // `value` with the one dim. What folds all of the dims that it takes is as it was.
  Value flatten(Value value) {
    if (!has(value) || value.getParentBlock() != nest.getBodyBlock())
      return value;
    if (Value known = flat.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      flatten(operand);
    b.setInsertionPointAfter(op);
    Value result = copy(op);
    flat.map(value, result);
    return result;
  }

  Value copy(Operation *op) {
    attn::ArrayType type = arrayType(op->getResult(0));
    if (auto index = dyn_cast<attn::IndexOp>(op))
      return at.lookup(index.getDimAttr());
    if (auto read = dyn_cast<ReadOp>(op))
      return readAt(read, flatDims(type.getDims()));
    Operation *made = b.clone(*op, flat);
    made->getResult(0).setType(typeOf(flatDims(type.getDims()), type.getElementType()));
    return made->getResult(0);
  }

  // The same read with other subscripts where it has one of the dims, in the nest at hand.
  Value readAt(ReadOp read, ArrayRef<StringAttr> of) {
    SmallVector<Attribute> names;
    SmallVector<Value> values;
    for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis) {
      StringAttr dim = read.subscriptDim(axis);
      Value value = dim ? at.lookup(dim) : flat.lookupOrDefault(read.subscriptValue(axis));
      names.push_back(value ? b.getStringAttr("") : dim);
      if (value)
        values.push_back(value);
    }
    return ReadOp::create(b, read.getLoc(), typeOf(of, read.getType().getElementType()),
                          read.getSource(), values, b.getArrayAttr(names), read.getOtherwiseAttr());
  }

  NestOp replaceNest(red::YieldOp yield) {
    SmallVector<Type> types;
    for (Value result : nest.getResults())
      types.push_back(attn::ArrayType::get(b.getContext(), flatDims(arrayType(result).getDims()),
                                           arrayType(result).getElementType()));
    b.setInsertionPoint(nest);
    Dims inner;
    for (StringAttr dim : attn::dimNames(nest.getInner()))
      if (!llvm::is_contained(dims, dim) || isUsed(dim))
        inner.push_back(dim);
    inner.push_back(column);
    std::unique_ptr<Region> domain;
    if (!nest.getDomain().empty()) {
      domain = std::make_unique<Region>();
      domain->takeBody(nest.getDomain().front());
    }
    auto made = NestOp::create(b, nest.getLoc(), types, attn::dimNames(nest.getGrid()),
                               attn::dimNames(nest.getRow()), attn::dimNames(nest.getStream()),
                               inner, std::move(domain));
    made.getBody().takeBody(nest.getBody());
    made->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    for (auto [old, result] : llvm::zip(nest.getResults(), made.getResults()))
      has(old) ? handOver(old, result) : old.replaceAllUsesWith(result);
    nest.erase();
    return made;
  }

  // True if a fold within the step has the dim, too.
  bool isUsed(StringAttr dim) {
    return llvm::any_of(nest.getBodyBlock()->without_terminator(), [&](Operation &op) {
      return op.getNumResults() == 1 && arrayType(op.getResult(0)).hasDim(dim);
    });
  }

  // Plain reads of the result take it as it is; it is stored once more for all others.
  void handOver(Value old, Value result) {
    Value stored;
    for (OpOperand &use : llvm::make_early_inc_range(old.getUses())) {
      auto read = dyn_cast<ReadOp>(use.getOwner());
      auto isPlain = [&](StringAttr dim) {
        for (auto [axis, of] : llvm::enumerate(arrayType(old).getDims()))
          if (of == dim)
            return read.subscriptDim(axis) && isa<NestOp>(read->getParentOp());
        return false;
      };
      if (read && llvm::all_of(dims, isPlain)) {
        b.setInsertionPoint(read);
        read.replaceAllUsesWith(readFlat(read, arrayType(old).getDims(), result));
        read.erase();
        continue;
      }
      if (!stored)
        stored = store(old, result);
      use.set(stored);
    }
  }

  // What `read` reads of a tensor with dims `of`, which lies flat now.
  Value readFlat(ReadOp read, ArrayRef<StringAttr> of, Value result) {
    llvm::DenseMap<StringAttr, StringAttr> along; // its own name of each of the dims
    SmallVector<Attribute> names;
    SmallVector<Value> values;
    for (auto [axis, dim] : llvm::enumerate(of)) {
      StringAttr name = read.subscriptDim(axis);
      if (llvm::is_contained(dims, dim)) {
        along[dim] = name;
        continue;
      }
      names.push_back(name ? name : b.getStringAttr(""));
      if (!name)
        values.push_back(read.subscriptValue(axis));
    }
    names.push_back(b.getStringAttr(""));
    values.push_back(combined([&](StringAttr dim) { return along.lookup(dim); }));
    return ReadOp::create(b, read.getLoc(), read.getType(), result, values, b.getArrayAttr(names),
                          read.getOtherwiseAttr());
  }

  // The index along the one dim, of those along others.
  Value combined(function_ref<StringAttr(StringAttr)> nameOf) {
    SmallVector<Value> along;
    for (StringAttr dim : dims)
      along.push_back(index(nameOf(dim)));
    return map(along, [&](OpBuilder &inner, ValueRange x) {
      Location loc = nest.getLoc();
      Value whole = x.front();
      for (auto [i, dim] : llvm::enumerate(ArrayRef(dims).drop_front())) {
        whole = arith::MulIOp::create(inner, loc, whole, constant(inner, loc, extentOf(dim)));
        whole = arith::AddIOp::create(inner, loc, whole, x[i + 1]);
      }
      return whole;
    });
  }

  Value store(Value old, Value result) {
    b.setInsertionPointAfter(result.getDefiningOp());
    Dims of(arrayType(old).getDims());
    auto own = NestOp::create(b, old.getLoc(), old.getType(), of, Dims(), Dims(), Dims());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(own.getBodyBlock());
    SmallVector<Attribute> names;
    for (StringAttr dim : arrayType(result).getDims())
      names.push_back(dim == column ? b.getStringAttr("") : dim);
    Value whole = combined([](StringAttr dim) { return dim; });
    auto type = typeOf(of, arrayType(old).getElementType());
    Value read =
        ReadOp::create(b, old.getLoc(), type, result, whole, b.getArrayAttr(names), FloatAttr());
    red::YieldOp::create(b, old.getLoc(), read);
    return own.getResult(0);
  }

  NestOp nest;
  attn::ProgramOp program;
  Dims dims;
  StringAttr column;
  OpBuilder b;
  llvm::DenseMap<StringAttr, Value> at; // by dim
  IRMapping flat;
};

} // namespace

bool hasSeveralColumnDims(NestOp nest) {
  std::optional<SmallVector<Dims>> all = columnDims(nest);
  if (!all || all->empty())
    return false;
  return llvm::all_of(*all, [&](const Dims &dims) {
    auto foldsSome = [&](FoldOp fold) {
      return !common(fold, dims).empty() &&
             llvm::any_of(attn::dimNames(fold.getDims()),
                          [&](StringAttr dim) { return llvm::is_contained(dims, dim); });
    };
    auto hasSome = [&](Value result) {
      size_t some = common(result, dims).size();
      return some && some < dims.size();
    };
    return llvm::none_of(nest.getBodyBlock()->getOps<FoldOp>(), foldsSome) &&
           llvm::none_of(nest.getResults(), hasSome) && llvm::none_of(nest.states(), hasSome);
  });
}

NestOp flattenColumns(NestOp nest) {
  SmallVector<Dims> all = *columnDims(nest);
  for (const Dims &dims : all)
    nest = ColumnFlattener(nest, dims).run();
  return nest;
}

} // namespace attnc
