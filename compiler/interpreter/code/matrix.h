// Products of tiles, with f32 accumulation.
#ifndef ATTNC_COMPILER_INTERPRETER_CODE_MATRIX_H
#define ATTNC_COMPILER_INTERPRETER_CODE_MATRIX_H

#include "compiler/interpreter/code/places.h"
#include "compiler/interpreter/machine/shared_memory.h"

namespace attnc::interpreter {

struct Matrix {
  unsigned rows = 0, cols = 0;
  std::vector<float> elements; ///< row-major

  /// The first `cols` columns of a tile.
  static Matrix ofTile(SharedMemory &memory, uint32_t base, const TileLayout &layout,
                       unsigned cols);
  /// `cols` columns of registers from `first` on.
  static Matrix ofPlace(const Place &place, unsigned first, unsigned cols);
  Matrix transposed() const;
};

/// c += a b, each of them as the sum of two of bf16, without the product of the smaller ones.
void addProductOfHalves(Place &c, const Matrix &a, const Matrix &b);

/// c += a b. Columns of b beyond those of c, and its rows beyond the columns of a, are left out.
void addProduct(Place &c, const Matrix &a, const Matrix &b);

} // namespace attnc::interpreter

#endif
