#pragma once

/// Whether strided views share memory. Both tests are sufficient, not exact: "true" is proven.

#include "runtime/program/bind.h"

#include <cstdint>
#include <optional>

namespace attnc {

/// Bytes from the first to one past the last byte that the view touches; 0 for an empty view.
/// Nothing where that does not fit in 64 bits. Strides are not negative.
std::optional<std::int64_t> spanBytes(const TensorRef &tensor);

/// No two elements of the view share memory. Proven for every permuted, padded or sliced array.
bool elementsAreDistinct(const TensorRef &tensor);

/// The views share no byte. Proven where their address ranges are apart, and where they interleave
/// like the parts of one packed array (q, k and v in one [b, i, 3, h, d]).
bool areDisjoint(const TensorRef &a, const TensorRef &b);

} // namespace attnc
