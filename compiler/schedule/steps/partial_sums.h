// What the blocks of a cluster sum together.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_PARTIAL_SUMS_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_PARTIAL_SUMS_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

inline constexpr int64_t kGroupWarps = 4; ///< of a warpgroup

/// Makes barriers and places in shared memory of a kernel's tile.send_partial and tile.add_partial,
/// a part of assign-roles. A kernel without them is left as it is.
class PartialSums {
public:
  /// Before the row tiles: what is received, with barriers that are not started yet.
  void place(mlir::OpBuilder &b, tile::RowTilesOp rows);
  /// Behind the start of all barriers: blocks meet before one sends.
  void start(mlir::OpBuilder &b) { meet(b); }
  /// In the role that computes, in place of the ops. The role has a tile.group.
  void assign(mlir::OpBuilder &b, tile::RowTilesOp rows);
  /// At the end: a block stays as long as the other one sends.
  void end(mlir::OpBuilder &b) { meet(b); }

private:
  /// What the other block has summed of a fragment: the sums of all warps, and of each group a
  /// barrier that says that they are there, and one that says that the other block may send again.
  struct Received {
    mlir::Value sums, arrived, taken;
  };

  void meet(mlir::OpBuilder &b);

  llvm::SmallVector<Received> received; ///< of the fragments that blocks send, in their order
};

} // namespace attnc::schedule

#endif
