// What a launch may access in global memory.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_GLOBAL_MEMORY_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_GLOBAL_MEMORY_H

#include "compiler/interpreter/interpreter.h"

namespace attnc::interpreter {

class GlobalMemory {
public:
  explicit GlobalMemory(llvm::ArrayRef<GlobalRange> ranges) : ranges(ranges) {}

  /// An empty string if the bytes lie in the tensor that starts at `tensor` (and it may be
  /// written), from a multiple of `alignment` bytes on; else what is wrong.
  std::string check(const void *tensor, const std::byte *address, size_t bytes, bool write,
                    size_t alignment = 1) const;

private:
  llvm::ArrayRef<GlobalRange> ranges;
};

} // namespace attnc::interpreter

#endif
