// Arithmetic that the elements of a map share, done once.
#ifndef ATTNC_COMPILER_SCHEDULE_SHARE_ARITHMETIC_H
#define ATTNC_COMPILER_SCHEDULE_SHARE_ARITHMETIC_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Rewrites the bodies of the kernel's maps over fragments:
/// - x / y with a y that all elements share is x * (1 / y); a division takes ten times as long as a
///   product. The result differs by one more rounding.
/// - (x * y) * z with y and z that all elements share is x * (y * z).
/// - an integer that goes up or down with the column is converted to f32 for the first column of
/// the
///   thread, and the element's distance to that is added: conversions are as slow as exponentials.
///   The result differs by one more rounding.
void shareElementArithmetic(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
