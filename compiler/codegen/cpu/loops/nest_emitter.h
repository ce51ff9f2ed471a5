// A nest as three functions over loops, scalars and pointers.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_NEST_EMITTER_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_NEST_EMITTER_H

#include "dialects/Red/Red.h"
#include "llvm/Support/Error.h"

namespace attnc::cpu {

/// Emits at the end of `module`, in the dialects scf, arith, math and llvm:
///
///   void <name>(ptr arguments, i64 first, i64 last, ptr scratch)
///   i64 <name>_cells(ptr arguments)
///   i64 <name>_scratch(ptr arguments)
///
/// `arguments` are the 64-bit words of schedule::KernelSignature. The work of a nest is cut into
/// independent cells, one tile of rows of one grid index each; the first function computes the
/// cells [first, last), with `scratch` pointing to as many bytes, aligned to 64, as the third one
/// says. Calls with disjoint cells and their own scratch may run at the same time.
llvm::Error emitNest(mlir::ModuleOp module, red::NestOp nest, llvm::StringRef name);

} // namespace attnc::cpu

#endif
