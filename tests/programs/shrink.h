// Counterexamples made small.
#ifndef ATTNC_TESTS_PROGRAMS_SHRINK_H
#define ATTNC_TESTS_PROGRAMS_SHRINK_H

#include <cstdint>
#include <functional>
#include <vector>

namespace attnc::programs {

/// The list of choices that `fails`, made shorter and smaller as long as it still does, with at
/// most `attempts` trials. `fails` of the argument is true.
std::vector<uint32_t> shrink(std::vector<uint32_t> choices,
                             const std::function<bool(const std::vector<uint32_t> &)> &fails,
                             unsigned attempts);

} // namespace attnc::programs

#endif
