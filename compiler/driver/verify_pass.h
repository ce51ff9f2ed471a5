#ifndef ATTNC_COMPILER_DRIVER_VERIFY_PASS_H
#define ATTNC_COMPILER_DRIVER_VERIFY_PASS_H

#include "attnc/result.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/evaluator/inputs.h"

#include <set>

namespace attnc::driver {

/// Watches that passes keep the meaning of a program. It evaluates the program at small extents, on
/// ordinary and on adversarial inputs (logits of 1e4, ascending maxima, infinite biases, one key
/// that carries the weight, fewer keys than queries and none at all, negative params):
///
/// - in float64, where nothing but the order of evaluation may change;
/// - in emulated f32, with operands rounded as scheduled, against the bounds that float64 derives;
/// - domains of nests against the elements that they leave out, one by one.
///
/// Where there are no keys at all, a sum of quotients by an empty sum is 0 as written; passes may
/// divide after the sum, so that NaN passes there, too.
class PassVerifier {
public:
  /// Evaluates `program` as the user wrote it. `extents` of its dynamic dims are those of the
  /// spec's reference shape where it has them; smaller ones are used where the spec allows them.
  /// Error: the program cannot be evaluated.
  static Result<PassVerifier> create(attn::ProgramOp program,
                                     const std::map<std::string, int64_t> &extents);

  /// Error (Internal): after pass `name` an output differs, by how much and on which inputs, or a
  /// domain leaves out what counts.
  Status check(attn::ProgramOp program, const std::string &name) const;

  /// What is evaluated, in words: "random inputs", "random inputs, few keys", ...
  std::vector<std::string> cases() const;

private:
  struct Case {
    std::string label;
    evaluator::EvalInputs inputs;
    evaluator::Outputs expected;
    /// Outputs that f32 is too coarse for as the spec is written (an exponential that overflows):
    /// a pass need not mend that.
    std::set<std::string> beyondF32;
    bool foldsNothing = false; ///< there are no keys
  };

  llvm::Error add(attn::ProgramOp program, evaluator::EvalInputs inputs, std::string label);
  llvm::Error addKinds(attn::ProgramOp program, const std::map<std::string, int64_t> &extents);
  void addFewKeys(attn::ProgramOp program, const std::map<std::string, int64_t> &extents);
  void addNegativeParams(attn::ProgramOp program, const std::map<std::string, int64_t> &extents);
  static Status compare(const Case &c, attn::ProgramOp program, const std::string &name,
                        evaluator::Precision precision);

  std::vector<Case> all;
};

} // namespace attnc::driver

#endif
