#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_CHECK_READS_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_CHECK_READS_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// A read that may touch memory outside of its array.
struct UnprovenRead {
  attn::ReadOp read;
  std::string message; ///< which subscript, and what is known about it
  std::string remedy;
};

/// The reads of a program without an `else` value of which some subscript is not proven to stay
/// inside its axis, in the program's order. A proof uses the extents, the ranges of params and the
/// program's attn.require and attn.extent ops, which are checked when shapes are bound: the same
/// rules as for specs in JSON (see IntervalAnalysis and SubscriptArithmetic).
std::vector<UnprovenRead> unprovenReads(attn::ProgramOp program);

} // namespace attnc

#endif
