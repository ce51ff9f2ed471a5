// The arithmetic of a nest's domain.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_DOMAIN_EMITTER_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_DOMAIN_EMITTER_H

#include "compiler/codegen/cpu/loops/loop_nest.h"

namespace attnc::cpu {

/// Emits what the domain says of the scope's tile of rows and, where `wanted` depends on it, of a
/// tile of the stream: `stream` holds the first and the last index of each stream dim. `wanted` are
/// operands of the domain's bounds.
llvm::SmallVector<mlir::Value> emitDomain(TileScope &scope, mlir::ValueRange stream,
                                          mlir::ValueRange wanted);

} // namespace attnc::cpu

#endif
