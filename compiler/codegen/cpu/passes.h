// The pass of compiler/codegen/cpu, for the pass driver of the tests.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_PASSES_H
#define ATTNC_COMPILER_CODEGEN_CPU_PASSES_H

#include "mlir/Pass/Pass.h"

namespace attnc::cpu {

/// Replaces the program of a module by the loops of its nests (see lowerNests).
std::unique_ptr<mlir::Pass> createLowerCpuPass();

/// Registers `--lower-cpu`.
void registerLowerCpuPass();

} // namespace attnc::cpu

#endif
