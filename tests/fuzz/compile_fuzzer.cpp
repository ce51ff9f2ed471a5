// libFuzzer target of the compile path up to the evaluator: any spec that the frontend accepts goes
// through the passes, and means the same after each of them.
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/evaluator/compare.h"
#include "compiler/evaluator/inputs.h"
#include "mlir/IR/Verifier.h"
#include <cmath>
#include <cstdlib>

using namespace attnc;

// LLVM's own code is not instrumented, so what it poisons or annotates must not be reported.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

namespace {

// Small enough that a run takes milliseconds; larger programs pass through the passes only.
constexpr int64_t kExtent = 5;
constexpr uint64_t kMemory = 4 << 20;
constexpr size_t kOperations = 300;

/// Ends the run with a message, which libFuzzer reports together with the input.
void require(bool condition, const llvm::Twine &what) {
  if (condition)
    return;
  llvm::errs() << "violated: " << what << "\n";
  std::abort();
}

attn::ProgramOp programIn(mlir::ModuleOp module) {
  return *module.getOps<attn::ProgramOp>().begin();
}

/// Inputs at small extents, or nothing if the program has none that fit.
std::optional<evaluator::EvalInputs> smallInputs(attn::ProgramOp program) {
  std::map<std::string, int64_t> extents;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    if (dim.isStatic() && dim.getExtent() > 64)
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

/// The outputs; nothing where the evaluator refuses (a `require` that is false, too much memory).
std::optional<evaluator::Outputs>
evaluated(attn::ProgramOp program, const evaluator::EvalInputs &inputs, bool checkDomains) {
  evaluator::EvalOptions options;
  options.memoryLimit = kMemory;
  options.threads = 1;
  options.checkDomains = checkDomains;
  llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program, inputs, options);
  if (outputs)
    return std::move(*outputs);
  std::string message = llvm::toString(outputs.takeError());
  require(!llvm::StringRef(message).contains("the domain "), message);
  return std::nullopt;
}

// Reassociation may move infinities and NaN that are there as written.
bool isFinite(const evaluator::Array &array) {
  return llvm::all_of(array.value, [](double x) { return std::isfinite(x); });
}

/// Runs the passes one by one; after each the program is valid and gives the outputs of the first.
void compileAndCompare(attn::ProgramOp program) {
  std::optional<evaluator::EvalInputs> inputs;
  std::optional<evaluator::Outputs> expected;
  if (program.getBodyBlock()->getOperations().size() <= kOperations)
    inputs = smallInputs(program);
  if (inputs)
    expected = evaluated(program, *inputs, false);
  for (const driver::Step &step : driver::targetIndependentSteps()) {
    step.run(program);
    require(succeeded(mlir::verify(program)), llvm::Twine("valid after ") + step.name);
    if (!expected)
      continue;
    std::optional<evaluator::Outputs> actual = evaluated(program, *inputs, true);
    if (!actual) // the memory limit: other intermediates are alive
      continue;
    for (const auto &[name, before] : *expected) {
      require(actual->count(name), llvm::Twine(step.name) + " keeps outputs");
      evaluator::Comparison same = evaluator::compareEvaluations(before, actual->at(name));
      require(same.passed() || !isFinite(before),
              llvm::Twine(step.name) +
                  " keeps the meaning: " + evaluator::summary(before, actual->at(name), same));
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics findings;
  std::optional<Spec> spec = parseSpec(context, "fuzz.json", text, {}, findings);
  if (spec)
    compileAndCompare(programIn(*spec->module));
  return 0;
}
