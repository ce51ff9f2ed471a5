// Ops of kernels whose threads are written one by one.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::interpreter {
namespace {

/// Where the elements of an array are: words of the thread with as many flags behind them, or cells
/// of the block.
struct Elements {
  SmallVector<int64_t> shape;
  SmallVector<unsigned> indices; // words
  unsigned first, count;
  bool shared;

  Elements(CodeBuilder &builder, TypedValue<tile::ArrayType> array, ValueRange at)
      : shape(array.getType().getShape()), first(builder.array(array)),
        count(array.getType().getNumElements()),
        shared(array.getDefiningOp<tile::ArrayOp>().getShared()) {
    for (Value index : at)
      indices.push_back(builder.word(index));
  }

  /// The element's number, or nothing if it lies outside.
  std::optional<unsigned> number(const Warp &thread) const {
    int64_t linear = 0;
    for (auto [extent, index] : llvm::zip(shape, indices)) {
      int64_t value = thread.words[index].i;
      if (value < 0 || value >= extent)
        return std::nullopt;
      linear = linear * extent + value;
    }
    return linear;
  }
};

constexpr const char *kOutside = "is at an index outside of the array";

void addGet(CodeBuilder &builder, tile::GetOp op) {
  Elements array(builder, op.getArray(), op.getIndices());
  unsigned result = builder.word(op.getResult());
  builder.step(op, false, [=](Machine &machine, Warp &thread) {
    std::optional<unsigned> number = array.number(thread);
    if (!number)
      return machine.fail(thread, op, kOutside);
    if (array.shared)
      return machine.readCell(thread, array.first + *number, op, thread.words[result]);
    if (!thread.words[array.first + array.count + *number].i)
      return machine.fail(thread, op, "reads an element that nothing has written");
    thread.words[result] = thread.words[array.first + *number];
    return Outcome::Done;
  });
}

void addSet(CodeBuilder &builder, tile::SetOp op) {
  Elements array(builder, op.getArray(), op.getIndices());
  unsigned value = builder.word(op.getValue());
  builder.step(op, false, [=](Machine &machine, Warp &thread) {
    std::optional<unsigned> number = array.number(thread);
    if (!number)
      return machine.fail(thread, op, kOutside);
    if (array.shared)
      return machine.writeCell(thread, array.first + *number, op, thread.words[value]);
    thread.words[array.first + *number] = thread.words[value];
    thread.words[array.first + array.count + *number].i = 1;
    return Outcome::Done;
  });
}

void addBarrier(CodeBuilder &builder, tile::BarrierOp op) {
  builder.step(op, true, [=](Machine &, Warp &thread) {
    if (std::exchange(thread.met, false))
      return Outcome::Done;
    thread.parkedAt = op;
    return Outcome::Blocked;
  });
}

void addFoldLanes(CodeBuilder &builder, tile::FoldLanesOp op) {
  unsigned value = builder.word(op.getValue()), result = builder.word(op.getResult());
  builder.step(op, true, [=](Machine &, Warp &thread) {
    if (std::exchange(thread.met, false)) {
      thread.words[result] = thread.laneValue;
      return Outcome::Done;
    }
    thread.parkedAt = op;
    thread.laneValue = thread.words[value];
    return Outcome::Blocked;
  });
}

} // namespace

bool addThreadStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::ArrayOp op) { return builder.array(op.getResult()), true; })
      .Case([&](tile::GetOp op) { return addGet(builder, op), true; })
      .Case([&](tile::SetOp op) { return addSet(builder, op), true; })
      .Case([&](tile::BarrierOp op) { return addBarrier(builder, op), true; })
      .Case([&](tile::FoldLanesOp op) { return addFoldLanes(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
