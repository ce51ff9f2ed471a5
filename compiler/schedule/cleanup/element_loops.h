// Loops in the code of a fragment's elements, which would be written out for each of them.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_ELEMENT_LOOPS_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_ELEMENT_LOOPS_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The elements that a thread holds of a fragment or of row vectors; 1 of anything else.
int64_t elementsOfThread(mlir::Type type);

/// The code of a map over fragments is repeated for every element that a thread holds. So where all
/// elements run the same turns of a loop, and no other fragments wait meanwhile (the map is not in
/// the loop over tiles), the loop goes around the map: each turn is code for one turn of all
/// elements, which do not wait for each other, and what they have in common is computed once. An
/// element's values and their order stay. What the loop carries is kept in fragments meanwhile;
/// where registers are too few, or the turns differ from element to element, the loop stays in the
/// map, and as many turns of it are unrolled as kElementCode allows.
void shareElementLoops(tile::KernelOp kernel);

/// Operations that a loop in a map may become for all elements of a thread by being unrolled:
/// NVRTC's time goes with them.
inline constexpr int64_t kElementCode = 4096;

/// 32-bit registers of a thread for the fragments of a map whose loop goes around it.
inline constexpr int64_t kElementRegisters = 160;

} // namespace attnc::schedule

#endif
