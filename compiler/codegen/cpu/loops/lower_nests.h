// All nests of a program as loops.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOWER_NESTS_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOWER_NESTS_H

#include "dialects/Red/Red.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>

namespace attnc::cpu {

/// The nests of a module, in program order.
llvm::SmallVector<red::NestOp> nestsOf(mlir::ModuleOp module);

/// The name of the function that computes nest number `number`, unique in its module.
std::string kernelSymbol(unsigned number, red::NestOp nest);

/// The loops of every red.nest: a new module of llvm.func ops over scf, arith, math and llvm, three
/// for each nest (see emitNest), in the context of `module`, which must have these dialects loaded.
/// `module` holds one attn.program and is not changed. Fails on a nest that needs two passes over
/// its stream.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> lowerNests(mlir::ModuleOp module);

} // namespace attnc::cpu

#endif
