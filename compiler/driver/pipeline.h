// The passes of a compilation, in order.
#ifndef ATTNC_COMPILER_DRIVER_PIPELINE_H
#define ATTNC_COMPILER_DRIVER_PIPELINE_H

#include "dialects/Red/Red.h"
#include <string>

namespace attnc::driver {

/// A pass over a program that keeps its meaning.
struct Step {
  const char *name;    ///< the pass's name, that of its file
  const char *summary; ///< one sentence
  void (*run)(attn::ProgramOp program);
};

/// From what the user wrote to fused nests: independent of the target.
llvm::ArrayRef<Step> targetIndependentSteps();

/// The IR of `op` as text, with the spec's names for its values.
std::string printIr(mlir::Operation *op);

} // namespace attnc::driver

#endif
