// The registers of a warp: tiles with what is known of the products that use them.
#ifndef ATTNC_COMPILER_INTERPRETER_CODE_PLACES_H
#define ATTNC_COMPILER_INTERPRETER_CODE_PLACES_H

#include "compiler/interpreter/code/kernel_code.h"

namespace attnc::interpreter {

/// The four lanes of a quad hold a row of a fragment: lane l the columns c with c % 8 / 2 == l, and
/// each its own share of a row vector.
inline constexpr unsigned kShares = 4;
inline unsigned shareOf(unsigned col) { return col % 8 / 2; }

/// What is wrong where they would have to agree.
inline constexpr const char *kSharesDiffer =
    "writes rows of which the four lanes hold different values: no tile.reduce_quad has combined "
    "them";

struct Place {
  /// Row-major; a row vector has kShares columns.
  std::vector<float> elements;
  unsigned rows = 0, cols = 0;
  bool written = false;
  /// Numbers of asynchronous products of this warp, from 1: the last that writes here, up to which
  /// a tile.mma_wait has named this place, the last that reads here.
  uint32_t product = 0, settled = 0, reader = 0;
  /// How many tile.mma_fence had run when another instruction last touched it.
  uint32_t touched = 0;

  float &at(unsigned row, unsigned col) { return elements[row * cols + col]; }
  /// Of a row vector: whether the lanes of each quad hold the same bits.
  bool sharesAgree() const;
};

} // namespace attnc::interpreter

#endif
