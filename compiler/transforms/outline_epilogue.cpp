#include "compiler/transforms/outline_epilogue.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

bool isEpilogueFold(NestOp nest, Operation &op) {
  auto fold = dyn_cast<FoldOp>(op);
  return fold && !llvm::is_contained(nest.states(), fold) && nest.dependsOnState(fold);
}

class EpilogueOutliner {
public:
  explicit EpilogueOutliner(NestOp nest) : nest(nest), program(attn::programOf(nest)), b(nest) {}

  void run() {
    findLate();
    findStored();
    NestOp kept = storeMore();
    b.setInsertionPointAfter(kept);
    for (FoldOp fold : kept.getBodyBlock()->getOps<FoldOp>())
      if (late.contains(fold)) // in order: one may be computed from another
        stored[fold] = makeNest(fold, attn::dimNames(fold.getDims()), fold.getType());
    for (auto [value, old] : replaced)
      old.replaceAllUsesWith(makeNest(value, {}, old.getType()));
    nest.erase();
    eraseUnused(kept);
  }

  static void eraseUnused(NestOp kept) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*kept.getBodyBlock())))
      if (op.use_empty() && !isa<red::YieldOp>(op))
        op.erase();
  }

private:
  // The folds of the epilogue and what is computed from them.
  void findLate() {
    for (Operation &op : nest.getBodyBlock()->without_terminator())
      if (isEpilogueFold(nest, op) ||
          llvm::any_of(op.getOperands(), [&](Value v) { return late.contains(v.getDefiningOp()); }))
        late.insert(&op);
  }

  // What late ops read of the epilogue; maps of what is read anyway become late themselves.
  void findStored() {
    for (Operation &op : llvm::reverse(nest.getBodyBlock()->without_terminator())) {
      bool readByLate =
          llvm::any_of(op.getUsers(), [&](Operation *user) { return late.contains(user); });
      if (late.contains(&op) || !readByLate || !nest.dependsOnState(op.getResult(0)))
        continue;
      if (isMapOfRead(op))
        late.insert(&op);
      else
        needed.insert(op.getResult(0));
    }
  }

  bool isMapOfRead(Operation &op) {
    return isa<attn::MapOp>(op) && !llvm::is_contained(yield().getValues(), op.getResult(0)) &&
           llvm::all_of(op.getOperands(), [&](Value operand) {
             return !nest.dependsOnState(operand) ||
                    llvm::any_of(operand.getUsers(), [&](Operation *user) {
                      return user != &op && late.contains(user);
                    });
           });
  }

  red::YieldOp yield() { return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()); }

  static bool isOutput(Value result) {
    return llvm::any_of(result.getUsers(), llvm::IsaPred<attn::OutputOp>);
  }

  // The nest with results for what is needed, and without those that are late.
  NestOp storeMore() {
    SmallVector<Value> yielded;
    SmallVector<Value> kept;
    SmallVector<Type> types;
    for (auto [value, result] : llvm::zip(yield().getValues(), nest.getResults()))
      if (late.contains(value.getDefiningOp())) {
        replaced.push_back({value, result});
      } else {
        yielded.push_back(value);
        kept.push_back(result);
        types.push_back(result.getType());
      }
    // An output is not read again: its elements may have another type, and another layout.
    llvm::SmallDenseMap<Value, size_t> numbers;
    for (auto [number, value] : llvm::enumerate(yielded))
      if (!isOutput(kept[number]))
        numbers.try_emplace(value, number);
    for (Value value : needed)
      if (numbers.try_emplace(value, yielded.size()).second) {
        yielded.push_back(value);
        types.push_back(value.getType());
      }
    std::unique_ptr<Region> domain;
    if (Block *block = nest.getDomainBlock()) {
      domain = std::make_unique<Region>();
      domain->takeBody(*block->getParent());
    }
    auto wider = NestOp::create(b, nest.getLoc(), types, attn::dimNames(nest.getGrid()),
                                attn::dimNames(nest.getRow()), attn::dimNames(nest.getStream()),
                                attn::dimNames(nest.getInner()), std::move(domain));
    wider->setDiscardableAttrs(nest->getDiscardableAttrDictionary());
    yield().getValuesMutable().assign(yielded);
    wider.getBody().takeBody(nest.getBody());
    for (auto [old, result] : llvm::zip(kept, wider.getResults()))
      old.replaceAllUsesWith(result);
    for (Value value : needed)
      stored[value] = wider.getResult(numbers.lookup(value));
    return wider;
  }

  // A nest that computes `value` from what is stored.
  Value makeNest(Value value, ArrayRef<StringAttr> stream, Type type) {
    SmallVector<Operation *> slice = sliceOf(value);
    SmallVector<Value> parts;
    for (Operation *op : slice)
      parts.push_back(op->getResult(0));
    SmallVector<StringAttr> grid, inner;
    for (StringAttr dim : attn::unionDims(program, parts))
      if (cast<attn::ArrayType>(value.getType()).hasDim(dim))
        grid.push_back(dim);
      else if (!llvm::is_contained(stream, dim))
        inner.push_back(dim);
    auto own = NestOp::create(b, value.getLoc(), type, grid, ArrayRef<StringAttr>(), stream, inner);
    OpBuilder body = OpBuilder::atBlockEnd(own.getBodyBlock());
    IRMapping mapping;
    for (Value part : parts)
      if (Value memory = stored.lookup(part))
        mapping.map(part, read(body, part, memory));
      else
        body.clone(*part.getDefiningOp(), mapping);
    red::YieldOp::create(body, value.getLoc(), mapping.lookup(value));
    return own.getResult(0);
  }

  // The ops of the body that compute `value`, down to what is stored, in their order.
  SmallVector<Operation *> sliceOf(Value value) {
    llvm::SmallSetVector<Operation *, 8> slice;
    slice.insert(value.getDefiningOp());
    for (size_t i = 0; i < slice.size(); ++i)
      if (!stored.contains(slice[i]->getResult(0)))
        for (Value operand : slice[i]->getOperands())
          if (Operation *op = operand.getDefiningOp(); isa<NestOp>(op->getParentOp()))
            slice.insert(op);
    SmallVector<Operation *> ops = slice.takeVector();
    llvm::sort(ops, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    return ops;
  }

  static Value read(OpBuilder &body, Value part, Value memory) {
    auto dims = cast<attn::ArrayType>(memory.getType()).getDims();
    return attn::ReadOp::create(body, part.getLoc(), part.getType(), memory, ValueRange(),
                                body.getArrayAttr({dims.begin(), dims.end()}), FloatAttr());
  }

  NestOp nest;
  attn::ProgramOp program;
  OpBuilder b;
  llvm::SetVector<Operation *> late;
  llvm::SetVector<Value> needed;
  SmallVector<std::pair<Value, Value>> replaced; // late results: in the body, of the nest
  llvm::DenseMap<Value, Value> stored;           // of the body: the result of a nest
};

} // namespace

bool foldsInEpilogue(NestOp nest) {
  return llvm::any_of(*nest.getBodyBlock(),
                      [&](Operation &op) { return isEpilogueFold(nest, op); });
}

void outlineEpilogue(NestOp nest) {
  if (foldsInEpilogue(nest))
    EpilogueOutliner(nest).run();
}

} // namespace attnc
