// attn.read: an array at one subscript for each of its axes.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_READ_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_READ_H

#include "compiler/evaluator/float64/reduction.h"

#include <optional>

namespace attnc::evaluator {

/// One axis of the source and what selects along it.
struct Subscript {
  int64_t extent;       // of the source's axis
  int64_t sourceStride; // in elements
  /// The dim of the result that subscripts the axis; null if `index` does.
  mlir::StringAttr dim;
  Tensor index;
  /// What position along `dim` stands for (a sampled dim); null if the position itself.
  const std::vector<int64_t> *sample = nullptr;
};

/// `source` at `subscripts`, over `result`. A view of the source where that is possible. Outside,
/// `otherwise` is read; without it, the error names the axis and the index.
llvm::Expected<Tensor> readAt(Workplace work, const Tensor &source,
                              llvm::ArrayRef<Subscript> subscripts, const Space &result,
                              std::optional<double> otherwise);

} // namespace attnc::evaluator

#endif
