// Long sequences of loops, divided among functions.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_OUTLINE_LOOPS_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_OUTLINE_LOOPS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attnc::cpu {

/// Moves the loops of every block of `function` that holds more than a few dozens of them into
/// functions of their own, called in the same order: LLVM's analyses of loops take time that grows
/// with the square of the number of loops in a function. A call costs nothing beside so many loops.
/// Runs on what emitNest emits, where the values between loops are local to a few of them.
void outlineLoops(mlir::LLVM::LLVMFuncOp function);

} // namespace attnc::cpu

#endif
