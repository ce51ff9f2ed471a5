// Gradients of the reverse mode for its tests, and their comparison with differences.
#ifndef ATTNC_TESTS_UNIT_EVALUATOR_GRADIENT_CHECK_H
#define ATTNC_TESTS_UNIT_EVALUATOR_GRADIENT_CHECK_H

#include "program_text.h"

#include "compiler/evaluator/reverse/reverse_mode.h"
#include "compiler/frontend/frontend.h"

namespace attnc::evaluator {

using Gradients = std::map<std::string, Array>;

/// A program parsed from the JSON of a spec. A text that is no spec fails the running test.
class SpecProgram {
public:
  explicit SpecProgram(const std::string &text, const Overrides &overrides = {});
  bool isValid() const { return spec.has_value(); }
  attn::ProgramOp op() const { return program; }
  const nlohmann::json &reference() const { return spec->reference; }

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::optional<Spec> spec;
  attn::ProgramOp program;
};

/// The spec with these inputs and outputs as members of JSON objects, and `body` as its statements;
/// `more` is spliced in before them.
std::string specText(const std::string &inputs, const std::vector<std::string> &body,
                     const std::string &outputs, const std::string &more = "");

/// The gradients; fails the running test and returns nothing if there is an error.
Gradients gradientsOf(attn::ProgramOp program, const EvalInputs &inputs,
                      const std::map<std::string, Array> &cotangents,
                      const std::vector<std::string> &wanted);

/// The error of gradients that must fail, or "differentiated" if they do not.
std::string refusalOf(attn::ProgramOp program, const EvalInputs &inputs,
                      const std::map<std::string, Array> &cotangents,
                      const std::vector<std::string> &wanted, const EvalOptions &options = {});

/// The real inputs, and the params that `inputs` passes and that are real.
std::vector<std::string> realSources(attn::ProgramOp program, const EvalInputs &inputs);

/// For each of realSources, compares the gradients of all real outputs under random cotangents with
/// a central difference of the evaluator along a random direction. The program has to be smooth at
/// `inputs`, and params powers of two times few digits, as f32 holds what is added to them.
void expectDifferences(attn::ProgramOp program, const EvalInputs &inputs, uint64_t seed = 1);

} // namespace attnc::evaluator

#endif
