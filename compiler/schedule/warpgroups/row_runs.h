// Rows of an operand that lie anywhere in a tensor, but provably one behind the other for a while.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_ROW_RUNS_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_ROW_RUNS_H

#include "dialects/Attn/Attn.h"

namespace attnc::schedule {

struct RowRun {
  int64_t rows;  ///< a divisor of the tile's
  unsigned axis; ///< of the tensor, along which they follow each other
};

/// Of a tile of `rows` rows along a dim, from a multiple of that on: so many rows, from each
/// multiple of their number on, lie behind each other in the tensor if the first and the last of
/// them exist. Inside of a sequence that begins and ends where data say, or of a page that a table
/// names. Nothing where that is not known, or of fewer rows than the pattern has in which tiles are
/// swizzled.
std::optional<RowRun> runOfRows(attn::ReadOp read, mlir::StringAttr along, int64_t rows);

} // namespace attnc::schedule

#endif
