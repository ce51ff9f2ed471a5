#pragma once

/// Tensor maps: descriptions of tensors from which the copy engine of Hopper and later GPUs (TMA)
/// moves boxes between global and shared memory. Here they are plain values; the GPU's driver
/// encodes them (CudaDevice::encodeTensorMap).
///
/// Source of the limits: CUDA driver API reference 13.0, cuTensorMapEncodeTiled. Strides may be in
/// any order and may be 0: an expanded axis repeats its elements.

#include "attnc/result.h"
#include "runtime/program/bind.h"
#include "runtime/program/manifest.h"

#include <cstdint>
#include <vector>

namespace attnc {

/// A tensor map before it is encoded. Axes are in reverse storage order: the contiguous one is
/// first. Elements beyond the extents read as 0 and are not written. Boxes are not interleaved,
/// every element of a box is copied, and loads are promoted to 128 bytes in L2.
struct TensorMapArg {
  void *base = nullptr; ///< device memory, 16-byte aligned; null for a tensor without elements
  DType dtype = DType::F32;
  std::vector<std::int64_t> extents; ///< elements, at least 1
  /// Bytes, of all axes but the first, which is contiguous: multiples of 16 below 2^40.
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> box; ///< elements
  int swizzle = 128;             ///< bytes: 0 (none), 32, 64 or 128

  friend bool operator==(const TensorMapArg &, const TensorMapArg &) = default;
};

/// Whether a tensor so declared can have a map with this box and swizzle. A row of the box (its
/// extent in the innermost axis) is a multiple of 16 bytes and, if there is a swizzle, not longer
/// than that. The box fits in the shared memory of a block, 227 KiB on Hopper.
Status checkTensorMapBox(const TensorDecl &tensor, const std::vector<std::int64_t> &box,
                         int swizzle);

/// The map of `tensor`, which binding has checked against `decl`, with a box that checkTensorMapBox
/// has passed. Errors (InvalidArgument): a base or stride that is not aligned to 16 bytes, a stride
/// of 2^40 bytes or more, an extent above 2^32. The stride of an axis with one element is not
/// looked at.
///
/// A tensor without elements has no memory, yet a kernel may issue a load before it knows: its map
/// has no base and one element in each axis, and the launch puts zeros of its own there, so that
/// every load gives zeros. A kernel stores nothing through such a map.
Result<TensorMapArg> describeTensorMap(const TensorDecl &decl, const TensorRef &tensor,
                                       const std::vector<std::int64_t> &box, int swizzle);

} // namespace attnc
