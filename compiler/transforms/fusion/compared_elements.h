#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_COMPARED_ELEMENTS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_COMPARED_ELEMENTS_H

#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attnc {

/// A comparison of a maximum or minimum with elements that it may be one of, as the gradient of an
/// extremum makes it: it holds to the last digit only where both come from the same arithmetic.
struct ElementComparison {
  red::FoldOp extremum;
  attn::MapOp map; ///< in which it is compared
  mlir::arith::CmpFOp compare;
  unsigned element; ///< the operand of `compare` that the elements are
};

/// Those of the program, whose reductions are folds at its level. The extremum may be read, negated
/// or chosen on the way.
llvm::SmallVector<ElementComparison> elementComparisons(attn::ProgramOp program);

/// Marks the maps that make elements which are compared with their extremum, and what these are
/// compared as: each is computed by that map alone, and the algebra takes nothing out of it.
void markComparedElements(attn::ProgramOp program);
bool isComparedElement(mlir::Value array);
void setComparedElement(mlir::Value array);

/// Takes the marks away. Kernels that compute such elements compute them alike: the scalar ops and
/// the folds that make them are exact (kExactAttr).
void makeComparedElementsExact(attn::ProgramOp program);

} // namespace attnc

#endif
