// What computing an array costs, with extents that are known only at run time.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_EXTENT_COST_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_EXTENT_COST_H

#include "dialects/Attn/Attn.h"

namespace attnc {

/// The extent of a dim for which the reference shape (dialects/Attn/ReferenceShape.h) has none.
inline constexpr int64_t kAssumedExtent = 256;

/// The static extent of a dim, or that of the reference shape.
double referenceExtent(attn::ProgramOp program, mlir::StringAttr dim);

/// A number of operations as a polynomial in the extents of dynamic dims. Of two, the one of the
/// lower degree is the smaller, all dynamic extents being taken to grow alike; of those of one
/// degree, the one that is smaller at the reference shape.
class ExtentCost {
public:
  ExtentCost() = default;
  /// One operation for each element of an array over `dims`.
  ExtentCost(attn::ProgramOp program, llvm::ArrayRef<mlir::StringAttr> dims);

  void operator+=(const ExtentCost &other);
  bool operator<(const ExtentCost &other) const;
  /// Of a lower degree, or a tenth less: what saves a small sum behind a large one is not worth
  /// another order.
  bool isWellBelow(const ExtentCost &other) const;
  unsigned getDegree() const { return degree; }

private:
  unsigned degree = 0; // 0 also of nothing
  double atReference = 0;
};

} // namespace attnc

#endif
