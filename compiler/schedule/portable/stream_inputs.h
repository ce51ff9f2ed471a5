// Tensors with an element for each row and stream index that arrive in shared memory.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_STREAM_INPUTS_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_STREAM_INPUTS_H

#include "compiler/schedule/portable/portable_schedule.h"

namespace attnc::schedule {

/// One of StreamPlan::inputs or turned, with its tile: rows along the row dim and columns along the
/// stream, or the other way round if it is turned. `rowAxis` is the storage axis of the tile's
/// rows.
struct StagedInput {
  attn::ReadOp read;
  unsigned rowAxis;
  bool turned;
  tile::SharedType type;
  int64_t extent; ///< of the tensor's last axis
};

/// Those of the nest that arrive so under the schedule, which asks for it: where the last axis has
/// a static extent, so that it is known where copies of several elements end, and operands are not
/// cut along their inner dims.
llvm::SmallVector<StagedInput> stagedInputs(red::NestOp nest, const StreamPlan &plan,
                                            const PortableSchedule &schedule);

} // namespace attnc::schedule

#endif
