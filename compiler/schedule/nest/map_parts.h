// Scalars of a map become arrays of their own.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_MAP_PARTS_H
#define ATTNC_COMPILER_SCHEDULE_NEST_MAP_PARTS_H

#include "dialects/Red/Red.h"
#include "mlir/IR/Builders.h"

namespace attnc::schedule {

/// The map's operands that the scalar is computed from.
llvm::SmallVector<mlir::Value> operandsOf(attn::MapOp map, mlir::Value scalar);

/// The array of a scalar of the map, with the dims that what it is computed from has: an operand,
/// or a new map at the insertion point.
mlir::Value arrayOf(mlir::OpBuilder &builder, attn::MapOp map, mlir::Value scalar);

/// The type of an array that is computed from `arrays`: their dims, in the order that the dims of
/// the map's result have.
attn::ArrayType typeOfPart(attn::MapOp map, mlir::ValueRange arrays, mlir::Type element);

/// True if what the scalar is computed from varies along the dim.
bool hasDim(attn::MapOp map, mlir::Value scalar, mlir::StringAttr dim);

/// In the map: the element of an array that becomes an operand, behind the others.
mlir::Value addOperand(attn::MapOp map, mlir::Value array);

/// Scalars and operands that nothing in the map needs.
void eraseUnused(attn::MapOp map);

} // namespace attnc::schedule

#endif
