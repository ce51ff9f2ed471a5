// What a schedule of a stream nest costs in shared memory and registers.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_PORTABLE_SCHEDULE_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_PORTABLE_SCHEDULE_H

#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

using tile::PortableSchedule;

/// The type of an operand's tile in shared memory.
tile::SharedType sharedTile(const OperandTile &operand, int64_t rows);

/// The type of a tile of a result of the plan's pairs.
tile::SharedType pairTile(mlir::OpResult pair, const PortableSchedule &schedule);

/// Parts that arrive one after the other for a tile of the stream.
int64_t tileParts(const StreamPlan &plan, const PortableSchedule &schedule);

/// Why warps cannot share the rows of a plan that is cut by such a schedule, or "".
std::string checkColumnWarps(const StreamPlan &plan, const PortableSchedule &schedule);

/// Why there are too many groups of warps for the same rows, each with a part of the columns, or
/// "".
std::string checkColumnGroups(const StreamPlan &plan, const PortableSchedule &schedule);

/// Rows of a tile of a streamed operand: of a part of it, where warps share rows. Of a plan that is
/// cut.
int64_t streamedRows(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule);

/// Tiles of a streamed operand in shared memory at a time. Of a plan that is cut.
int64_t ringStages(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule);

/// Tiles side by side that a streamed operand has: one for each part of the columns, where groups
/// of warps have a part each. Of a plan that is cut.
int64_t columnTiles(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule);

/// Bytes of shared memory of a block.
int64_t sharedBytes(red::NestOp nest, const StreamPlan &plan, const PortableSchedule &schedule);

/// Fragments of scores and weights that live at a time. Scores take the place of their contraction,
/// and weights that of their scores, unless something else reads these.
int64_t scoreFragments(const StreamPlan &plan);

/// 32-bit registers a thread needs for fragments at the fullest point of the step, an estimate: the
/// accumulators and the scores of one tile; the operands made of these take their place.
int64_t fragmentRegisters(const StreamPlan &plan, const PortableSchedule &schedule);

/// What else a thread needs: addresses, row vectors, an operand of the product that is under way,
/// and what scalar code reads and computes for the scores of a tile. An estimate.
int64_t otherRegisters(red::NestOp nest, const StreamPlan &plan, const PortableSchedule &schedule);

/// Why the nest cannot run by this schedule on the machine, or "".
std::string checkSchedule(red::NestOp nest, const StreamPlan &plan,
                          const PortableSchedule &schedule, const GpuModel &machine);

} // namespace attnc::schedule

#endif
