// Scalars of maps as arith, math and LLVM ops that LLVM can vectorise.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_SCALAR_OPS_H
#define ATTNC_COMPILER_CODEGEN_CPU_SCALAR_OPS_H

#include "dialects/Red/Red.h"
#include "mlir/IR/IRMapping.h"

namespace attnc::cpu {

/// Emits the scalar `op` (arith, math, attn.sub, attn.mod, attn.rand) with operands taken from
/// `mapping`, and maps its result. Integer division by zero yields some value and does not trap.
void emitScalarOp(mlir::OpBuilder &builder, mlir::Operation &op, mlir::IRMapping &mapping);

/// x - y, and -inf where x is -inf.
mlir::Value emitSub(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value y);

/// e^x. For f32 a polynomial (within 2 ulp; 0 at -inf, inf past the range, NaN at NaN), for f64
/// the C library's function.
mlir::Value emitExp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x);

/// The constant of a float type.
mlir::Value floatConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double v);
mlir::Value intConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int64_t v);
mlir::Value index64(mlir::OpBuilder &builder, mlir::Location loc, int64_t v);

/// The identity of a fold over elements of `type`, and its combination of two elements. With
/// `inAnyOrder` float additions and multiplications may be reordered: where that is of no use they
/// are not, so that two nests that compute the same scores get the same bits.
mlir::Value foldIdentity(mlir::OpBuilder &builder, mlir::Location loc, red::FoldKind kind,
                         mlir::Type type);
mlir::Value foldCombine(mlir::OpBuilder &builder, mlir::Location loc, red::FoldKind kind,
                        mlir::Value x, mlir::Value y, bool inAnyOrder);

} // namespace attnc::cpu

#endif
