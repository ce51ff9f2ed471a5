#include "runtime/program/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace attnc {

namespace {

constexpr std::int64_t mapAlign = 16;
constexpr std::int64_t maxExtentOfMap = std::int64_t(1) << 32;
constexpr std::int64_t strideLimit = std::int64_t(1) << 40;
constexpr std::int64_t maxBoxExtent = 256;
constexpr std::int64_t maxBoxBytes = 227 * 1024;

bool hasMapType(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32 || type == DType::I32 ||
         type == DType::I64;
}

/// The stride of a storage axis in bytes, as the map has it.
Result<std::int64_t> mapStride(const TensorDecl &decl, const TensorRef &tensor, std::size_t axis) {
  if (tensor.shape[axis] <= 1)
    return mapAlign; // never used, but must be legal
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(tensor.strides[axis],
                              static_cast<std::int64_t>(dtypeSize(decl.dtype)), &bytes) &&
      bytes < strideLimit)
    return bytes;
  return invalidArgument(
      fmt::format("{}: the stride of dim {} is {} elements, but a tensor map needs less than 2^40 "
                  "bytes",
                  decl.name, decl.dims[axis], tensor.strides[axis]),
      fmt::format("pass a contiguous copy of {}", decl.name));
}

} // namespace

Status checkTensorMapBox(const TensorDecl &tensor, const std::vector<std::int64_t> &box,
                         int swizzle) {
  if (!hasMapType(tensor.dtype))
    return invalidArgument(
        fmt::format("{} is {}, but a tensor map needs f16, bf16, f32, i32 or i64", tensor.name,
                    dtypeName(tensor.dtype)));
  if (tensor.dims.empty() || tensor.dims.size() > 5)
    return invalidArgument(fmt::format("{} has {} axes, but a tensor map has 1 to 5", tensor.name,
                                       tensor.dims.size()));
  if (box.size() != tensor.dims.size())
    return invalidArgument(fmt::format("'box' has {} extents, but {} has {} axes", box.size(),
                                       tensor.name, tensor.dims.size()));
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return invalidArgument(fmt::format("'swizzle' is {}, not 0, 32, 64 or 128", swizzle));
  auto bytes = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  for (std::int64_t extent : box) {
    if (extent < 1 || extent > maxBoxExtent)
      return invalidArgument(
          fmt::format("an extent of 'box' is {}, not in 1..{}", extent, maxBoxExtent));
    bytes *= extent; // at most 4 * 256^5
  }
  if (bytes > maxBoxBytes)
    return invalidArgument(
        fmt::format("'box' has {} bytes, but shared memory has {}", bytes, maxBoxBytes));
  std::int64_t row = box.front() * static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  if (row % mapAlign != 0)
    return invalidArgument(
        fmt::format("a row of 'box' is {} bytes, not a multiple of {}", row, mapAlign));
  if (swizzle != 0 && row > swizzle)
    return invalidArgument(
        fmt::format("a row of 'box' is {} bytes, longer than its swizzle of {}", row, swizzle));
  return {};
}

Result<TensorMapArg> describeTensorMap(const TensorDecl &decl, const TensorRef &tensor,
                                       const std::vector<std::int64_t> &box, int swizzle) {
  std::size_t rank = tensor.shape.size();
  TensorMapArg map{tensor.data, decl.dtype, {}, {}, box, swizzle};
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) {
    map.base = nullptr;
    map.extents.assign(rank, 1);
    map.strides.assign(rank - 1, mapAlign);
    return map;
  }
  if (Status status = checkAlignment(decl, tensor, mapAlign); !status)
    return status.error();
  for (std::size_t axis = rank; axis-- > 0;) {
    if (tensor.shape[axis] > maxExtentOfMap)
      return invalidArgument(fmt::format("{}: dim {} is {}, but a tensor map has at most 2^32",
                                         decl.name, decl.dims[axis], tensor.shape[axis]),
                             "split it into several calls");
    map.extents.push_back(tensor.shape[axis]);
    if (axis + 1 == rank)
      continue;
    Result<std::int64_t> stride = mapStride(decl, tensor, axis);
    if (!stride)
      return stride.error();
    map.strides.push_back(*stride);
  }
  return map;
}

} // namespace attnc
