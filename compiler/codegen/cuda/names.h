// Names of variables in generated CUDA C++.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_NAMES_H
#define ATTNC_COMPILER_CODEGEN_CUDA_NAMES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace attnc::cuda {

/// Gives every variable of a kernel its own name: the spec's where there is one, made a C
/// identifier, with a number where it is taken.
class Names {
public:
  /// Reserves what the language, the device headers and the kernel's own text use.
  Names();

  /// `wanted` if it is free, or else `wanted_2`, `wanted_3`, ...
  std::string unique(llvm::StringRef wanted);

  /// A name for what is at `loc`, or for `fallback` if the spec has none.
  std::string uniqueFor(mlir::Location loc, llvm::StringRef fallback);

  /// Names given out between these belong to a block and are free again after it.
  void openScope() { scopes.emplace_back(); }
  void closeScope();

private:
  llvm::StringSet<> taken;
  std::vector<std::vector<std::string>> scopes = {{}};
};

} // namespace attnc::cuda

#endif
