// How nests came about: which rule of the algebra was applied to which fold of the spec. The
// records are attributes of the IR, so that each pass can add its own and everybody can read them.
#ifndef ATTNC_COMPILER_TRANSFORMS_DERIVATION_DERIVATION_H
#define ATTNC_COMPILER_TRANSFORMS_DERIVATION_DERIVATION_H

#include "dialects/Red/Red.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::derivation {

/// The rules. derivation.cpp has the name and the algebra of each; docs/rationale/red.md proves
/// them.
enum class Rule {
  // which states a pass keeps
  State,
  Term,
  SharedExponent,
  OwnMaximum,
  Rescaled,
  Deferred,
  Counted,
  Moment,
  MaskedWeight,
  MaskFactor,
  WeightTest,
  LogSplit,
  RaisedTerm,
  CancelledMaximum,
  CombinedExponents,
  Shifted,
  Monotone,
  Negated,
  // what goes where
  Reassociated,
  Segments,
  Cut,
  Demoted,
  Eliminated,
  Recomputed,
  Materialised,
  HoistedVector,
  Split,
  Merged,
  Skipped,
  TileExtremes,
};

/// All rules, in the order of the enum.
llvm::ArrayRef<Rule> allRules();

/// "shared-exponent"
llvm::StringRef nameOf(Rule rule);

/// The algebra in one line: "sums of one exponent share its maximum".
llvm::StringRef statementOf(Rule rule);

std::optional<Rule> findRule(llvm::StringRef name);

/// One application of a rule.
struct Step {
  Rule rule;
  std::string fold; ///< as the spec names it, or its expression; what is derived
  /// What the rule was applied to, in the words of the spec. Of a term C exp(a + b) B: "C", "a",
  /// "b", "B" and the "state" that it is kept as. Of a Cut: the "operation", the "expression" that
  /// it stands in, and the "property" that it lacks.
  std::map<std::string, std::string> details;
  unsigned line = 0, column = 0; ///< in the spec, from 1; 0 where there is no such place
  std::string file = {};         ///< of a step that is recorded: empty where it is the spec's own

  bool operator==(const Step &other) const = default;
};

/// Empties `step.file` where it is that of the program that `op` belongs to.
void forgetOwnFile(Step &step, mlir::Operation *op);

/// The place of a step: "line 15", or "line 15 of base.json"; empty where there is none.
std::string placeText(const Step &step);

/// A step at the place of `loc`.
Step stepAt(Rule rule, mlir::Location loc, std::string fold,
            std::map<std::string, std::string> details = {});

/// What happened, in words, without the fold: "exp(s - p_max) is rescaled when p_max moves".
std::string specTextOf(const Step &step);

/// The discardable attribute of a nest, or of the program for steps before there are nests.
inline constexpr llvm::StringLiteral kAttr = "red.derivation";

mlir::Attribute encode(mlir::MLIRContext *context, const Step &step);

/// Adds a step to the nest or the program, once.
void record(mlir::Operation *op, const Step &step);
void record(mlir::Operation *op, llvm::ArrayRef<Step> steps);

/// The steps of a nest or a program, in the order in which they were recorded.
std::vector<Step> stepsOf(mlir::Operation *op);

/// How often each rule was applied for `program` and its nests; rules that were not are left out.
std::map<Rule, unsigned> countRules(attn::ProgramOp program);

} // namespace attnc::derivation

#endif
