#include "compiler/codegen/cpu/loops/lower_nests.h"
#include "compiler/codegen/cpu/loops/nest_emitter.h"
#include "compiler/codegen/cpu/loops/outline_loops.h"
#include "compiler/codegen/cpu/passes.h"
#include "compiler/schedule/nest/signature.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::cpu {

SmallVector<red::NestOp> nestsOf(ModuleOp module) {
  SmallVector<red::NestOp> nests;
  module.walk([&](red::NestOp nest) { nests.push_back(nest); });
  return nests;
}

std::string kernelSymbol(unsigned number, red::NestOp nest) {
  return "nest" + std::to_string(number) + "_" + schedule::kernelName(nest);
}

llvm::Expected<OwningOpRef<ModuleOp>> lowerNests(ModuleOp module) {
  OwningOpRef<ModuleOp> lowered = ModuleOp::create(module.getLoc());
  for (auto [i, nest] : llvm::enumerate(nestsOf(module)))
    if (llvm::Error error = emitNest(*lowered, nest, kernelSymbol(i, nest)))
      return error;
  SmallVector<LLVM::LLVMFuncOp> functions(lowered->getOps<LLVM::LLVMFuncOp>());
  for (LLVM::LLVMFuncOp function : functions)
    if (!function.isExternal())
      outlineLoops(function);
  return lowered;
}

namespace {
struct LowerCpuPass : PassWrapper<LowerCpuPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerCpuPass)

  StringRef getArgument() const override { return "lower-cpu"; }
  StringRef getDescription() const override { return "lower nests to loops over pointers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  }
  void runOnOperation() override {
    auto lowered = lowerNests(getOperation());
    if (!lowered) {
      getOperation().emitError(llvm::toString(lowered.takeError()));
      return signalPassFailure();
    }
    getOperation().getBodyRegion().takeBody((*lowered)->getBodyRegion());
  }
};
} // namespace

std::unique_ptr<Pass> createLowerCpuPass() { return std::make_unique<LowerCpuPass>(); }
void registerLowerCpuPass() { PassRegistration<LowerCpuPass>(); }

} // namespace attnc::cpu
