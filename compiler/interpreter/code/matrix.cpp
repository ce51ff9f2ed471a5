#include "compiler/interpreter/code/matrix.h"

namespace attnc::interpreter {

Matrix Matrix::ofTile(SharedMemory &memory, uint32_t base, const TileLayout &layout,
                      unsigned cols) {
  Matrix matrix{layout.rows, cols, std::vector<float>(layout.rows * cols)};
  for (unsigned row = 0; row < layout.rows; ++row)
    for (unsigned col = 0; col < cols; col += layout.perChunk())
      loadFloats(layout.dtype, memory.at(layout.at(base, row, col)),
                 std::min(layout.perChunk(), cols - col), &matrix.elements[row * cols + col]);
  return matrix;
}

Matrix Matrix::ofPlace(const Place &place, unsigned first, unsigned cols) {
  Matrix matrix{place.rows, cols, {}};
  for (unsigned row = 0; row < place.rows; ++row) {
    auto begin = place.elements.begin() + row * place.cols + first;
    matrix.elements.insert(matrix.elements.end(), begin, begin + cols);
  }
  return matrix;
}

Matrix Matrix::transposed() const {
  Matrix result{cols, rows, std::vector<float>(elements.size())};
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned col = 0; col < cols; ++col)
      result.elements[col * rows + row] = elements[row * cols + col];
  return result;
}

void addProductOfHalves(Place &c, const Matrix &a, const Matrix &b) {
  auto halves = [](const Matrix &x) {
    std::pair<Matrix, Matrix> pair{x, x};
    for (size_t i = 0; i < x.elements.size(); ++i) {
      pair.first.elements[i] = roundTo(DType::BF16, x.elements[i]);
      pair.second.elements[i] = roundTo(DType::BF16, x.elements[i] - pair.first.elements[i]);
    }
    return pair;
  };
  auto [aHigh, aLow] = halves(a);
  auto [bHigh, bLow] = halves(b);
  addProduct(c, aLow, bHigh);
  addProduct(c, aHigh, bLow);
  addProduct(c, aHigh, bHigh);
}

void addProduct(Place &c, const Matrix &a, const Matrix &b) {
  unsigned depth = std::min(a.cols, b.rows), cols = std::min(c.cols, b.cols);
  for (unsigned row = 0; row < c.rows; ++row) {
    float *sum = &c.elements[row * c.cols];
    for (unsigned k = 0; k < depth; ++k) {
      float x = a.elements[row * a.cols + k];
      const float *y = &b.elements[k * b.cols];
      for (unsigned col = 0; col < cols; ++col)
        sum[col] += x * y[col];
    }
  }
}

} // namespace attnc::interpreter
