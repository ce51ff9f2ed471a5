#include "compiler/driver/execution/tensor_layout.h"
#include "compiler/driver/execution/guarded_memory.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attnc::driver {

namespace {

/// A tensor as rows of bytes.
struct Rows {
  size_t count, bytes, first,
      pitch; ///< how many, of each, where the first is, from one to the next

  Rows(const TensorLayout &layout, DType dtype, const std::vector<int64_t> &shape)
      : count(1), bytes(dtypeSize(dtype)), first(layout.offset * bytes) {
    for (size_t axis = 0; axis < shape.size(); ++axis)
      (axis + 1 == shape.size() ? bytes : count) *= static_cast<size_t>(shape[axis]);
    pitch = bytes + layout.padding * dtypeSize(dtype);
  }
};

} // namespace

size_t TensorLayout::blockBytes(DType dtype, const std::vector<int64_t> &shape) const {
  Rows rows(*this, dtype, shape);
  return rows.first + rows.count * rows.pitch;
}

TensorRef TensorLayout::at(void *block, DType dtype, const std::vector<int64_t> &shape,
                           const Device &device) const {
  std::vector<int64_t> padded = shape;
  if (!padded.empty())
    padded.back() += padding;
  void *data = static_cast<std::byte *>(block) + Rows(*this, dtype, shape).first;
  return {data, dtype, shape, contiguousStrides(padded), device};
}

void TensorLayout::scatter(const std::byte *elements, DType dtype,
                           const std::vector<int64_t> &shape, std::byte *block) const {
  Rows rows(*this, dtype, shape);
  for (size_t row = 0; row < rows.count && rows.bytes; ++row)
    std::memcpy(block + rows.first + row * rows.pitch, elements + row * rows.bytes, rows.bytes);
}

std::vector<std::byte> TensorLayout::gather(const std::byte *block, DType dtype,
                                            const std::vector<int64_t> &shape) const {
  Rows rows(*this, dtype, shape);
  std::vector<std::byte> elements(rows.count * rows.bytes);
  for (size_t row = 0; row < rows.count && rows.bytes; ++row)
    std::memcpy(elements.data() + row * rows.bytes, block + rows.first + row * rows.pitch,
                rows.bytes);
  return elements;
}

Status TensorLayout::checkGaps(const std::string &name, const std::byte *block, DType dtype,
                               const std::vector<int64_t> &shape) const {
  Rows rows(*this, dtype, shape);
  auto written = [](std::byte b) { return b != std::byte{poisonByte}; };
  bool found = std::any_of(block, block + rows.first, written);
  for (size_t row = 0; row < rows.count && !found; ++row) {
    const std::byte *end = block + rows.first + row * rows.pitch + rows.bytes;
    found = std::any_of(end, end + (rows.pitch - rows.bytes), written);
  }
  return found ? Status(internalError(
                     fmt::format("a kernel wrote between the rows of '{}', or before them", name)))
               : Status();
}

} // namespace attnc::driver
