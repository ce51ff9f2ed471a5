#include "compiler/codegen/cuda/includes.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;

namespace attnc::cuda {

namespace {

// What the ops of a kernel ask for.
struct Uses {
  bool copies = false, products = false, splitProducts = false, halves = false;
  bool pipes = false, barriers = false, cluster = false, bulkStores = false, ticket = false;
  bool lanes = false;
  bool fragments = false, exchange = false, random = false, ballot = false;
  std::set<int64_t> asyncColumns; // of results of asynchronous products
};

} // namespace

static Uses usesOf(tile::KernelOp kernel) {
  Uses uses;
  kernel.walk([&](Operation *op) {
    uses.copies |=
        isa<tile::CopyOp, tile::CopyRowsOp, tile::CommitOp, tile::WaitOp, tile::StoreTileOp>(op);
    uses.fragments |= isa<tile::RegistersOp, tile::TabulateOp>(op);
    uses.pipes |= isa<tile::PipeOp, tile::StoreBoxOp>(op);
    uses.barriers |= isa<tile::BarrierSyncOp, tile::BarrierArriveOp, tile::PublishOp,
                         tile::MbarrierInitOp, tile::RoleOp>(op);
    uses.cluster |= isa<tile::ClusterRankOp, tile::ClusterSyncOp, tile::SendOp,
                        tile::SendFragmentOp, tile::ReceiveFragmentOp>(op);
    if (auto arrive = dyn_cast<tile::MbarrierArriveOp>(op))
      uses.cluster |= arrive.getPeer() != nullptr;
    uses.bulkStores |= isa<tile::StoreBoxOp, tile::AddBulkOp>(op);
    uses.random |= isa<attn::RandOp>(op);
    uses.ballot |= isa<tile::BallotOp>(op);
    uses.lanes |= isa<tile::FoldLanesOp>(op);
    uses.ticket |= isa<tile::TicketOp, tile::LastBlockOp>(op);
    uses.exchange |= isa<tile::ReadVectorOp, tile::WriteVectorOp, tile::StoreLanesOp, tile::SaveOp,
                         tile::RestoreOp, tile::ScalePackedOp, tile::StoreOperandOp>(op);
    if (auto store = dyn_cast<tile::StoreFragmentOp>(op))
      uses.exchange |= store.getTile().getType().hasPanels();
    if (auto mma = dyn_cast<tile::MmaOp>(op))
      (mma.getHalves()                                                ? uses.halves
       : tile::elementType(mma.getB().getType().getElement()).isSplit ? uses.splitProducts
                                                                      : uses.products) = true;
    // More than 256 columns are several products (wgmma.cuh).
    if (auto mma = dyn_cast<tile::MmaStartOp>(op))
      for (int64_t left = mma.getC().getType().getCols(), count = 0; left > 0; left -= count) {
        int64_t even = llvm::divideCeil(left, llvm::divideCeil(left, 256));
        count = std::min<int64_t>(left, llvm::alignTo(even, 64));
        uses.asyncColumns.insert(count);
      }
  });
  return uses;
}

std::vector<Include> includes(tile::KernelOp kernel) {
  Uses uses = usesOf(kernel);
  std::vector<Include> list = {{"index", ""}};
  auto add = [&](bool used, StringRef header) {
    if (used)
      list.push_back({header.str(), ""});
  };
  add(uses.random, "random");
  add(uses.copies, "copy");
  add(uses.splitProducts, "mma_f32");
  add(uses.halves, "mma_halves");
  add(uses.products && !uses.splitProducts && !uses.halves, "mma");
  add(uses.pipes, "pipe");
  add(uses.barriers && !uses.pipes, "barrier");
  add(uses.cluster, "cluster");
  add(uses.bulkStores, "bulk_store");
  add(uses.ticket, "ticket");
  add(uses.ballot, "ballot");
  add(uses.lanes, "lanes");
  add(uses.exchange, "exchange");
  for (int64_t columns : uses.asyncColumns)
    list.push_back({"wgmma_n" + std::to_string(columns),
                    "generated: products with " + std::to_string(columns) + " columns"});
  add(!uses.asyncColumns.empty(), "wgmma");
  bool multiplies = uses.products || uses.splitProducts || uses.halves;
  add(uses.fragments && uses.asyncColumns.empty() && !multiplies, "fragment");
  return list;
}

} // namespace attnc::cuda
