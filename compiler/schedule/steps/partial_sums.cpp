#include "compiler/schedule/steps/partial_sums.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {

template <class Op> static SmallVector<Op> opsOf(RowTilesOp rows) {
  SmallVector<Op> list;
  rows.walk([&](Op op) { list.push_back(op); });
  return list;
}

static Location named(OpBuilder &b, StringRef name) { return NameLoc::get(b.getStringAttr(name)); }

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

void PartialSums::place(OpBuilder &b, RowTilesOp rows) {
  auto groups = static_cast<int64_t>(rows.getGroups());
  auto shared = [&](StringRef name, Type type) {
    return SharedOp::create(b, named(b, name), type, b.getI64IntegerAttr(0)).getResult();
  };
  auto barriers = BarriersType::get(b.getContext(), groups);
  for (SendPartialOp send : opsOf<SendPartialOp>(rows)) {
    FragmentType type = send.getFragment().getType();
    auto sums = SharedType::get(b.getContext(), type.getRows() * kGroupWarps * groups,
                                type.getCols(), b.getF32Type(), 0);
    Received each{shared("received", sums), shared("arrived", barriers), shared("taken", barriers)};
    auto single = SingleOp::create(b, send.getLoc());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&single.getBody().emplaceBlock());
    for (Value of : {each.arrived, each.taken})
      MbarrierInitOp::create(b, send.getLoc(), of, kGroupWarps);
    received.push_back(each);
  }
}

void PartialSums::meet(OpBuilder &b) {
  if (!received.empty())
    ClusterSyncOp::create(b, received.front().sums.getLoc());
}

// One lane of each warp arrives, as the barriers count.
static void arrive(OpBuilder &b, Location loc, Value barriers, Value group, IntegerAttr bytes,
                   Value peer) {
  auto single = SingleOp::create(b, loc, b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&single.getBody().emplaceBlock());
  MbarrierArriveOp::create(b, loc, barriers, group, bytes, peer);
}

static Value otherBlock(OpBuilder &b, Location loc) {
  return arith::SubIOp::create(b, named(b, "other_block"), constant(b, loc, 1),
                               ClusterRankOp::create(b, named(b, "rank")));
}

// The parity of the phase that ends with the tile's sums, or of the one before it.
static Value parity(OpBuilder &b, Operation *op, int64_t more) {
  Location loc = op->getLoc();
  Value number = arith::AddIOp::create(b, loc, op->getParentOfType<StreamOp>().getNumber(),
                                       constant(b, loc, more));
  return arith::AndIOp::create(b, named(b, "parity"), number, constant(b, loc, 1));
}

void PartialSums::assign(OpBuilder &b, RowTilesOp rows) {
  OpBuilder::InsertionGuard guard(b);
  for (auto [send, there] : llvm::zip_equal(opsOf<SendPartialOp>(rows), received)) {
    Location loc = send.getLoc();
    Value fragment = send.getFragment();
    Value group = *rows->getParentOfType<RoleOp>().getBodyBlock()->getOps<GroupOp>().begin();
    AddPartialOp add = *llvm::find_if(
        opsOf<AddPartialOp>(rows), [&](AddPartialOp op) { return op.getFragment() == fragment; });
    // As soon as the other block has taken the sums of the tile before. Of a barrier that nobody
    // has arrived at, the phase before the first one is complete (PTX ISA, mbarrier.try_wait).
    b.setInsertionPoint(send);
    MbarrierWaitOp::create(b, loc, there.taken, group, parity(b, send, 1));
    auto type = cast<FragmentType>(fragment.getType());
    arrive(b, loc, there.arrived, group, b.getI64IntegerAttr(4 * type.getRows() * type.getCols()),
           Value());
    SendFragmentOp::create(b, loc, fragment, there.sums, otherBlock(b, loc), there.arrived, group);

    b.setInsertionPoint(add);
    MbarrierWaitOp::create(b, loc, there.arrived, group, parity(b, add, 0));
    ReceiveFragmentOp::create(b, loc, fragment, there.sums);
    arrive(b, loc, there.taken, group, IntegerAttr(), otherBlock(b, loc));
    send.erase();
    add.erase();
  }
}

} // namespace attnc::schedule
