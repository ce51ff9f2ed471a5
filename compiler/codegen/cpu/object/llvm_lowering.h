// From loops and scalars to the LLVM dialect.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_OBJECT_LLVM_LOWERING_H
#define ATTNC_COMPILER_CODEGEN_CPU_OBJECT_LLVM_LOWERING_H

#include "mlir/IR/BuiltinOps.h"

namespace attnc::cpu {

/// Loads the dialects that generated code uses and registers their translation to LLVM IR.
void prepareContext(mlir::MLIRContext &context);

/// Converts scf, cf, arith and math to the LLVM dialect. Fails, with a diagnostic, on an op that
/// has no conversion.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

} // namespace attnc::cpu

#endif
