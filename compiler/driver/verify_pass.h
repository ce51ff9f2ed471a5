#ifndef ATTNC_COMPILER_DRIVER_VERIFY_PASS_H
#define ATTNC_COMPILER_DRIVER_VERIFY_PASS_H

#include "attnc/result.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/evaluator/inputs.h"

namespace attnc::driver {

/// Watches that passes keep the meaning of a program: evaluates it in float64 on ordinary and on
/// adversarial inputs, at small extents.
class PassVerifier {
public:
  /// Evaluates `program` as the user wrote it. `extents` of its dynamic dims are those of the
  /// spec's reference shape where it has them. Error: the program cannot be evaluated.
  static Result<PassVerifier> create(attn::ProgramOp program,
                                     const std::map<std::string, int64_t> &extents);

  /// Error (Internal): after pass `name` an output differs, by how much and on which inputs.
  Status check(attn::ProgramOp program, const std::string &name) const;

private:
  struct Case {
    evaluator::InputKind kind;
    evaluator::EvalInputs inputs;
    evaluator::Outputs expected;
  };
  std::vector<Case> cases;
};

} // namespace attnc::driver

#endif
