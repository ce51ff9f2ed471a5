#pragma once

/// NumPy's .npy files (format versions 1 to 3), in C order.

#include "attnc/result.h"
#include "runtime/program/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// A C-contiguous array. NumPy has no bf16: a uint16 array on disk is read as BF16 (its bits), and
/// BF16 is written as uint16.
struct NpyArray {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  std::int64_t elements() const {
    return static_cast<std::int64_t>(data.size() / dtypeSize(dtype));
  }
};

/// Reads a file. Little-endian f2 f4 f8 i1 i4 i8 u1 u2, b1 as u1. Errors: another dtype or byte
/// order, Fortran order, a malformed header, fewer or more bytes than the shape says (checked
/// before allocation).
Result<NpyArray> readNpy(const std::filesystem::path &path);
Status writeNpy(const NpyArray &array, const std::filesystem::path &path);

/// The same for bytes in memory. Any bytes are safe to pass.
Result<NpyArray> parseNpy(std::string_view bytes);
std::string formatNpy(const NpyArray &array);

} // namespace attnc
