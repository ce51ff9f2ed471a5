#include "compiler/schedule/threads/sliding_values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

// How a value depends on the two indices.
enum class Kind {
  Neither,
  Point,   // the point's index and what depends on neither
  Window,  // likewise of the window
  Sliding, // through their sum alone
  Other
};

class Sliding {
public:
  Sliding(red::NestOp nest, StringAttr point, StringAttr window)
      : nest(nest), point(point), window(window) {}

  Kind kindOf(Value array) {
    auto [known, isNew] = kinds.try_emplace(array, Kind::Other);
    if (!isNew)
      return known->second;
    Kind kind = find(array);
    return kinds[array] = kind;
  }

  // True if a tensor is read on the way.
  bool reads(Value array) {
    Operation *op = ofBody(array);
    if (isa_and_nonnull<attn::ReadOp>(op))
      return true;
    auto map = dyn_cast_or_null<attn::MapOp>(op);
    return map && llvm::any_of(map.getOperands(), [&](Value operand) { return reads(operand); });
  }

  Operation *ofBody(Value array) {
    Operation *op = array.getDefiningOp();
    return op && op->getBlock() == nest.getBodyBlock() ? op : nullptr;
  }

private:
  bool dependsOn(Value array, StringAttr dim) {
    return cast<attn::ArrayType>(array.getType()).hasDim(dim);
  }

  static Kind sum(Kind x, Kind y) {
    if (x == Kind::Neither)
      return y;
    if (y == Kind::Neither)
      return x;
    bool areBoth =
        (x == Kind::Point && y == Kind::Window) || (x == Kind::Window && y == Kind::Point);
    return areBoth ? Kind::Sliding : function(x, y);
  }

  static Kind function(Kind x, Kind y) {
    auto isPlain = [](Kind kind) { return kind == Kind::Neither || kind == Kind::Sliding; };
    if (!isPlain(x) || !isPlain(y))
      return Kind::Other;
    return x == Kind::Sliding ? x : y;
  }

  Kind find(Value array) {
    if (!dependsOn(array, point) && !dependsOn(array, window))
      return Kind::Neither;
    Operation *op = ofBody(array);
    if (!op)
      return Kind::Other;
    return llvm::TypeSwitch<Operation *, Kind>(op)
        .Case([&](attn::IndexOp index) {
          return index.getDimAttr() == point ? Kind::Point : Kind::Window;
        })
        .Case([&](attn::ReadOp read) { return ofRead(read); })
        .Case([&](attn::MapOp map) { return ofMap(map); })
        .Default([](Operation *) { return Kind::Other; });
  }

  Kind ofRead(attn::ReadOp read) {
    Kind kind = Kind::Neither;
    auto source = cast<attn::ArrayType>(read.getSource().getType());
    for (unsigned axis = 0; axis < source.getDims().size(); ++axis) {
      StringAttr plain = read.subscriptDim(axis);
      if (plain == point || plain == window)
        return Kind::Other;
      if (!plain)
        kind = function(kind, kindOf(read.subscriptValue(axis)));
    }
    return read.getOtherwise() ? kind : Kind::Other;
  }

  Kind ofMap(attn::MapOp map) {
    llvm::DenseMap<Value, Kind> scalars;
    for (auto [argument, operand] :
         llvm::zip(map.getBodyBlock()->getArguments(), map.getOperands()))
      scalars[argument] = kindOf(operand);
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      SmallVector<Kind> operands;
      for (Value operand : op.getOperands())
        operands.push_back(scalars.lookup(operand));
      Kind kind = Kind::Neither;
      if (isa<arith::AddIOp>(op))
        kind = sum(operands[0], operands[1]);
      else if (isa<arith::SubIOp>(op) && operands[1] == Kind::Neither)
        kind = operands[0];
      else
        for (Kind operand : operands)
          kind = function(kind, operand);
      for (Value result : op.getResults())
        scalars[result] = kind;
    }
    return scalars.lookup(map.getYielded());
  }

  red::NestOp nest;
  StringAttr point, window;
  llvm::DenseMap<Value, Kind> kinds;
};

} // namespace

SmallVector<Value> slidingValues(red::FoldOp fold, StringAttr point, StringAttr window) {
  Sliding sliding(fold->getParentOfType<red::NestOp>(), point, window);
  llvm::SetVector<Value> reached;
  for (Value operand : fold.termOperands())
    reached.insert(operand);
  SmallVector<Value> found;
  for (size_t i = 0; i < reached.size(); ++i) {
    Value array = reached[i];
    Operation *op = sliding.ofBody(array);
    if (sliding.kindOf(array) == Kind::Sliding && sliding.reads(array))
      found.push_back(array);
    else if (isa_and_nonnull<attn::MapOp>(op))
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return found;
}

} // namespace attnc::schedule
