#include "tests/programs/gradient_property.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/execution/cpu_executor.h"
#include "compiler/driver/execution/gradient_executor.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/gradient.h"
#include "compiler/driver/pipeline.h"
#include "mlir/IR/Verifier.h"
#include "tests/programs/code_comparison.h"
#include "tests/programs/gradient_comparison.h"

namespace attnc::programs {
namespace {

using evaluator::InputKind;
using Extents = std::map<std::string, int64_t>;

// The interpreter runs every instruction of every thread, of two programs.
constexpr int64_t kInterpretedExtent = 9;

constexpr const char *kHalves[] = {"forward", "backward"};

llvm::ArrayRef<driver::Step> stepsFor(attn::ProgramOp half) {
  return driver::steps(driver::firstStepOf(half), driver::targetIndependentSteps().back().name);
}

/// The inputs and params of real numbers.
std::vector<std::string> sourcesOf(const Spec &spec) {
  std::vector<std::string> names = driver::gradientInputs(spec, {"all"});
  for (auto param : driver::programOf(spec).getBodyBlock()->getOps<attn::ParamOp>())
    if (mlir::isa<mlir::FloatType>(param.getType().getElementType()))
      names.push_back(param.getName().str());
  return names;
}

bool hasRealOutput(const Spec &spec) {
  return llvm::any_of(
      driver::programOf(spec).getBodyBlock()->getOps<attn::OutputOp>(),
      [](attn::OutputOp output) { return mlir::isa<mlir::FloatType>(output.getType()); });
}

class GradientChecker {
public:
  GradientChecker(Spec &spec, const Extents &extents, const GradientStages &stages,
                  Outcome &outcome)
      : spec(spec), extents(extents), stages(stages), outcome(outcome) {}

  void run() {
    if (!stages.checked || !hasRealOutput(spec))
      return;
    spec.grad = sourcesOf(spec);
    Result<driver::GradientSpecs> derived = driver::differentiateSpec(spec);
    if (!derived)
      return fail("gradients", derived.error().text());
    specs = std::move(*derived);
    compareWithReverseMode();
    checkPasses();
    for (const std::string &target : stages.targets)
      checkCode(target);
  }

private:
  void fail(const std::string &stage, const std::string &failure) {
    if (outcome.stage)
      return;
    outcome.stage = stage;
    outcome.failure = failure;
  }

  void pass(const std::string &stage) {
    if (!outcome.stage)
      ++outcome.done[stage];
  }

  void compareWithReverseMode() {
    DerivedGradients gradients{driver::programOf(spec), driver::programOf(specs.whole), spec.grad};
    for (InputKind kind : evaluator::kInputKinds) {
      auto difference =
          gradientDifference(gradients, extents, kind, OpenGradients::OfWhatIsOutOfRange);
      if (!difference)
        return fail("gradients", llvm::toString(difference.takeError()));
      if (!difference->empty())
        return fail("gradients",
                    *difference + " on " + evaluator::inputKindName(kind).str() + " inputs");
    }
    pass("gradients");
  }

  void checkPasses() {
    if (outcome.stage)
      return;
    Result<driver::PassVerifier> verifier = driver::PassVerifier::createForGradients(
        driver::programOf(spec), driver::programOf(specs.whole), extents);
    if (!verifier)
      return fail("gradients_passes", verifier.error().text());
    mlir::OwningOpRef<mlir::ModuleOp> forward = specs.forward.module->clone(),
                                      backward = specs.backward.module->clone();
    attn::ProgramOp halves[] = {programIn(*forward), programIn(*backward)};
    for (auto [half, name] : llvm::zip(halves, kHalves))
      for (const driver::Step &step : stepsFor(half))
        if (!step.run(half) || failed(mlir::verify(half)))
          return fail("gradients_passes",
                      std::string("the ") + name + " program is not valid after " + step.name);
    if (Status status = verifier->check(halves, "all passes"); !status)
      return fail("gradients_passes", firstDifference(*verifier, status));
    pass("gradients_passes");
  }

  /// What the first pass that changes the meaning says.
  std::string firstDifference(const driver::PassVerifier &verifier, const Status &status) {
    mlir::OwningOpRef<mlir::ModuleOp> forward = specs.forward.module->clone(),
                                      backward = specs.backward.module->clone();
    attn::ProgramOp halves[] = {programIn(*forward), programIn(*backward)};
    if (Status before = verifier.check(halves, "halve"); !before)
      return before.error().message;
    for (auto [half, name] : llvm::zip(halves, kHalves))
      for (const driver::Step &step : stepsFor(half))
        if (Status after = step.run(half); after)
          if (Status same = verifier.check(halves, std::string(step.name) + " of the " + name);
              !same)
            return same.error().message;
    return status.error().message;
  }

  static attn::ProgramOp programIn(mlir::ModuleOp module) {
    return *module.getOps<attn::ProgramOp>().begin();
  }

  void checkCode(const std::string &target) {
    if (outcome.stage)
      return;
    std::string stage = "gradients_" + target;
    driver::CompileOptions options;
    options.target = target;
    if (target != "cpu")
      options.upTo = driver::Stage::Tile;
    Result<driver::Compilation> compiled = driver::compile(spec, options);
    if (!compiled)
      return fail(stage, compiled.error().text());
    Result<std::unique_ptr<driver::Executor>> executor = executorOf(*compiled, target);
    if (!executor)
      return fail(stage, executor.error().text());
    Result<std::string> difference = codeDifference(specs.whole, **executor, extentsOn(target),
                                                    {InputKind::Random, InputKind::Planted}, &spec);
    if (!difference)
      return fail(stage, difference.error().text());
    if (!difference->empty())
      return fail(stage, *difference);
    pass(stage);
  }

  static Result<std::unique_ptr<driver::Executor>> executorOf(const driver::Compilation &compiled,
                                                              const std::string &target) {
    return target == "cpu" ? driver::withBackward(compiled, driver::makeCpuExecutor)
                           : driver::makeInterpreterExecutor(compiled, {{1}, 2});
  }

  Extents extentsOn(const std::string &target) const {
    Extents small = extents;
    if (target != "cpu")
      for (auto &[dim, extent] : small)
        extent = std::min(extent, kInterpretedExtent);
    return small;
  }

  Spec &spec;
  const Extents &extents;
  const GradientStages &stages;
  Outcome &outcome;
  driver::GradientSpecs specs;
};

} // namespace

void checkGradients(Spec &spec, const Extents &extents, const GradientStages &stages,
                    Outcome &outcome) {
  GradientChecker(spec, extents, stages, outcome).run();
}

} // namespace attnc::programs
