// Who does what with a tile of the stream, and when, in words.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_STEP_TEXT_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_STEP_TEXT_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// A line for each tile.fetch or kind of tile.copy, in the order of copies, and for each tile.step,
/// in the order in which they run. In a kernel with roles "*" marks what is about the tile before,
/// as the last line says. Empty for a kernel without tile.row_tiles or tile.stream_ahead.
std::vector<std::string> stepLines(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
