// What a kernel consists of, counted in its PTX: the text that its source alone decides, before
// ptxas schedules it and gives out registers.
#ifndef ATTNC_TESTS_E2E_PTX_COUNTS_H
#define ATTNC_TESTS_E2E_PTX_COUNTS_H

#include <map>
#include <string>
#include <string_view>

namespace attnc::e2e {

/// The instructions of a PTX module by class ("wgmma.mma_async", "ex2", "fma.f32"), without those
/// that it has none of. "total" counts all, whether or not they have a class.
std::map<std::string, int> countInstructions(std::string_view ptx);

/// The compiler that a PTX module names in its heading, "13.0, V13.0.88"; "" if it names none.
std::string ptxCompiler(std::string_view ptx);

} // namespace attnc::e2e

#endif
