#include "compiler/schedule/passes.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/lower_generic.h"
#include "compiler/schedule/lower_rows.h"
#include "compiler/schedule/lower_stream.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

struct LowerNestsPass : PassWrapper<LowerNestsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerNestsPass)
  StringRef getArgument() const override { return "lower-nests"; }
  StringRef getDescription() const override { return "lower red.nest to tile.kernel"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, tile::TileDialect>();
  }
  void runOnOperation() override {
    SmallVector<red::NestOp> nests;
    getOperation().walk([&](red::NestOp nest) { nests.push_back(nest); });
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    for (red::NestOp nest : nests)
      if (failed(lowerNest(nest, builder)))
        signalPassFailure();
  }
};

// `--choose-schedules=target=sm_80`; `override` is JSON as chooseSchedules takes it.
struct ChooseSchedulesPass : PassWrapper<ChooseSchedulesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseSchedulesPass)
  ChooseSchedulesPass() = default;
  ChooseSchedulesPass(const ChooseSchedulesPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "choose-schedules"; }
  StringRef getDescription() const override { return "set the schedule of every red.nest"; }
  void runOnOperation() override {
    nlohmann::json overrides;
    if (!changes.empty())
      overrides = nlohmann::json::parse(changes.getValue(), nullptr, /*allow_exceptions=*/false);
    for (auto program : getOperation().getOps<attn::ProgramOp>()) {
      if (Status status = chooseSchedules(program, target, overrides); !status) {
        program.emitError(status.error().message);
        return signalPassFailure();
      }
    }
    getOperation().walk([&](red::NestOp nest) {
      std::string why;
      if (!canLowerStream(nest, why))
        nest.emitRemark() << scheduleForm(nest) << " form: " << why;
    });
  }
  Option<std::string> target{*this, "target", llvm::cl::init("sm_80"),
                             llvm::cl::desc("the machine to choose for")};
  Option<std::string> changes{*this, "override", llvm::cl::desc("JSON with keys to set")};
};

} // namespace

FailureOr<tile::KernelOp> lowerNest(red::NestOp nest, OpBuilder &builder) {
  DictionaryAttr schedule = nest.getScheduleAttr();
  auto named = schedule ? schedule.getAs<StringAttr>("form") : StringAttr();
  StringRef form = named ? named.getValue() : "generic";
  if (form == "stream")
    return lowerStreamNest(nest, builder);
  if (form == "warpgroups")
    return lowerWarpgroupNest(nest, builder);
  if (form == "rows")
    return lowerRowsNest(nest, builder);
  if (form != "generic")
    return nest.emitOpError("has a schedule of the unknown form '") << form << "'";
  return lowerGenericNest(nest, builder);
}

void registerSchedulePasses() {
  PassRegistration<ChooseSchedulesPass>();
  PassRegistration<LowerNestsPass>();
}

} // namespace attnc::schedule
