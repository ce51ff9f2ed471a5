#include "compiler/driver/verify_pass.h"
#include "compiler/evaluator/compare.h"

namespace attnc::driver {

// Seed of the inputs: any will do, as long as a failure can be had again.
static constexpr uint64_t kSeed = 1;

static Error fromLlvm(llvm::Error error, const std::string &context) {
  return internalError(context + ": " + llvm::toString(std::move(error)),
                       "report this with the spec");
}

Result<PassVerifier> PassVerifier::create(attn::ProgramOp program,
                                          const std::map<std::string, int64_t> &extents) {
  PassVerifier verifier;
  for (evaluator::InputKind kind : evaluator::kInputKinds) {
    llvm::Expected<evaluator::EvalInputs> inputs =
        evaluator::makeInputs(program, extents, kSeed, kind);
    if (!inputs)
      return invalidArgument("passes cannot be verified: " + llvm::toString(inputs.takeError()),
                             "give the spec a reference shape with every dynamic dim");
    llvm::Expected<evaluator::Outputs> expected = evaluator::evaluate(program, *inputs);
    if (!expected)
      return fromLlvm(expected.takeError(), "the spec cannot be evaluated");
    verifier.cases.push_back({kind, std::move(*inputs), std::move(*expected)});
  }
  return verifier;
}

Status PassVerifier::check(attn::ProgramOp program, const std::string &name) const {
  for (const Case &c : cases) {
    llvm::Expected<evaluator::Outputs> actual = evaluator::evaluate(program, c.inputs);
    if (!actual)
      return fromLlvm(actual.takeError(), "after " + name + " the program cannot be evaluated");
    for (const auto &[output, expected] : c.expected) {
      auto found = actual->find(output);
      if (found == actual->end())
        return internalError(name + " lost output '" + output + "'", "report this with the spec");
      evaluator::Comparison comparison = evaluator::compareEvaluations(expected, found->second);
      if (!comparison.passed())
        return internalError(
            name + " changed output '" + output + "' on " + evaluator::inputKindName(c.kind).str() +
                " inputs: " + evaluator::summary(expected, found->second, comparison),
            "report this with the spec");
    }
  }
  return {};
}

} // namespace attnc::driver
