// The schedule of a stream nest as data, and what it costs in shared memory and registers.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_SCHEDULE_H

#include "compiler/schedule/schedule_fields.h"
#include "compiler/schedule/stream_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The most that a running maximum may lag, in powers of 2: weights stay below 2^8, which every
/// 16-bit type holds with room for a factor beside them.
inline constexpr double kMaxSlack = 8;

/// How a stream nest is cut into tiles.
struct StreamSchedule {
  int64_t rowTile = 64;    ///< rows of a block; a multiple of 16 * warps
  int64_t streamTile = 64; ///< stream indices of a tile; a multiple of 16
  int64_t warps = 4;       ///< each owns rowTile / warps rows
  int64_t stages = 2;      ///< tiles of the stream in shared memory at a time, at least 2
  int64_t minBlocks = 1;   ///< blocks that have to fit on a multiprocessor: limits registers
  double slack = 8;        ///< a running maximum may lag by this much, in powers of 2
  /// Columns of the states that a block computes, a multiple of 16; blocks share the rest and each
  /// computes the scores. 0: all.
  int64_t columns = 0;
  /// Columns of the operands of scores in shared memory at a time, a multiple of 16; 0: all.
  int64_t depth = 0;
  /// Whether tensors with both dims arrive in shared memory as the streamed operands do, where
  /// their extents allow it (stream_inputs.h); else code reads their elements.
  bool copyInputs = false;
  /// Whether states multiply f32 as halves (tile.mma): of nests whose f32 operands are roundedSums.
  bool halves = false;

  /// Every key with its place in this schedule.
  ScheduleFields fields();
  /// The attribute has `columns` and `depth` only where they cut something, and `copy_inputs`
  /// and `halves` only where they are true. Reads the attribute;
  /// keys that it lacks keep their defaults.
  static StreamSchedule from(mlir::DictionaryAttr attr);
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
};

/// The type of an operand's tile in shared memory.
tile::SharedType sharedTile(const OperandTile &operand, int64_t rows);

/// Tiles of a streamed operand in shared memory at a time. Of a plan that is cut.
int64_t ringStages(const StreamPlan &plan, unsigned streamed, const StreamSchedule &schedule);

/// Bytes of shared memory of a block.
int64_t sharedBytes(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule);

/// Fragments of scores and weights that live at a time. Scores take the place of their contraction,
/// and weights that of their scores, unless something else reads these.
int64_t scoreFragments(const StreamPlan &plan);

/// 32-bit registers a thread needs for fragments at the fullest point of the step, an estimate: the
/// accumulators and the scores of one tile; the operands made of these take their place.
int64_t fragmentRegisters(const StreamPlan &plan, const StreamSchedule &schedule);

/// What else a thread needs: addresses, row vectors, an operand of the product that is under way,
/// and what scalar code reads and computes for the scores of a tile. An estimate.
int64_t otherRegisters(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule);

} // namespace attnc::schedule

#endif
