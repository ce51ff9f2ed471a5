// What a schedule for warpgroups, tensor memory copies and asynchronous
// products needs.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_SCHEDULE_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

using tile::WarpgroupSchedule;

/// True if the nest's schedule is of this form and its blocks draw row tiles.
bool drawsRowTiles(red::NestOp nest);

/// The pipe through which the number of the next row tile reaches the warps that compute.
tile::PipeType queueType(mlir::MLIRContext *context);
/// The pipe through which the numbers of the stream's tiles reach them, where tiles are skipped.
tile::PipeType blockListType(mlir::MLIRContext *context);

/// True if the nest's plan can be divided so, whatever the tiles; `why` says what it lacks if not:
/// operands that are not 16-bit, parts of rows.
bool canUseWarpgroups(const StreamPlan &plan, std::string &why);
/// The first operand of which no box is a tile, so that it comes row by row, or null.
const OperandTile *firstByRows(const StreamPlan &plan);

/// The plan as the schedule cuts it.
TiledPlan cutPlan(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// Blocks that share the columns of the states.
int64_t columnBlocks(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// In a seesaw: stream indices of a part of an operand of states, about as large as one of an
/// operand of scores; and the rows of results that both groups have a share of.
int64_t valueRows(const StreamPlan &plan, const OperandTile &operand,
                  const WarpgroupSchedule &schedule);
int64_t seesawRowShares(red::NestOp nest, const StreamPlan &plan);

/// True if the parts of all operands of scores, each of a product of its own, take turns in the
/// slots of all: beside results of pairs, where they arrive in the order in which they are used.
bool sharesRing(const StreamPlan &cut);

/// Bytes of shared memory of a block: resident tiles, the slots of the pipes, their barriers.
int64_t sharedBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// Rows of a group.
inline constexpr int64_t kGroupRows = 64;

/// The plan's bands that are products by the schedule; scalar code computes the others. They have
/// tiles of whole columns and boxes of at most 256 rows, and so many of them registers beside the
/// states.
llvm::SmallVector<BandProduct> bandsIn(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// True if the plan's addends join products.
bool joinsAddends(const StreamPlan &plan, const WarpgroupSchedule &schedule);
/// The factor of an addend that stays in shared memory.
inline constexpr int64_t kAddendRows = 16;
tile::SharedType addendTile(mlir::MLIRContext *context, const WarpgroupSchedule &schedule);
/// True if groups write tables of the plan's differences, which scores read. Where the rows of a
/// group are not one after the other, or not its own, each score computes them.
bool tabulatesDifferences(const StreamPlan &plan, const WarpgroupSchedule &schedule);
/// The differences of the rows of a group and the columns of a tile.
tile::SharedType differenceTable(mlir::MLIRContext *context, const WarpgroupSchedule &schedule);
/// Tables of each group: while it reads one, faster warps write the next.
inline constexpr int64_t kDifferenceTables = 2;

/// Tiles of a weight on their way to the group that adds, and columns of a sum over rows that it
/// has in registers at a time.
inline constexpr int64_t kHandedStages = 2, kSumColumns = 64;
/// 32-bit registers that a thread of that group needs; 0 where there are no sums over rows.
int64_t adderRegisters(const StreamPlan &plan);

/// 32-bit registers that a thread of a computing group needs at the fullest point, an estimate.
int64_t consumerRegisters(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// Of a thread of the warpgroup that copies, an estimate: more where data say which tiles matter.
int64_t producerRegisters(const StreamPlan &plan);

/// Whether the machine has what the schedule needs: checkSchedule without words, for who tries
/// many.
bool fits(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
          const GpuModel &machine);

/// What the machine lacks for the schedule, with figures, or an empty string.
std::string checkSchedule(red::NestOp nest, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule, const GpuModel &machine);

} // namespace attnc::schedule

#endif
