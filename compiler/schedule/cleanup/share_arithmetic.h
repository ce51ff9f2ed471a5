// Arithmetic that the elements of a map share, done once.
#ifndef ATTNC_COMPILER_SCHEDULE_CLEANUP_SHARE_ARITHMETIC_H
#define ATTNC_COMPILER_SCHEDULE_CLEANUP_SHARE_ARITHMETIC_H

#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// Rewrites the bodies of the maps over fragments of a kernel with kCleanUpAttr, which it takes
/// away, and erases what elements are not computed from any more; floats except where a comparison
/// or a rounding to a whole number depends on the value, or another kernel computes it, too
/// (kExactAttr):
/// - x / y with a y that all elements share, or all of a row, is x * (1 / y); a division takes ten
///   times as long as a product. The result differs by one more rounding; a y beyond 2^126, or below 2^-126, has no
///   reciprocal in f32.
/// - (x * y) * z with y and z that all elements share is x * (y * z).
/// - an integer that goes up or down with the column is converted to f32 for the thread's first
///   column, and the element's distance to that is added: conversions are as slow as exponentials.
///   Nothing is lost below 2^24.
/// - x mod m == k with constants m and k and an x that goes up or down with the column: x mod m is
/// computed
///   for the thread's first column, and compared with a constant for each element.
/// - with `spreads_factors` in kCleanUpAttr, a factor y that all elements share multiplies both
/// terms of such a sum:
///   an element then takes a constant times y, added to a number of the row, which is one
///   instruction. The terms have up to 2^8 times the size of y, so near 0 the product errs by up to
///   2^8 roundings of y: too much for f32 throughout, nothing beside operands of 16 bits.
void shareElementArithmetic(tile::KernelOp kernel);

} // namespace attnc::schedule

#endif
