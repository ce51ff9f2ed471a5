// Kernels for the processor of this machine, ready to run.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_CPU_TARGET_H
#define ATTNC_COMPILER_CODEGEN_CPU_CPU_TARGET_H

#include "compiler/codegen/cpu/object/object_code.h"
#include <memory>
#include <string>
#include <vector>

namespace attnc::cpu {

/// The machine code of a program's nests. Thread-safe once created. Destroy it before the program's
/// static objects go: its destructor needs LLVM's own.
class CpuExecutable {
public:
  /// Loads an object of compileObject; `symbols` names its kernels. `threads` of a run; 0: as many
  /// as the machine has. Fails, saying why, on bytes that are no object for this architecture and
  /// on symbols that it does not define. An object is code: load only what you would run.
  static llvm::Expected<std::unique_ptr<CpuExecutable>>
  load(llvm::StringRef object, llvm::ArrayRef<std::string> symbols, unsigned threads = 0);
  ~CpuExecutable();

  /// Number of kernels; they are numbered as `symbols` was.
  unsigned size() const;

  /// Computes one nest and returns when it is done. `args` are the values of
  /// schedule::KernelSignature in its order: pointers and i64 as they are, f32 params as their bits
  /// in the lower half. Tensors of results must not overlap any other tensor of the call; extents
  /// may be 0.
  void run(unsigned number, llvm::ArrayRef<uint64_t> args) const;

private:
  struct Code;
  explicit CpuExecutable(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code;
};

} // namespace attnc::cpu

#endif
