// How a run's tensors lie in memory: contiguous, or as views into more.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_TENSOR_LAYOUT_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_TENSOR_LAYOUT_H

#include "attnc/result.h"
#include "runtime/program/bind.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attnc::driver {

/// A tensor starts `offset` elements into its block of memory, and `padding` elements follow each
/// row of its last dim. With odd numbers, neither addresses nor strides are aligned to more than an
/// element. The default is C-contiguous.
struct TensorLayout {
  int64_t offset = 0, padding = 0;

  /// Bytes of the block.
  size_t blockBytes(DType dtype, const std::vector<int64_t> &shape) const;
  /// The tensor in the block that starts at `block`.
  TensorRef at(void *block, DType dtype, const std::vector<int64_t> &shape,
               const Device &device = {}) const;
  /// Copies C-contiguous elements to their places in a block; what lies between them is left alone.
  void scatter(const std::byte *elements, DType dtype, const std::vector<int64_t> &shape,
               std::byte *block) const;
  /// The elements of a block, C-contiguous.
  std::vector<std::byte> gather(const std::byte *block, DType dtype,
                                const std::vector<int64_t> &shape) const;
  /// Error (Internal): a byte of the block that is not the tensor's is no longer poison.
  Status checkGaps(const std::string &name, const std::byte *block, DType dtype,
                   const std::vector<int64_t> &shape) const;
};

} // namespace attnc::driver

#endif
