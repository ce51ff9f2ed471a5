// The orders in which a sum of products can be computed.
#ifndef ATTNC_COMPILER_TRANSFORMS_ALGEBRA_PRODUCT_ORDERS_H
#define ATTNC_COMPILER_TRANSFORMS_ALGEBRA_PRODUCT_ORDERS_H

#include "compiler/transforms/analysis/extent_cost.h"
#include "dialects/Red/Red.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace attnc {

/// There are 3^n ways to look at for n factors. Longer products stay as they are written.
inline constexpr unsigned kMostFactors = 8;

/// A sum over `reduced` of the product of `factors`, at most kMostFactors of them.
struct Product {
  llvm::SmallVector<mlir::Value> factors;
  llvm::SmallVector<mlir::StringAttr> reduced;
  /// Sums that the program has only for the sake of this product.
  llvm::SmallPtrSet<mlir::Operation *, 4> own;
};

/// What the cheapest order of a product costs beyond what the program computes before `whole`, the
/// fold whose value the product is.
struct OrderCost {
  ExtentCost cost;
  bool streams = false; ///< a sum over a dim that is known only at run time is among it
};
OrderCost cheapestOrder(attn::ProgramOp program, const Product &product, red::FoldOp whole);

/// Computes the product in that order, before `whole`.
mlir::Value buildCheapestOrder(attn::ProgramOp program, const Product &product, red::FoldOp whole);

} // namespace attnc

#endif
