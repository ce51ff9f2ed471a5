// The regions of a fold's update: their text and their rules.
#ifndef ATTNC_DIALECTS_RED_UPDATE_H
#define ATTNC_DIALECTS_RED_UPDATE_H

#include "dialects/Red/Red.h"
#include "mlir/IR/OpImplementation.h"

namespace attnc::red {

/// Prints `update { name(arguments) { .. } .. }`, or nothing of a fold without one.
void printUpdateOf(mlir::OpAsmPrinter &printer, FoldOp fold);

/// Parses what printUpdateOf prints; `regions` are all that a fold may have, in order.
mlir::ParseResult parseUpdateOf(mlir::OpAsmParser &parser, llvm::ArrayRef<mlir::Region *> regions);

/// All regions are there that the fold has by its operands, or none; each takes the arguments that
/// it should, uses nothing else and returns one scalar.
mlir::LogicalResult verifyUpdate(FoldOp fold);

} // namespace attnc::red

#endif
