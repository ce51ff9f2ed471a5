#include "runtime/program/dtype.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace attnc {

namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::size_t size;
  bool isFloat;
};

constexpr DTypeRow table[] = {
    {DType::F16, "f16", 2, true},  {DType::BF16, "bf16", 2, true}, {DType::F32, "f32", 4, true},
    {DType::F64, "f64", 8, true},  {DType::I8, "i8", 1, false},    {DType::I32, "i32", 4, false},
    {DType::I64, "i64", 8, false}, {DType::U8, "u8", 1, false},
};

const DTypeRow &row(DType type) { return table[static_cast<int>(type)]; }

/// Shifts out `shift` bits, rounding to nearest even.
std::uint32_t shiftRoundEven(std::uint32_t bits, int shift) {
  if (shift > 31)
    return 0;
  std::uint32_t kept = bits >> shift;
  std::uint32_t rest = bits & ((1u << shift) - 1);
  std::uint32_t half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

/// Rounds to f32 so that a second rounding to fewer bits gives what one rounding of `value` would:
/// an inexact result gets an odd last bit (round to odd; Boldo and Melquiond, 2008).
float roundToOdd(double value) {
  float rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || std::isnan(value))
    return rounded;
  auto bits = std::bit_cast<std::uint32_t>(rounded);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value))
    --bits;
  return std::bit_cast<float>(bits | 1u);
}

template <typename T> T read(const void *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T> void write(void *element, T value) {
  std::memcpy(element, &value, sizeof value);
}

template <typename T> T saturate(double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

} // namespace

std::string_view dtypeName(DType type) { return row(type).name; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (const DTypeRow &entry : table)
    if (entry.name == name)
      return entry.type;
  return std::nullopt;
}

std::size_t dtypeSize(DType type) { return row(type).size; }

bool isFloat(DType type) { return row(type).isFloat; }

std::uint16_t floatToHalf(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) // NaN: keep the upper payload, force the quiet bit
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  if (magnitude >= 0x47800000u) // 2^16 and above, infinity included
    return static_cast<std::uint16_t>(sign | 0x7c00u);
  int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -14) { // a subnormal of half: multiples of 2^-24
    if (exponent < -25)
      return sign;
    std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return static_cast<std::uint16_t>(sign | shiftRoundEven(mantissa, -exponent - 1));
  }
  // Rebias 127 -> 15. A carry out of the mantissa runs into the exponent, up to infinity, as it
  // must.
  return static_cast<std::uint16_t>(sign | shiftRoundEven(magnitude - ((127u - 15u) << 23), 13));
}

float halfToFloat(std::uint16_t bits) {
  std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = (bits >> 10) & 0x1fu;
  std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) { // zero or subnormal: mantissa * 2^-24 is exact in f32
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

std::uint16_t floatToBFloat(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>(shiftRoundEven(bits, 16));
}

float bfloatToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

double loadElement(DType type, const void *element) {
  switch (type) {
  case DType::F16:
    return halfToFloat(read<std::uint16_t>(element));
  case DType::BF16:
    return bfloatToFloat(read<std::uint16_t>(element));
  case DType::F32:
    return read<float>(element);
  case DType::F64:
    return read<double>(element);
  case DType::I8:
    return read<std::int8_t>(element);
  case DType::I32:
    return read<std::int32_t>(element);
  case DType::I64:
    return static_cast<double>(read<std::int64_t>(element));
  case DType::U8:
    return read<std::uint8_t>(element);
  }
  return 0;
}

void storeElement(DType type, double value, void *element) {
  switch (type) {
  case DType::F16:
    return write(element, floatToHalf(roundToOdd(value)));
  case DType::BF16:
    return write(element, floatToBFloat(roundToOdd(value)));
  case DType::F32:
    return write(element, static_cast<float>(value));
  case DType::F64:
    return write(element, value);
  case DType::I8:
    return write(element, saturate<std::int8_t>(value));
  case DType::I32:
    return write(element, saturate<std::int32_t>(value));
  case DType::I64:
    return write(element, saturate<std::int64_t>(value));
  case DType::U8:
    return write(element, saturate<std::uint8_t>(value));
  }
}

} // namespace attnc
