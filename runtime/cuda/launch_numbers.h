#pragma once

/// The numbers that a launch passes to the CUDA driver: for the launch here (driver.cpp), and for
/// the descriptions that launchers of others read.
///
/// Source: cuda.h 13.0, CUtensorMapDataType and the enumerations beside it, CUfunction_attribute.

#include "runtime/program/dtype.h"

namespace attnc {

/// CUtensorMapDataType of an element that a map can have: f16, bf16, f32, i32 or i64.
constexpr int tensorMapDataType(DType type) {
  constexpr int i32 = 3, i64 = 5, f16 = 6, f32 = 7, bf16 = 9;
  switch (type) {
  case DType::F16:
    return f16;
  case DType::BF16:
    return bf16;
  case DType::I32:
    return i32;
  case DType::I64:
    return i64;
  default: // checkTensorMapBox lets nothing else pass
    return f32;
  }
}

/// CUtensorMapSwizzle of 0, 32, 64 or 128 bytes.
constexpr int tensorMapSwizzle(int bytes) {
  return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0;
}

/// Rows are not interleaved, loads are promoted to 128 bytes in L2, elements outside read as zeros.
inline constexpr int tensorMapInterleave = 0, tensorMapL2Promotion = 2, tensorMapFill = 0;

/// Attributes of a function that some kernels need set before their first launch
/// (CUfunction_attribute): the most dynamic shared memory, needed above 48 KiB, how many percent of
/// a multiprocessor's memory are shared memory, and clusters of more than 8 blocks.
inline constexpr int functionMaxDynamicShared = 8, functionSharedCarveout = 9,
                     functionLargeClusters = 14;
inline constexpr int sharedBytesWithoutOptIn = 48 * 1024, portableClusterBlocks = 8;

} // namespace attnc
