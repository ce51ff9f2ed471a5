#pragma once

/// How much memory the machine can still give.

#include <cstdint>
#include <optional>

namespace attnc {

/// Bytes of host memory that this process can still write to: what Linux says can be had without
/// swapping, and no more than its control group leaves. Linux promises more than that and ends a
/// process that takes it at its word, so large allocations ask here first. Nothing where the system
/// does not say. Takes some tens of microseconds; safe to call from several threads.
std::optional<std::uint64_t> availableHostMemory();

} // namespace attnc
