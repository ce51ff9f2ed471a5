#include "compiler/codegen/cpu/object/optimise.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

namespace attnc::cpu {

static llvm::ModulePassManager quickPipeline() {
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::EarlyCSEPass());
  functions.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager modules;
  modules.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  return modules;
}

// The vectoriser wants loops that are in order already, with what does not change before them.
static llvm::ModulePassManager vectorPipeline() {
  llvm::FunctionPassManager functions;
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  functions.addPass(llvm::EarlyCSEPass());
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                          /*UseMemorySSA=*/true));
  functions.addPass(llvm::LoopVectorizePass());
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::EarlyCSEPass());
  llvm::ModulePassManager modules;
  modules.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  return modules;
}

static llvm::ModulePassManager pipelineOf(Effort effort, llvm::PassBuilder &passes) {
  switch (effort) {
  case Effort::Quick:
    return quickPipeline();
  case Effort::Vectors:
    return vectorPipeline();
  case Effort::Full:
    return passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  }
  return quickPipeline();
}

void optimise(llvm::Module &module, Effort effort, llvm::TargetMachine &machine) {
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
  pipelineOf(effort, passes).run(module, modules);
}

} // namespace attnc::cpu
