#include "compiler/driver/step_pass.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace attnc::driver {
namespace {

StringRef nameOf(Step::On on) {
  switch (on) {
  case Step::On::Program:
    return attn::ProgramOp::getOperationName();
  case Step::On::Module:
    return ModuleOp::getOperationName();
  case Step::On::Kernel:
    return tile::KernelOp::getOperationName();
  }
  llvm_unreachable("a step runs on one of these");
}

// The pass manager takes the braces of a value away.
Result<nlohmann::json> parseKeys(const std::string &text) {
  if (text.empty())
    return nlohmann::json::object();
  std::string whole = text.front() == '{' ? text : "{" + text + "}";
  auto keys = nlohmann::json::parse(whole, nullptr, /*allow_exceptions=*/false);
  if (keys.is_discarded())
    return invalidArgument("override is not JSON: " + whole, R"(write {"stream_tile": 64})");
  return keys;
}

/// A line of the table as a pass.
class StepPass : public Pass {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StepPass)

  StepPass(const Step &step, const PipelineOptions &options)
      : Pass(TypeID::get<StepPass>(), nameOf(step.on)), step(step), given(options) {
    if (!step.asksOptions)
      return;
    asked.emplace(*this);
    asked->target = options.target;
    if (!options.overrides.empty())
      asked->overrides = options.overrides.dump();
  }

  StringRef getName() const override { return step.name; }
  StringRef getArgument() const override { return step.name; }
  StringRef getDescription() const override { return step.summary; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<red::RedDialect, tile::TileDialect, arith::ArithDialect, math::MathDialect,
                    scf::SCFDialect>();
  }
  std::unique_ptr<Pass> clonePass() const override {
    return std::make_unique<StepPass>(step, given);
  }
  bool canScheduleOn(RegisteredOperationName name) const override {
    return name.getStringRef() == nameOf(step.on);
  }

  void runOnOperation() override {
    Status status = run();
    if (status)
      return;
    signalPassFailure();
    if (given.error)
      *given.error = status.error();
    else
      getOperation()->emitError(status.error().message);
  }

private:
  // As text, so that a reproducer holds them.
  struct Options {
    explicit Options(Pass &pass)
        : target(pass, "target", llvm::cl::desc("the machine to compile for")),
          overrides(pass, "override", llvm::cl::desc("JSON with keys of the schedule to set")) {}
    Option<std::string> target, overrides;
  };

  Status run() {
    if (!asked)
      return step.run(getOperation(), given);
    PipelineOptions options = given;
    options.target = asked->target;
    Result<nlohmann::json> keys = parseKeys(asked->overrides);
    if (!keys)
      return keys.error();
    options.overrides = *std::move(keys);
    return step.run(getOperation(), options);
  }

  const Step &step;
  const PipelineOptions given;
  std::optional<Options> asked;
};

/// Those of `attnc-pipeline`.
struct TextOptions : PassPipelineOptions<TextOptions> {
  Option<std::string> from{*this, "from", llvm::cl::desc("the first pass")};
  Option<std::string> through{*this, "through", llvm::cl::desc("the last pass")};
  Option<std::string> target{*this, "target", llvm::cl::desc("the machine to compile for")};
  Option<std::string> overrides{*this, "override",
                                llvm::cl::desc("JSON with keys of the schedule to set")};
};

LogicalResult addFromText(OpPassManager &manager, StringRef text,
                          function_ref<LogicalResult(const Twine &)> onError) {
  TextOptions asked;
  if (failed(asked.parseFromString(text)))
    return failure();
  const Step *first = pipelineSteps().begin(), *last = pipelineSteps().end() - 1;
  for (auto [name, end] : {std::pair(&asked.from, &first), std::pair(&asked.through, &last)})
    if (name->hasValue() && !(*end = findStep(*name)))
      return onError("the pipeline has no pass '" + Twine(name->getValue()) + "'");
  if (first > last)
    return onError(Twine("the pass '") + first->name + "' follows '" + last->name + "'");
  Result<nlohmann::json> keys = parseKeys(asked.overrides);
  if (!keys)
    return onError(keys.error().message);
  addSteps(manager, {first, last + 1}, {.target = asked.target, .overrides = *std::move(keys)});
  return success();
}

} // namespace

void addSteps(OpPassManager &module, llvm::ArrayRef<Step> steps, const PipelineOptions &options) {
  for (const Step &step : steps) {
    auto pass = std::make_unique<StepPass>(step, options);
    if (step.on == Step::On::Module)
      module.addPass(std::move(pass));
    else
      module.nest(nameOf(step.on)).addPass(std::move(pass));
  }
}

void registerPipeline() {
  for (const Step &step : pipelineSteps())
    registerPass([&step] { return std::make_unique<StepPass>(step, PipelineOptions()); });
  registerPassPipeline(
      "attnc-pipeline", "from what the user wrote to kernels in the tile dialect", addFromText,
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) { handle(TextOptions()); });
}

} // namespace attnc::driver
