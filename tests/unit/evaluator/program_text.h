// Programs written as .mlir text, and their evaluation, for the tests of the evaluator.
#ifndef ATTNC_TESTS_UNIT_EVALUATOR_PROGRAM_TEXT_H
#define ATTNC_TESTS_UNIT_EVALUATOR_PROGRAM_TEXT_H

#include "compiler/evaluator/evaluator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace attnc::evaluator {

/// A parsed program with its context. A text that does not parse or verify ends the test run.
class Program {
public:
  explicit Program(const std::string &text);
  attn::ProgramOp op() const { return program; }

  /// The outputs; fails the running test and returns nothing if the evaluation fails.
  Outputs run(const EvalInputs &inputs, const EvalOptions &options = {}) const;

  /// The message of an evaluation that must fail, or "evaluated" if it does not.
  std::string refusal(const EvalInputs &inputs, const EvalOptions &options = {}) const;

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  attn::ProgramOp program;
};

Array reals(std::vector<int64_t> shape, std::vector<double> value);
Array wholes(std::vector<int64_t> shape, std::vector<int64_t> value);

/// Inputs with the given tensors.
EvalInputs given(std::map<std::string, Array> tensors);

/// Seeded inputs (evaluator/inputs/inputs.h), which must succeed.
EvalInputs randomInputs(const Program &program, const std::map<std::string, int64_t> &extents,
                        uint64_t seed = 1);

/// bf16 attention with weights as softmax; outputs o (bf16) and lse (f32). `mask` is spliced into
/// the map that makes the scores: it sees %x (the score), %i and %j, and defines %y.
std::string attentionText(const std::string &type = "bf16",
                          const std::string &mask = "%y = arith.addf %x, %zero : f32");

} // namespace attnc::evaluator

#endif
