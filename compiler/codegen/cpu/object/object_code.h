// Nests compiled to machine code for the processor of this machine, as an object file.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_OBJECT_OBJECT_CODE_H
#define ATTNC_COMPILER_CODEGEN_CPU_OBJECT_OBJECT_CODE_H

#include "compiler/codegen/cpu/object/effort.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace attnc::cpu {

struct ObjectOptions {
  Effort most = Effort::Full; ///< less where the program is large
  bool keepLlvmIr = false;    ///< keep the optimised LLVM IR in ObjectCode::llvmIr
};

/// What CpuExecutable::load takes. For each nest, in program order, the object defines `symbol`,
/// `symbol_cells` and `symbol_scratch` (see emitNest).
struct ObjectCode {
  std::string object;               ///< a relocatable ELF file; the same bytes for equal nests
  std::string processor;            ///< what it needs, as hostProcessor says it
  std::vector<std::string> symbols; ///< one for each nest
  /// What was left out because the program is large, in words; empty if nothing was.
  std::string leftOut;
  std::string llvmIr; ///< the optimised LLVM IR, if it was asked for
};

/// Compiles every red.nest of the one attn.program in `module`. Fails, saying why, on a nest that
/// needs two passes over its stream or an op without a lowering.
llvm::Expected<ObjectCode> compileObject(mlir::ModuleOp module, const ObjectOptions &options = {});

/// This processor: its architecture, then the features that code for it may use, by name:
/// "x86_64 adx aes avx avx2".
std::string hostProcessor();

/// The features of `processor` that this processor lacks; its architecture, if that is another.
std::vector<std::string> lackingHere(llvm::StringRef processor);

} // namespace attnc::cpu

#endif
