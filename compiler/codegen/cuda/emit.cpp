#include "compiler/codegen/cuda/emit.h"
#include "compiler/codegen/cuda/kernel_printer.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace attnc::cuda {

FailureOr<std::string> emitCuda(tile::KernelOp kernel) { return KernelPrinter(kernel).print(); }

namespace {

// Prints to standard output, where the pass driver prints the module as well (after it).
struct EmitCudaPass : PassWrapper<EmitCudaPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitCudaPass)
  StringRef getArgument() const override { return "emit-cuda"; }
  StringRef getDescription() const override { return "print every tile.kernel as CUDA C++"; }
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      FailureOr<std::string> source = emitCuda(kernel);
      if (failed(source))
        return signalPassFailure();
      llvm::outs() << *source;
    }
  }
};

} // namespace

void registerEmitCudaPass() { PassRegistration<EmitCudaPass>(); }

} // namespace attnc::cuda
