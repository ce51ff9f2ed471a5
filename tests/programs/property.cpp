#include "tests/programs/property.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/execution/cpu_executor.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "compiler/driver/pipeline.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/split.h"
#include "mlir/IR/Verifier.h"
#include "tests/programs/code_comparison.h"
#include "tests/programs/gradient_property.h"

namespace attnc::programs {
namespace {

using Extents = std::map<std::string, int64_t>;

// Parts begin at multiples of this, so that short streams have several.
constexpr int64_t kGranule = 2;

// The interpreter runs every instruction of every thread: extents above this take seconds.
constexpr int64_t kInterpretedExtent = 23;

class Checker {
public:
  Checker(const std::string &text, const Stages &stages)
      : context(mlir::MLIRContext::Threading::DISABLED), text(text), stages(stages) {}

  Outcome run() {
    driver::loadDialects(context);
    Diagnostics findings;
    spec = parseSpec(context, "program.json", text, {}, findings);
    if (!spec) {
      llvm::raw_string_ostream os(outcome.why);
      findings.render(os, false);
      outcome.refused = true;
      return outcome;
    }
    extents = spec->reference.value("shape", Extents());
    checkPasses();
    for (Tiles tiles : stages.cpu)
      checkCpu(tiles);
    for (const std::string &target : stages.targets)
      checkKernels(target);
    for (const std::string &target : stages.built)
      checkImages(target);
    if (!stopped())
      checkGradients(*spec, extents, stages.gradients, outcome);
    return outcome;
  }

private:
  bool stopped() const { return outcome.refused || outcome.stage; }

  void fail(const std::string &stage, const std::string &failure) {
    if (stopped())
      return;
    outcome.stage = stage;
    outcome.failure = failure;
  }

  void refuse(const Error &error) {
    outcome.refused = true;
    outcome.why = error.text();
  }

  void checkPasses() {
    Result<driver::PassVerifier> verifier =
        driver::PassVerifier::createInRange(driver::programOf(*spec), extents);
    if (!verifier)
      return refuse(verifier.error());
    auto [plain, why] = transformed(nullptr, 0);
    if (!plain)
      return fail("passes", why);
    count(*plain);
    if (Status status = verifier->check(programIn(*plain), "all passes"); !status)
      return fail("passes", firstDifference(*verifier, status));
    ++outcome.done["passes"];
    if (stages.parts < 2)
      return;
    auto [split, whySplit] = transformed(nullptr, stages.parts);
    if (!split)
      return fail("split", whySplit);
    for (const auto &[rule, times] : derivation::countRules(programIn(*split)))
      outcome.rules[derivation::nameOf(rule).str()] += times;
    if (Status status = verifier->check(programIn(*split), "all passes"); !status)
      return fail("split", status.error().message);
    ++outcome.done["split"];
  }

  static attn::ProgramOp programIn(mlir::ModuleOp module) {
    return *module.getOps<attn::ProgramOp>().begin();
  }

  struct Transformed {
    mlir::OwningOpRef<mlir::ModuleOp> module; ///< null if a pass made it invalid
    std::string why;
  };

  // With a verifier, the first pass that changes the meaning is in `why`.
  Transformed transformed(const driver::PassVerifier *verifier, int64_t parts) {
    Transformed result{mlir::cast<mlir::ModuleOp>(spec->module.get()->clone()), ""};
    attn::ProgramOp program = programIn(*result.module);
    mlir::Builder b(&context);
    if (parts) {
      program->setAttr(kSplitsAttr, b.getI64IntegerAttr(parts));
      program->setAttr(kGranuleAttr, b.getI64IntegerAttr(kGranule));
    }
    for (const driver::Step &step : driver::targetIndependentSteps()) {
      if (!step.run(program) || failed(mlir::verify(program)))
        return {nullptr, std::string("the program is not valid after ") + step.name};
      if (!verifier)
        continue;
      if (Status status = verifier->check(program, step.name); !status) {
        result.why = status.error().message;
        break;
      }
    }
    return result;
  }

  std::string firstDifference(const driver::PassVerifier &verifier, const Status &status) {
    std::string why = transformed(&verifier, 0).why;
    return why.empty() ? status.error().message : why;
  }

  void count(mlir::ModuleOp module) {
    for (const auto &[rule, times] : derivation::countRules(programIn(module)))
      outcome.rules[derivation::nameOf(rule).str()] += times;
    for (auto nest : programIn(module).getBodyBlock()->getOps<red::NestOp>()) {
      ++outcome.nests;
      outcome.states += nest.states().size();
    }
  }

  void checkCpu(Tiles tiles) {
    if (stopped())
      return;
    driver::CompileOptions options;
    options.schedule = nlohmann::json::object();
    if (tiles.row)
      options.schedule = {{"form", "cpu"}, {"row_tile", tiles.row}, {"stream_tile", tiles.stream}};
    Result<driver::Compilation> compiled = driver::compile(*spec, options);
    if (!compiled)
      return fail("cpu", compiled.error().text());
    Result<std::unique_ptr<driver::Executor>> executor = driver::makeCpuExecutor(*compiled);
    if (!executor)
      return fail("cpu", executor.error().text());
    compare("cpu", **executor, extents,
            {evaluator::InputKind::Random, evaluator::InputKind::Planted,
             evaluator::InputKind::LargeLogits, evaluator::InputKind::InfiniteBias});
  }

  void checkKernels(const std::string &target) {
    if (stopped())
      return;
    driver::CompileOptions options;
    options.target = target;
    options.upTo = driver::Stage::Cuda;
    Result<driver::Compilation> compiled = driver::compile(*spec, options);
    if (!compiled)
      return fail(target, compiled.error().text());
    Result<std::unique_ptr<driver::Executor>> executor =
        driver::makeInterpreterExecutor(*compiled, {{1}, 2});
    if (!executor)
      return fail(target, executor.error().text());
    Extents small = extents;
    for (auto &[dim, extent] : small)
      extent = std::min(extent, kInterpretedExtent);
    compare(target, **executor, small,
            {evaluator::InputKind::Planted, evaluator::InputKind::LargeLogits});
  }

  // What the interpreter runs may still be no program for ptxas.
  void checkImages(const std::string &target) {
    if (stopped())
      return;
    std::string stage = "nvrtc_" + target;
    Result<std::shared_ptr<const ImageCompiler>> images = imagesOfProcess();
    if (!images)
      return fail(stage, images.error().text());
    driver::CompileOptions options;
    options.target = target;
    options.images = *images;
    Result<driver::Compilation> compiled = driver::compile(*spec, options);
    if (!compiled)
      return fail(stage, compiled.error().text());
    ++outcome.done[stage];
  }

  void compare(const std::string &stage, const driver::Executor &executor, const Extents &shape,
               std::vector<evaluator::InputKind> kinds) {
    Result<std::string> difference = codeDifference(*spec, executor, shape, std::move(kinds));
    if (!difference)
      return fail(stage, difference.error().text());
    if (!difference->empty())
      return fail(stage, *difference);
    ++outcome.done[stage];
  }

  mlir::MLIRContext context;
  const std::string &text;
  const Stages &stages;
  std::optional<Spec> spec;
  Extents extents;
  Outcome outcome;
};

} // namespace

Result<std::shared_ptr<const ImageCompiler>> imagesOfProcess() {
  static const auto images = std::make_shared<const ImageCompiler>();
  Result<const Nvrtc *> nvrtc = images->nvrtc();
  return nvrtc ? Result<std::shared_ptr<const ImageCompiler>>(images) : nvrtc.error();
}

Outcome checkSpec(const std::string &text, const Stages &stages) {
  return Checker(text, stages).run();
}

} // namespace attnc::programs
