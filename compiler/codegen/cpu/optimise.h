// LLVM's optimiser, with as much effort as the size of a program allows.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_OPTIMISE_H
#define ATTNC_COMPILER_CODEGEN_CPU_OPTIMISE_H

#include "mlir/IR/BuiltinOps.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attnc::cpu {

/// `wanted`, or 0 for a program so large that LLVM would take long: it takes a millisecond for ten
/// or twenty ops of a loop that it vectorises. `lowered` is what lowerNests makes.
unsigned affordableLevel(mlir::ModuleOp lowered, unsigned wanted);

/// Runs LLVM's pipeline of `level`, 0 to 3. Level 0 is a few passes that make little code: no
/// vectors, no unrolled loops.
void optimise(llvm::Module &module, unsigned level, llvm::TargetMachine &machine);

} // namespace attnc::cpu

#endif
