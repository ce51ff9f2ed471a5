// What scalar code reads of the stream and arrives in shared memory: tensors with an element for
// each row and stream index, and vectors along the stream.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_STREAM_INPUTS_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_STREAM_INPUTS_H

#include "compiler/schedule/portable/portable_schedule.h"

namespace attnc::schedule {

/// One of the inputs, turned or vectors of a StreamPlan, with its tile: rows along the row dim and
/// columns along the stream; the other way round if it is turned; of a vector one row.
struct StagedInput {
  attn::ReadOp read;
  std::optional<unsigned> rowAxis; ///< storage axis of the tile's rows; a vector has none
  bool turned;
  tile::SharedType type;
  int64_t rowBytes; ///< what the bytes from a row to the next are a multiple of
};

/// Those of the nest that arrive so under the schedule, where operands are not cut along their
/// inner dims: vectors; and tensors with both dims, where the schedule asks for it and the last
/// axis has a static extent, so that it is known where copies of several elements end, or an
/// element is enough for a copy.
llvm::SmallVector<StagedInput> stagedInputs(red::NestOp nest, const StreamPlan &plan,
                                            const PortableSchedule &schedule);

} // namespace attnc::schedule

#endif
