// What a step of a stream nest computes and moves for each score, whatever the tiles.
#ifndef ATTNC_COMPILER_SCHEDULE_MODEL_STREAM_WORK_H
#define ATTNC_COMPILER_SCHEDULE_MODEL_STREAM_WORK_H

#include "compiler/schedule/model/scalar_cost.h"
#include "compiler/schedule/stream/stream_plan.h"

namespace attnc::schedule {

/// Loads from a table of differences, for each score: elements of a thread's two rows share some,
/// 18 for 32 scores.
inline constexpr double kTableReads = 0.6;

/// Counts for one score (an element of row x stream), a stream index or a row. Masks are not
/// counted: tiles that need none are the rule.
struct StreamWork {
  int64_t scoreColumns = 0;  ///< multiply-adds of the contractions, for each score
  int64_t weightColumns = 0; ///< multiply-adds into the states, for each score
  double special = 0;        ///< exp2, log2, tanh, reciprocals, for each score
  double plain = 0;          ///< other operations, for each score
  int64_t scoreBytes = 0;    ///< read from tensors with both dims, for each score
  int64_t ownScoreBytes = 0; ///< of these, from tensors that no two cells share: from memory
  int64_t streamBytes = 0;   ///< of the streamed operands, for each stream index
  int64_t rowBytes = 0;      ///< of the resident operands, for each row
  int64_t resultBytes = 0;   ///< of the results, for each row
  ScalarCost differences;    ///< of the plan's differences, not in the above: for each value
  int64_t differenceCount = 0;

  /// Where each score computes its differences, and where it reads them from tables.
  StreamWork withoutTables() const;
  StreamWork withTables() const;
};

StreamWork countWork(red::NestOp nest, const StreamPlan &plan);

/// What a score of a tile costs beside that where masks are evaluated: in `special` and `plain`.
StreamWork countMasks(red::NestOp nest, const StreamPlan &plan);

} // namespace attnc::schedule

#endif
