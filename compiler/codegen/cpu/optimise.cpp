#include "compiler/codegen/cpu/optimise.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;

namespace attnc::cpu {

// The largest specs that people write have a few thousand.
static constexpr unsigned kMostOps = 20000;

unsigned affordableLevel(ModuleOp lowered, unsigned wanted) {
  unsigned ops = 0;
  lowered.walk([&](Operation *) { ++ops; });
  return ops > kMostOps ? 0 : wanted;
}

static llvm::ModulePassManager quickPipeline() {
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::EarlyCSEPass());
  functions.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager modules;
  modules.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  return modules;
}

void optimise(llvm::Module &module, unsigned level, llvm::TargetMachine &machine) {
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PassBuilder passes(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager pipeline =
      level == 0 ? quickPipeline()
                 : passes.buildPerModuleDefaultPipeline(levels[std::min(level, 3u) - 1]);
  pipeline.run(module, modules);
}

} // namespace attnc::cpu
