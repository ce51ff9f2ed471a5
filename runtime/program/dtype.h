#pragma once

/// Element types of tensors, and exact conversions between them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace attnc {

enum class DType { F16, BF16, F32, F64, I8, I32, I64, U8 };

/// "f16", "bf16", "f32", ...: the names used in specs and manifests.
std::string_view dtypeName(DType type);
std::optional<DType> dtypeFromName(std::string_view name);

/// Size of an element in bytes.
std::size_t dtypeSize(DType type);
bool isFloat(DType type);

/// Conversions to 16 bits round to nearest, ties to even; overflow gives infinity, subnormals are
/// kept, a NaN stays a (quiet) NaN of the same sign. Conversions from 16 bits are exact.
std::uint16_t floatToHalf(float value);
float halfToFloat(std::uint16_t bits);
std::uint16_t floatToBFloat(float value);
float bfloatToFloat(std::uint16_t bits);

/// The element at `element`, whose bytes need no alignment. i64 beyond 2^53 is rounded.
double loadElement(DType type, const void *element);

/// Writes `value`, rounded once, to nearest even for floats; integers are rounded to nearest even
/// and saturated (NaN gives 0).
void storeElement(DType type, double value, void *element);

} // namespace attnc
