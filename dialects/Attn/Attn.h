// The attn dialect: what the user wrote, arrays over named dims. See docs/rationale/attn.md.
#ifndef ATTNC_DIALECTS_ATTN_ATTN_H
#define ATTNC_DIALECTS_ATTN_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attnc::attn {

/// Of an op whose results lie in memory: their dims have the order of the axes there, not the
/// program's.
template <class Op> class StoresResults : public mlir::OpTrait::TraitBase<Op, StoresResults> {};

} // namespace attnc::attn

#include "dialects/Attn/AttnDialect.h.inc"
#include "dialects/Attn/AttnEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Attn/AttnTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Attn/AttnAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Attn/AttnOps.h.inc"

namespace attnc::attn {

/// The program that encloses `op`, or null.
ProgramOp programOf(mlir::Operation *op);

/// The union of the dims of `arrays`, in the order of the program's list of dims.
llvm::SmallVector<mlir::StringAttr> unionDims(ProgramOp program, mlir::ValueRange arrays);

/// `dims` in the order of the program's list, without repetition.
llvm::SmallVector<mlir::StringAttr> canonicalDims(ProgramOp program,
                                                  llvm::ArrayRef<mlir::StringAttr> dims);

/// The type that bodies compute in for a storage type: f32 for floats (f64 stays), i64 for
/// integers, i1 for booleans.
mlir::Type computeType(mlir::Type storage);

/// The dims of a StrArrayAttr.
llvm::SmallVector<mlir::StringAttr> dimNames(mlir::ArrayAttr dims);

/// Printing and parsing of dims, shared by the dialects: `[b, h, i]` and `b`.
void printDimNames(mlir::OpAsmPrinter &p, mlir::Operation *op, mlir::ArrayAttr dims);
mlir::ParseResult parseDimNames(mlir::OpAsmParser &parser, mlir::ArrayAttr &dims);

} // namespace attnc::attn

#endif
