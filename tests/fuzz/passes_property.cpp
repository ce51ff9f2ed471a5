#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "kernels_spec/library.h"
#include "mlir/IR/Verifier.h"
#include "tests/fuzz/properties.h"
#include <cmath>

namespace attnc::fuzz {

namespace {

// Small enough that a run takes milliseconds; larger programs pass through the passes only.
constexpr int64_t kExtent = 5;
constexpr int64_t kStaticExtent = 64;
constexpr uint64_t kMemory = 4 << 20;
constexpr size_t kOperations = 300;

attn::ProgramOp programIn(mlir::ModuleOp module) {
  return *module.getOps<attn::ProgramOp>().begin();
}

/// Inputs at small extents, or nothing if the program has none that fit.
std::optional<evaluator::EvalInputs> smallInputs(attn::ProgramOp program) {
  std::map<std::string, int64_t> extents;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    if (dim.isStatic() && dim.getExtent() > kStaticExtent)
      return std::nullopt;
    if (!dim.isStatic())
      extents[dim.getName().str()] = kExtent;
  }
  if (llvm::Error error = evaluator::completeExtents(program, extents)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  llvm::Expected<evaluator::EvalInputs> inputs = evaluator::makeInputs(program, extents, 1);
  if (inputs)
    return std::move(*inputs);
  llvm::consumeError(inputs.takeError());
  return std::nullopt;
}

struct Evaluation {
  std::optional<evaluator::Outputs> outputs; ///< nothing where the evaluator refuses
  Violation violation;                       ///< a domain that leaves out what counts
};

Evaluation evaluated(attn::ProgramOp program, const evaluator::EvalInputs &inputs,
                     bool checkDomains) {
  evaluator::EvalOptions options;
  options.memoryLimit = kMemory;
  options.threads = 1;
  options.checkDomains = checkDomains;
  llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program, inputs, options);
  if (outputs)
    return {std::move(*outputs), std::nullopt};
  std::string message = llvm::toString(outputs.takeError());
  if (llvm::StringRef(message).contains("the domain "))
    return {std::nullopt, message};
  return {};
}

// Passes may move infinities and NaN that are there as written; they may not make new ones.
void takeOverInfinities(const evaluator::Array &before, evaluator::Array &after) {
  for (auto [x, y] : llvm::zip(before.value, after.value))
    if (!std::isfinite(x))
      y = x;
}

Violation compareOutputs(const evaluator::Outputs &expected, evaluator::Outputs actual) {
  for (const auto &[name, before] : expected) {
    auto after = actual.find(name);
    if (after == actual.end())
      return "loses the output " + name;
    takeOverInfinities(before, after->second);
    evaluator::Comparison same = evaluator::compareEvaluations(before, after->second);
    if (!same.passed())
      return "changes the output " + name + ": " + evaluator::summary(before, after->second, same);
  }
  return std::nullopt;
}

} // namespace

Violation checkPasses(llvm::StringRef text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics findings;
  std::optional<Spec> spec = parseSpec(context, "fuzz.json", text, {}, findings, libraryBases());
  if (!spec)
    return std::nullopt;
  attn::ProgramOp program = programIn(*spec->module);
  std::optional<evaluator::EvalInputs> inputs;
  Evaluation before;
  if (program.getBodyBlock()->getOperations().size() <= kOperations)
    inputs = smallInputs(program);
  if (inputs)
    before = evaluated(program, *inputs, /*checkDomains=*/false);
  for (const driver::Step &step : driver::targetIndependentSteps()) {
    if (!step.run(program) || failed(mlir::verify(program)))
      return std::string(step.name) + " gives a program that is not valid";
    if (!before.outputs)
      continue;
    Evaluation after = evaluated(program, *inputs, /*checkDomains=*/true);
    Violation violation = after.violation;
    if (after.outputs) // else the memory limit: other intermediates are alive
      violation = compareOutputs(*before.outputs, std::move(*after.outputs));
    if (violation)
      return std::string(step.name) + ": " + *violation;
  }
  return std::nullopt;
}

} // namespace attnc::fuzz
