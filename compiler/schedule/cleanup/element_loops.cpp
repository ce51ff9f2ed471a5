#include "compiler/schedule/cleanup/element_loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

constexpr int64_t kLanes = 32, kLanesOfRow = 4;

int64_t operationsIn(Block &block) {
  int64_t count = 0;
  block.walk([&](Operation *op) { count += !op->hasTrait<OpTrait::IsTerminator>(); });
  return count;
}

// How many turns of a loop in the map are unrolled: all that kElementCode allows.
void boundUnrolling(tile::MapOp map) {
  int64_t elements = elementsOfThread(map.getOuts().front().getType());
  map.getBody().walk([&](scf::ForOp loop) {
    int64_t code = std::max<int64_t>(elements * operationsIn(*loop.getBody()), 1);
    std::optional<APInt> turns = loop.getStaticTripCount();
    if (turns && turns->getSExtValue() * code <= kElementCode)
      return;
    loop->setAttr(tile::kUnrollAttr,
                  OpBuilder(loop).getI64IntegerAttr(std::max<int64_t>(kElementCode / code, 1)));
  });
}

/// Takes a loop out of the map that it is in.
class LoopSharer {
public:
  LoopSharer(tile::MapOp map, scf::ForOp loop)
      : map(map), loop(loop), type(cast<tile::FragmentType>(map.getOuts().front().getType())) {}

  /// False, and nothing has changed, where the loop has to stay.
  bool run() {
    if (!isShared() || !findOperands() || !hasRegisters())
      return false;
    OpBuilder b(map);
    for (auto [arg, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      carried.push_back(tile::RegistersOp::create(b, arg.getLoc(), type, start(init)));
    auto around = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                                     loop.getStep());
    around.getInductionVar().setLoc(loop.getInductionVar().getLoc());
    b.setInsertionPointToStart(around.getBody());
    buildTurn(b, around.getInductionVar());
    for (auto [result, place] : llvm::zip(loop.getResults(), carried))
      result.replaceAllUsesWith(addInput(place));
    loop.erase();
    return true;
  }

private:
  bool isOutside(Value value) { return value.getParentRegion()->isProperAncestor(&map.getBody()); }

  // True in a loop over tiles, whose turns hand on fragments.
  bool isBesideFragments() {
    for (Operation *around = map->getParentOp(); !isa<tile::KernelOp>(around);
         around = around->getParentOp()) {
      auto isHandedOn = [&](Value place) {
        return isa<tile::FragmentType>(place.getType()) &&
               !around->isAncestor(place.getParentBlock()->getParentOp());
      };
      if (!isa<LoopLikeOpInterface>(around))
        continue;
      WalkResult found = around->walk([&](Operation *op) {
        return llvm::any_of(op->getOperands(), isHandedOn) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
      });
      if (found.wasInterrupted())
        return true;
    }
    return false;
  }

  bool isShared() {
    auto starts = [](Value init) {
      return init.getType().isF32() && init.getDefiningOp<arith::ConstantOp>();
    };
    return !isBesideFragments() && loop.getNumResults() > 0 &&
           llvm::all_of(loop.getInitArgs(), starts) && isOutside(loop.getLowerBound()) &&
           isOutside(loop.getUpperBound()) && isOutside(loop.getStep());
  }

  // What the loop takes from the map's code: each turn computes it anew, so it must be cheap.
  bool findOperands() {
    llvm::SetVector<Operation *> reached;
    auto takeOperands = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *from = operand.getDefiningOp();
            from && from->getBlock() == map.getBodyBlock())
          reached.insert(from);
        else if (operand.getParentBlock() == map.getBodyBlock())
          elements.insert(operand);
    };
    loop.getBody()->walk(takeOperands);
    for (size_t i = 0; i < reached.size(); ++i) {
      if (!isa<arith::ArithDialect>(reached[i]->getDialect()))
        return false;
      takeOperands(reached[i]);
    }
    for (Operation &op : *map.getBodyBlock())
      if (reached.contains(&op))
        operands.push_back(&op);
    return true;
  }

  bool hasRegisters() {
    llvm::SmallDenseSet<Value> places(map.getOuts().begin(), map.getOuts().end());
    places.insert(map.getIns().begin(), map.getIns().end());
    int64_t count = loop.getNumResults() * elementsOfThread(type);
    for (Value place : places)
      if (auto fragment = dyn_cast<tile::FragmentType>(place.getType()))
        count += elementsOfThread(fragment);
    return count <= kElementRegisters;
  }

  static FloatAttr start(Value init) {
    return cast<FloatAttr>(init.getDefiningOp<arith::ConstantOp>().getValue());
  }

  // A map with one turn of the loop for each element.
  void buildTurn(OpBuilder &b, Value index) {
    SmallVector<Value> ins;
    SmallVector<Value> arguments = {map.rowIndex(), map.columnIndex()};
    for (auto [number, place] : llvm::enumerate(map.getIns()))
      if (elements.contains(map.element(number))) {
        ins.push_back(place);
        arguments.push_back(map.element(number));
      }
    ins.append(carried);
    llvm::append_range(arguments, loop.getRegionIterArgs());
    auto turn = tile::MapOp::create(b, map.getLoc(), map.getRows(), map.getCols(), ins, carried);
    Block &body = turn.getBody().emplaceBlock();
    IRMapping mapping;
    for (Value like : arguments)
      mapping.map(like, body.addArgument(like.getType(), like.getLoc()));
    mapping.map(loop.getInductionVar(), index);
    b.setInsertionPointToStart(&body);
    for (Operation *op : operands)
      b.clone(*op, mapping);
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    SmallVector<Value> next;
    for (Value value : loop.getYieldedValues())
      next.push_back(mapping.lookupOrDefault(value));
    tile::YieldOp::create(b, map.getLoc(), next);
    boundUnrolling(turn);
  }

  // The element of a further place that the map reads.
  Value addInput(Value place) {
    map.getInsMutable().append(place);
    return map.getBodyBlock()->addArgument(Float32Type::get(map.getContext()), place.getLoc());
  }

  tile::MapOp map;
  scf::ForOp loop;
  tile::FragmentType type;
  llvm::SmallSetVector<Value, 8> elements; // arguments of the map that the loop depends on
  SmallVector<Operation *> operands;       // ops of the map that it depends on, in order
  SmallVector<Value> carried;              // fragments
};

} // namespace

int64_t elementsOfThread(Type type) {
  if (auto fragment = dyn_cast<tile::FragmentType>(type))
    return fragment.getRows() * fragment.getCols() / kLanes;
  if (auto rows = dyn_cast<tile::RowsType>(type))
    return rows.getRows() / (kLanes / kLanesOfRow);
  return 1;
}

void shareElementLoops(tile::KernelOp kernel) {
  SmallVector<tile::MapOp> maps;
  kernel.walk([&](tile::MapOp map) {
    if (!map.isOverRows() && !map.getBody().getOps<scf::ForOp>().empty())
      maps.push_back(map);
  });
  for (tile::MapOp map : maps) {
    for (scf::ForOp loop : llvm::to_vector(map.getBody().getOps<scf::ForOp>()))
      LoopSharer(map, loop).run();
    boundUnrolling(map);
  }
}

} // namespace attnc::schedule
