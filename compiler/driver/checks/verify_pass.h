#ifndef ATTNC_COMPILER_DRIVER_CHECKS_VERIFY_PASS_H
#define ATTNC_COMPILER_DRIVER_CHECKS_VERIFY_PASS_H

#include "attnc/result.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/evaluator/inputs/inputs.h"

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
/// Where a dim has no index at all, a sum over it is 0 as written; what the spec multiplies or
/// divides its elements by may be applied after it. If that comes from another reduction over the
/// dim, which may be 0 or infinite then, NaN passes in the place of the 0 (docs/spec.md). A softmax
/// is none such.
class PassVerifier {
public:
  /// Evaluates `program` as the user wrote it. `extents` are of its dynamic dims; smaller ones are
  /// used where the spec allows them, and small ones for the others. A param that is not among
  /// `params` has its default, or a value of its range. Error: the program cannot be evaluated.
  static Result<PassVerifier> create(attn::ProgramOp program,
                                     const std::map<std::string, int64_t> &extents,
                                     const std::map<std::string, double> &params = {});

  /// The same, for programs that are drawn at random: an output may be anything where it is
  /// infinite or NaN as written or what it is made of overflows as written, and NaN where it
  /// follows from a factor that nothing defines over no keys. The language allows all this
  /// (docs/spec.md, Precision and Reductions), and such programs come to it often.
  static Result<PassVerifier> createInRange(attn::ProgramOp program,
                                            const std::map<std::string, int64_t> &extents);

  /// The same for `program` and the program `whole` with its gradients: the gradients of outputs
  /// are finite on all inputs, and where `program` gives or computes NaN or overflows, gradients
  /// may be NaN, and anything where NaN is compared (docs/gradients.md). Both have to outlive the
  /// verifier.
  static Result<PassVerifier> createForGradients(attn::ProgramOp program, attn::ProgramOp whole,
                                                 const std::map<std::string, int64_t> &extents,
                                                 const std::map<std::string, double> &params = {});

  /// Error (Internal): after pass `name` an output differs, by how much and on which inputs, or a
  /// domain leaves out what counts.
  Status check(attn::ProgramOp program, const std::string &name) const {
    return check(llvm::ArrayRef(program), name);
  }

  /// The same of programs that run one after the other and give the outputs together: those of one
  /// are inputs of the next ones, as what a forward program saves for its backward.
  Status check(llvm::ArrayRef<attn::ProgramOp> programs, const std::string &name) const;

  /// What is evaluated, in words: "random inputs", "random inputs, few keys", ...
  std::vector<std::string> cases() const;

private:
  static Result<PassVerifier> create(attn::ProgramOp program,
                                     const std::map<std::string, int64_t> &extents,
                                     const std::map<std::string, double> &params, bool onlyInRange,
                                     attn::ProgramOp original = {});

  struct Case {
    std::string label;
    evaluator::EvalInputs inputs;
    evaluator::Outputs expected;
    /// The same with the bounds of float64.
    evaluator::Outputs inFloat64;
    /// Outputs that f32 is too coarse for as the spec is written (an exponential that overflows):
    /// a pass need not mend that.
    std::set<std::string> beyondF32;
    /// Outputs in which NaN may stand for a 0, because there are no keys.
    std::set<std::string> emptyFactors;
    /// What the spec would give if none of its exponentials overflowed or vanished: where that is
    /// something else, a pass may well do better than the spec as written.
    evaluator::Outputs inRange;
    /// Outputs that an exponential beyond float64 may have gone into.
    std::set<std::string> overflowing;
    /// What the spec would give if its infinite sums were NaN.
    evaluator::Outputs finiteSums;
    /// What it would give if NaN were what f32 cannot hold, sums taken without the factors that may
    /// be applied after them.
    evaluator::Outputs withinF32;
    /// What it would give if what float64 does not hold were compared with the other outcome.
    evaluator::Outputs turned;
    /// What it would give if NaN were compared with the other outcome.
    evaluator::Outputs unordered;
  };
  using Extents = std::map<std::string, int64_t>;

  llvm::Expected<evaluator::EvalInputs> makeInputs(attn::ProgramOp program, const Extents &extents,
                                                   evaluator::InputKind kind) const;

  llvm::Error add(attn::ProgramOp program, evaluator::EvalInputs inputs, std::string label);
  static void findOverflow(Case &c, attn::ProgramOp desugared);
  llvm::Error addKinds(attn::ProgramOp program, const Extents &extents);
  void addFewKeys(attn::ProgramOp program, const Extents &extents);
  void addNegativeParams(attn::ProgramOp program, const Extents &extents);
  Status compare(const Case &c, llvm::ArrayRef<attn::ProgramOp> programs, const std::string &name,
                 evaluator::Precision precision) const;

  bool leavesOpen(const Case &c, llvm::StringRef output) const;

  std::map<std::string, double> params;
  attn::ProgramOp original; ///< without the gradients that the program has; or null
  std::vector<Case> all;
  bool onlyInRange = false;
};

} // namespace attnc::driver

#endif
