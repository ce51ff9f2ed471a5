// How the operands of a nest arrive: by copies of boxes, of which shape, or row by row.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_OPERAND_MAPS_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_OPERAND_MAPS_H

#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"

namespace attnc::schedule {

/// The axes of a tensor map: cuTensorMapEncodeTiled.
inline constexpr size_t kMostMapAxes = 5;
/// And the rows of a box.
inline constexpr int64_t kMostBoxRows = 256;

/// A tensor that arrives as tiles, or a half of what it is encoded as, and the extents of the boxes
/// that fill a tile panel by panel: one for each axis of the tensor, the last one first; none if it
/// only comes row by row.
struct OperandMap {
  /// Vector: one row along the stream, which scalar code reads. Finish: read behind the stream.
  /// Band: the rows around the tile's, for a product behind the stream.
  enum class Kind { Resident, Streamed, Input, Vector, Finish, Band } kind;
  attn::ReadOp read;
  unsigned rowAxis;   ///< ~0 of a vector
  int64_t rows, cols; ///< of the tile
  mlir::Type element;
  llvm::SmallVector<int64_t> box;
  bool alsoElements = false; ///< scalar code reads single elements, too
  bool byRows = false;       ///< rows are copied one by one, from where each lies
  int64_t run = 0;           ///< byRows: the rows of a box that brings some together; 0: no box
  int64_t stages = 1;        ///< tiles in shared memory at a time
  bool stays = false;        ///< an input of which all columns are there for a run of row tiles
  Half half = Half::None;

  int64_t slotBytes() const; ///< of a tile in shared memory
};

/// True if no box of a tensor map is a tile of the operand, whose rows are indices of `along`: they
/// lie anywhere in the tensor, or a length that comes from data ends them inside of it.
bool comesByRows(const OperandTile &operand, mlir::StringAttr along);

/// True if what is read along the tensor's last axis is all of it.
bool hasWholeRows(attn::ReadOp read);

/// The tensors that the nest's schedule copies by boxes: operands and row x stream inputs in the
/// form "warpgroups", none in others.
llvm::SmallVector<OperandMap> boxMaps(PlannedNest &nest);

/// All tensors that arrive as tiles by a plan and a schedule, which may cut it. Residents first,
/// each once, then streamed ones, inputs, vectors and what the finish reads, in the plan's order.
llvm::SmallVector<OperandMap> operandMaps(const StreamPlan &plan,
                                          const WarpgroupSchedule &schedule);

/// The grid dims that none of the inputs which stay has: row tiles that differ in these alone
/// follow each other. Empty where no input may stay.
llvm::SmallVector<mlir::StringAttr> runDims(red::NestOp nest, const StreamPlan &plan);

/// The vectors along the stream among them.
llvm::SmallVector<attn::ReadOp> copiedVectors(const StreamPlan &plan,
                                              const WarpgroupSchedule &schedule);

/// A result that leaves by copies of boxes: each warp's 16 rows at a time, panel by panel.
struct ResultMap {
  mlir::Value result;
  unsigned rowAxis;
  int64_t rows, cols; ///< of the block's tile
  mlir::Type element;
  llvm::SmallVector<int64_t> box;

  int64_t bytes() const; ///< of the block's tile in shared memory
};

/// The results that a schedule stores so: all ResultTiles with `bulkStores`, but for those with
/// more axes than a tensor map has.
llvm::SmallVector<ResultMap> resultMaps(const StreamPlan &plan, const WarpgroupSchedule &schedule);

/// The same for a nest with its schedule; none in other forms.
llvm::SmallVector<ResultMap> resultMaps(PlannedNest &nest);

} // namespace attnc::schedule

#endif
