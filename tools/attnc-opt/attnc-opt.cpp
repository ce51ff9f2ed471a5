// Runs passes on .mlir files: single ones, or the pipeline of attnc.
#include "compiler/codegen/cpu/passes.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/driver/step_pass.h"
#include "compiler/transforms/gradient/passes.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<attnc::attn::AttnDialect, attnc::red::RedDialect, attnc::tile::TileDialect,
                  mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  attnc::driver::registerPipeline();
  attnc::registerGradientPasses();
  attnc::cpu::registerLowerCpuPass();
  attnc::cuda::registerEmitCudaPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "attnc pass driver\n", registry));
}
