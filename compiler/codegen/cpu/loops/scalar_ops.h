// Scalars of maps as arith, math and LLVM ops that LLVM can vectorise.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_SCALAR_OPS_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_SCALAR_OPS_H

#include "dialects/Red/Red.h"
#include "mlir/IR/IRMapping.h"

namespace attnc::cpu {

/// Emits the scalar `op` (arith, math, attn.sub, attn.mod, attn.rand) with operands taken from
/// `mapping`, and maps its result. Integer division by zero yields some value and does not trap.
void emitScalarOp(mlir::OpBuilder &builder, mlir::Operation &op, mlir::IRMapping &mapping);

/// The bits, as an i16, of the bf16 that is nearest to an f32; of two the even one.
mlir::Value bf16Bits(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// The constant of a float type.
mlir::Value floatConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double v);
mlir::Value intConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int64_t v);
mlir::Value index64(mlir::OpBuilder &builder, mlir::Location loc, int64_t v);

} // namespace attnc::cpu

#endif
