#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_FORM_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_FORM_H

#include "dialects/Red/Red.h"

namespace attnc {

/// Rewrites every attn.reduce of a desugared program into a red.fold at the level of the program.
/// A sum of a product becomes a fold with one factor for each operand; factors that do not depend
/// on the reduced dims are taken out of the sum.
void toFoldForm(attn::ProgramOp program);

/// The factors whose product is `array`, looking through maps that multiply; a factor that is no
/// array of the program yet becomes a map at the builder's insertion point. A scaled reduction is
/// one factor, a value in its own right, unless `ofReductions`: taken apart, its factors would
/// leave the range that the product was made for.
llvm::SmallVector<mlir::Value> productFactors(mlir::OpBuilder &b, mlir::Value array,
                                              bool ofReductions = false);

/// True if `productFactors` with `ofReductions` looks through `map`.
bool isProduct(attn::MapOp map);

} // namespace attnc

#endif
