// The rows form of a nest: a block for some rows, whose threads share what a row and an index of
// the stream have in common.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_LOWER_ROWS_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_LOWER_ROWS_H

#include "compiler/schedule/nest/planned_nest.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// True if the nest has a rows form; else `why` says what it lacks.
bool canLowerRows(red::NestOp nest, std::string &why);

/// Lowers a nest that planRows takes, by its schedule, to a kernel at the builder's insertion point
/// (a module's body). The arguments are those of KernelSignature. The ops are scalar, and the
/// same on every target with threads. Fails, with an error at the nest, where there is no plan.
llvm::FailureOr<tile::KernelOp> lowerRowsNest(PlannedNest &planned, mlir::OpBuilder &builder);

} // namespace attnc::schedule

#endif
