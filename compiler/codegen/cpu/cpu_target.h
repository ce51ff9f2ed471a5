// Nests compiled for the processor of this machine.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_CPU_TARGET_H
#define ATTNC_COMPILER_CODEGEN_CPU_CPU_TARGET_H

#include "compiler/codegen/cpu/effort.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace attnc::cpu {

struct CpuOptions {
  unsigned threads = 0;       ///< threads of a run; 0: as many as the machine has
  Effort most = Effort::Full; ///< less where the program is large
  bool keepLlvmIr = false;    ///< keep the optimised LLVM IR for CpuExecutable::llvmIr
};

/// The machine code of a program's nests. Thread-safe once created; independent of the module it
/// was compiled from. Destroy it before the program's static objects go: its destructor runs LLVM's
/// code generator once more, which needs LLVM's own.
class CpuExecutable {
public:
  /// Compiles every red.nest of the one attn.program in `module`. Fails, saying why, on a nest that
  /// needs two passes over its stream or an op without a lowering.
  static llvm::Expected<std::unique_ptr<CpuExecutable>> compile(mlir::ModuleOp module,
                                                                const CpuOptions &options = {});
  ~CpuExecutable();

  /// Number of nests; they are numbered in program order.
  unsigned size() const;

  /// Computes one nest and returns when it is done. `args` are the values of
  /// schedule::KernelSignature in its order: pointers and i64 as they are, f32 params as their bits
  /// in the lower half. Tensors of results must not overlap any other tensor of the call; extents
  /// may be 0.
  void run(unsigned nest, llvm::ArrayRef<uint64_t> args) const;

  /// What was left out because the program is large, in words; empty if nothing was.
  const std::string &leftOut() const;

  /// The optimised LLVM IR; empty unless CpuOptions::keepLlvmIr.
  const std::string &llvmIr() const;

private:
  struct Code;
  explicit CpuExecutable(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};

} // namespace attnc::cpu

#endif
