// What --check-bounds finds, as text and as JSON.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_BOUNDS_TEXT_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_BOUNDS_TEXT_H

#include "compiler/evaluator/inputs/bounds_check.h"
#include "compiler/frontend/frontend.h"

#include <nlohmann/json.hpp>

namespace attnc::cli {

inline constexpr const char *checkBoundsHelp =
    "Report the first read outside of each tensor whose subscripts come from data, and lengths and "
    "offsets that are wrong, found by the evaluator on the same inputs, whatever the target";

/// The first read outside of each tensor. Failures (usage): those of the evaluator.
std::vector<evaluator::OutsideRead> findOutsideReads(const Spec &spec,
                                                     const evaluator::EvalInputs &inputs);

/// One line on stderr for each read, or one that says that there are none. They are errors if the
/// command `fails` because of them, else remarks.
void noteOutsideReads(const std::vector<evaluator::OutsideRead> &reads, bool fails);

nlohmann::ordered_json toJson(const std::vector<evaluator::OutsideRead> &reads);

} // namespace attnc::cli

#endif
