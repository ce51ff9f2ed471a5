// Products of rows of two sequences: the scores of attention.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_PAIR_PRODUCTS_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_PAIR_PRODUCTS_H

#include "dialects/Red/Red.h"

namespace attnc {

/// True of a sum over static dims of a product with a value for each pair of indices of two
/// sequences, each factor being of one of them, that is folded over one of the two later. It is
/// whole in a tile, also where an extremum runs over its dims: storing it takes a value for each
/// pair.
bool isPairProduct(red::FoldOp fold);

/// True of a fold with a value for each pair of indices of two sequences, which no tensor that it
/// reads has, and which is folded over one of the two later. A count of conditions of which that is
/// true is whole in a tile, too, also where it runs over a dim known only at run time.
bool isOfPairs(red::FoldOp fold);
bool isPairCount(red::FoldOp fold);

/// True if elements of a tensor that `array` is computed from are read along all of these dims.
bool readsTensorWith(mlir::Value array, llvm::ArrayRef<mlir::StringAttr> dims);

/// True of a sum over a sequence of values of pairs of positions, with columns, times weights that
/// are computed from products of such pairs: those have rows of one sequence, but only a dim that
/// the values lack, heads, can be the rows of the sum as a product. `weights` become its factors
/// that are weights.
bool sumsValuesOfPairs(red::FoldOp fold, llvm::SmallVectorImpl<mlir::Value> *weights = nullptr);

/// What nests of their own store for others: factors of products of pairs that would be computed
/// again for each tile of the other sequence, with exponentials, divisions or folds, and no larger
/// than an input; and the weights of sums of values of pairs. A program's folds are at its level.
llvm::SmallDenseSet<mlir::Value> storedFactors(attn::ProgramOp program);

} // namespace attnc

#endif
