// Sums of differences from a centre that is infinite in some rows: the logarithm of a weight of
// which the row has none, beside weights of which it has some.
#ifndef ATTNC_COMPILER_TRANSFORMS_ANALYSIS_INFINITE_CENTRE_H
#define ATTNC_COMPILER_TRANSFORMS_ANALYSIS_INFINITE_CENTRE_H

#include "compiler/transforms/algebra/terms.h"
#include "mlir/IR/Builders.h"

namespace attnc {

/// True if `centre` may be infinite or NaN where the weights of `sum` do not come to 0: it depends
/// on an extremum, or on sums of other weights, of which a condition may leave out a whole row.
bool mayBeInfiniteBeside(Terms &terms, const ScalarExpr *centre, red::FoldOp sum);

/// A first moment about 0 where its centre is not finite, and what that makes of the sum of
/// differences from the centre as it is.
class MomentAboutInfinity {
public:
  /// Arrays are made before `b`'s insertion point.
  MomentAboutInfinity(attn::ProgramOp program, mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Value centre)
      : program(program), b(b), loc(loc), centre(centre) {}

  /// The centre, and 0 where it is infinite or NaN.
  mlir::Value finiteCentre();

  /// sum of w * (x - g) of `moment` about the finite centre and `weights`, the sum of w. Of an
  /// infinite x it is infinite whatever the centre is: -inf - g is -inf.
  mlir::Value corrected(mlir::Value moment, mlir::Value weights);

private:
  attn::ProgramOp program;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Value centre;
};

} // namespace attnc

#endif
