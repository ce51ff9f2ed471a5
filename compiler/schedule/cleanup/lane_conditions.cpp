#include "compiler/schedule/cleanup/lane_conditions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

constexpr int64_t kLanes = 32;

class LaneConditions {
public:
  explicit LaneConditions(tile::MapOp map) : map(map) {
    for (Operation &op : *map.getBodyBlock())
      if (dependsOnColumn(op))
        ofColumns.insert(&op);
  }

  void run() {
    SmallVector<Value> asked;
    for (Operation *op : ofColumns)
      if (op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1) &&
          readsMemory(op->getResult(0)) && meetsOthers(op))
        asked.push_back(op->getResult(0));
    for (Value condition : asked)
      askFor(condition);
    if (asked.empty())
      return;
    for (Operation *op : llvm::reverse(ofColumns))
      if (op->use_empty())
        op->erase();
  }

private:
  bool isOutside(Value value) { return value.getParentRegion()->isProperAncestor(&map.getBody()); }

  // Of the column and of numbers that all lanes have.
  bool dependsOnColumn(Operation &op) {
    bool known = true;
    op.walk([&](Operation *part) {
      bool isArithmetic =
          isa_and_nonnull<arith::ArithDialect, math::MathDialect>(part->getDialect()) ||
          isa<attn::ModOp, attn::SubOp>(part);
      known &= isArithmetic || isa<tile::LoadOp, scf::IfOp, scf::YieldOp>(part);
    });
    llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), operands);
    return known && llvm::all_of(operands, [&](Value value) {
             return value == map.columnIndex() || ofColumns.contains(value.getDefiningOp()) ||
                    (isOutside(value) && isUniform(value));
           });
  }

  bool isUniform(Value value) {
    llvm::SetVector<Value> reached;
    reached.insert(value);
    for (size_t i = 0; i < reached.size(); ++i)
      if (Operation *op = reached[i].getDefiningOp()) {
        if (isa<tile::ThreadOp>(op))
          return false;
        reached.insert(op->operand_begin(), op->operand_end());
      }
    return true;
  }

  // What the value is computed by, in order.
  SmallVector<Operation *> sliceOf(Value value) {
    llvm::SmallDenseSet<Operation *> needed;
    SmallVector<Value> work{value};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!ofColumns.contains(op) || !needed.insert(op).second)
        continue;
      llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), operands);
      work.append(operands.begin(), operands.end());
    }
    SmallVector<Operation *> slice;
    for (Operation *op : ofColumns)
      if (needed.contains(op))
        slice.push_back(op);
    return slice;
  }

  bool readsMemory(Value value) {
    return llvm::any_of(sliceOf(value), [](Operation *op) {
      return op->walk([](tile::LoadOp) { return WalkResult::interrupt(); }).wasInterrupted();
    });
  }

  // False for a part of what is asked as a whole.
  bool meetsOthers(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !ofColumns.contains(map.getBodyBlock()->findAncestorOpInBlock(*user));
    });
  }

  void askFor(Value condition) {
    OpBuilder b(map);
    Location loc = condition.getLoc();
    int64_t columns = cast<tile::FragmentType>(map.getOuts().front().getType()).getCols();
    SmallVector<Type> words(llvm::divideCeil(columns, kLanes), b.getI32Type());
    auto ballot = tile::BallotOp::create(b, loc, words);
    Block &body = ballot.getBody().emplaceBlock();
    Value lane = body.addArgument(b.getI32Type(), loc);
    b.setInsertionPointToStart(&body);
    SmallVector<Value> answers;
    for (size_t word = 0; word < words.size(); ++word)
      answers.push_back(answer(b, condition, columnOf(b, lane, word, columns)));
    tile::YieldOp::create(b, loc, answers);
    b.setInsertionPoint(condition.getDefiningOp());
    condition.replaceAllUsesWith(bitOf(b, loc, ballot.getWords()));
  }

  // The column of the lane's share: the last one where the fragment has no more.
  Value columnOf(OpBuilder &b, Value lane, size_t word, int64_t columns) {
    Value place = lane;
    if (word)
      place = arith::AddIOp::create(b, lane.getLoc(), lane, constant(b, kLanes * word));
    if (columns < static_cast<int64_t>(kLanes * (word + 1)))
      place = arith::MinSIOp::create(b, lane.getLoc(), place, constant(b, columns - 1));
    return arith::AddIOp::create(b, lane.getLoc(), map.getCols(), place);
  }

  Value answer(OpBuilder &b, Value condition, Value column) {
    IRMapping mapping;
    mapping.map(map.columnIndex(), column);
    for (Operation *op : sliceOf(condition))
      b.clone(*op, mapping);
    return mapping.lookup(condition);
  }

  Value bitOf(OpBuilder &b, Location loc, ValueRange words) {
    Value column = arith::SubIOp::create(b, loc, map.columnIndex(), map.getCols());
    Value word = words.front();
    for (size_t i = 1; i < words.size(); ++i) {
      Value isInside =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, column, constant(b, kLanes * i));
      word = arith::SelectOp::create(b, loc, isInside, words[i], word);
    }
    Value bit = arith::AndIOp::create(b, loc, column, constant(b, kLanes - 1));
    Value lowest =
        arith::AndIOp::create(b, loc, arith::ShRSIOp::create(b, loc, word, bit), constant(b, 1));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, lowest, constant(b, 0));
  }

  Value constant(OpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, map.getLoc(),
                                     b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  tile::MapOp map;
  llvm::SetVector<Operation *> ofColumns;
};

} // namespace

void askLanesForConditions(tile::KernelOp kernel) {
  SmallVector<tile::MapOp> maps;
  kernel.walk([&](tile::MapOp map) {
    if (isa<tile::FragmentType>(map.getOuts().front().getType()))
      maps.push_back(map);
  });
  for (tile::MapOp map : maps)
    LaneConditions(map).run();
}

} // namespace attnc::schedule
