// What compiled code gives against what the evaluator says of the spec.
#ifndef ATTNC_TESTS_PROGRAMS_CODE_COMPARISON_H
#define ATTNC_TESTS_PROGRAMS_CODE_COMPARISON_H

#include "compiler/driver/checks/check.h"

namespace attnc::programs {

/// Runs `executor` on inputs of each kind: the first output that is wrong and how, or nothing. What
/// the language leaves open is not wrong (docs/notes/fuzzing.md): so are gradients beside what the
/// program `original`, which `spec` differentiates, leaves undefined (docs/gradients.md). Errors:
/// those of the executor and of the evaluator.
Result<std::string> codeDifference(const Spec &spec, const driver::Executor &executor,
                                   const std::map<std::string, int64_t> &extents,
                                   std::vector<evaluator::InputKind> kinds,
                                   const Spec *original = nullptr);

} // namespace attnc::programs

#endif
