#include "compiler/interpreter/code/tile_layout.h"
#include <cstring>
#include <numeric>

using namespace mlir;

namespace attnc::interpreter {

TileLayout::TileLayout(tile::SharedType type)
    : rows(type.getRows()), cols(type.getCols()), width(type.getWidth()),
      panelRows(type.getPanelRows()), dtype(tile::elementType(type.getElement()).dtype) {}

uint32_t TileLayout::chunk(uint32_t base, uint32_t row, uint32_t index) const {
  if (panelRows > 1) {
    uint32_t place = base % 128 / kChunkBytes + index;
    uint32_t line = place / 8 * panelRows + row;
    return base - base % 128 + line * 128 + (place % 8 ^ line % 8) * kChunkBytes;
  }
  uint32_t period = std::gcd(rowBytes() / kChunkBytes, 8u);
  uint32_t swizzled = index ^ row / (8 / period) % period;
  return base + row * rowBytes() + swizzled * kChunkBytes;
}

uint32_t TileLayout::columns(uint32_t col) const {
  uint32_t perPanel = 128 / elementBytes();
  return col / perPanel * panelRows * 128 + col % perPanel * elementBytes();
}

void loadFloats(DType dtype, const std::byte *from, uint32_t count, float *to) {
  auto each = [&]<class T>(T, auto convert) {
    for (uint32_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, from + i * sizeof(T), sizeof(T));
      to[i] = convert(element);
    }
  };
  switch (dtype) {
  case DType::F16:
    return each(uint16_t(), halfToFloat);
  case DType::BF16:
    return each(uint16_t(), bfloatToFloat);
  case DType::F32:
    return each(float(), [](float x) { return x; });
  default:
    for (uint32_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(loadElement(dtype, from + i * dtypeSize(dtype)));
  }
}

void storeFloats(DType dtype, const float *from, uint32_t count, std::byte *to) {
  for (uint32_t i = 0; i < count; ++i)
    storeElement(dtype, from[i], to + i * dtypeSize(dtype));
}

float roundTo(DType dtype, float value) {
  switch (dtype) {
  case DType::F16:
    return halfToFloat(floatToHalf(value));
  case DType::BF16:
    return bfloatToFloat(floatToBFloat(value));
  default:
    return value;
  }
}

} // namespace attnc::interpreter
