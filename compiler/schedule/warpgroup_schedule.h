// The schedule of a stream nest for warpgroups, tensor memory copies and asynchronous products.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUP_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUP_SCHEDULE_H

#include "compiler/schedule/machine.h"
#include "compiler/schedule/register_needs.h"
#include "compiler/schedule/schedule_fields.h"
#include "compiler/schedule/stream_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// How a stream nest is divided among warps with roles: one warpgroup whose first thread starts all
/// copies, and `groups` that compute, each 64 rows of the block's row tile.
struct WarpgroupSchedule {
  int64_t groups = 2;           ///< warpgroups that compute, 1 to 4
  int64_t streamTile = 128;     ///< stream indices of a tile; a multiple of 16 up to 256
  int64_t stages = 2;           ///< tiles of each streamed operand in shared memory at a time
  int64_t rowStages = 1;        ///< row tiles of each resident operand in shared memory at a time
  int64_t loadRegisters = 24;   ///< of a thread of the warpgroup that copies
  int64_t groupRegisters = 240; ///< of a thread of the others
  bool alternate = true;        ///< groups start their products one after the other
  bool persistent = true;       ///< one block per multiprocessor takes row tiles in turn
  bool draws = false;           ///< which it draws from a counter in memory; else by equal strides
  bool copyInputs = true;       ///< row x stream tensors arrive as tiles; else code reads elements
  bool bulkStores = false;      ///< 16-bit results leave through shared memory, as boxes
  int64_t pack = 1;             ///< indices of a grid dim whose rows share a tile (packing.h)
  double slack = 3;             ///< a running maximum may lag by this much, in powers of 2
  /// Columns of the states that a block computes, a multiple of 64; blocks share the rest and each
  /// computes the scores. 0: all.
  int64_t columns = 0;
  /// Columns of the streamed operands of scores that arrive and are released at a time, a multiple
  /// of 64, and tiles of so many in shared memory at a time. 0: all.
  int64_t depth = 0, depthStages = 0;

  int64_t rowTile() const { return 64 * groups; }
  /// Indices of the row dim in a tile.
  int64_t rowIndices() const { return rowTile() / pack; }
  int64_t threads() const { return 128 * (groups + 1); }

  bool operator==(const WarpgroupSchedule &) const = default;

  /// Every key with its place in this schedule.
  ScheduleFields fields();
  /// The attribute has `columns` and `depth` only where they cut something. Reads the attribute;
  /// keys that it lacks keep their defaults.
  static WarpgroupSchedule from(mlir::DictionaryAttr attr);
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

/// True if the nest's schedule is of this form and its blocks draw row tiles.
bool drawsRowTiles(red::NestOp nest);

/// The pipe through which the number of the next row tile reaches the warps that compute.
tile::PipeType queueType(mlir::MLIRContext *context);
/// The pipe through which the numbers of the stream's tiles reach them, where tiles are skipped.
tile::PipeType listType(mlir::MLIRContext *context);

/// True if the nest's plan can be divided so, whatever the tiles; `why` says what it lacks if not:
/// operands that are not 16-bit, more axes than a tensor map has.
bool canUseWarpgroups(red::NestOp nest, const StreamPlan &plan, std::string &why);

/// Bytes of shared memory of a block: resident tiles, the slots of the pipes, their barriers.
int64_t sharedBytes(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// 32-bit registers that a thread of a computing group needs at the fullest point, an estimate.
int64_t groupRegisters(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// Of a thread of the warpgroup that copies, an estimate: more where data say which tiles matter.
int64_t loadRegisters(const RegisterNeeds &needs);

/// Whether the machine has what the schedule needs: checkSchedule without words, for who tries
/// many.
bool fits(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
          const Machine &machine);

/// What the machine lacks for the schedule, with figures, or an empty string.
std::string checkSchedule(red::NestOp nest, const StreamPlan &plan,
                          const WarpgroupSchedule &schedule, const Machine &machine);

} // namespace attnc::schedule

#endif
