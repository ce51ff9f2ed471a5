// LLVM's optimiser.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_OBJECT_OPTIMISE_H
#define ATTNC_COMPILER_CODEGEN_CPU_OBJECT_OPTIMISE_H

#include "compiler/codegen/cpu/object/effort.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace attnc::cpu {

/// Runs the passes of an effort.
void optimise(llvm::Module &module, Effort effort, llvm::TargetMachine &machine);

} // namespace attnc::cpu

#endif
