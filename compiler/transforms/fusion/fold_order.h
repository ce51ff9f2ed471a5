// Which passes wait for which.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_ORDER_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_FOLD_ORDER_H

#include "compiler/transforms/fusion/partition.h"
#include "llvm/ADT/SmallBitVector.h"

namespace attnc {

/// The passes of a program as a graph. Their list is one order in which they can run; a fold may
/// join any pass that does not, through another one, wait for the fold's own operands.
class FoldOrder {
public:
  explicit FoldOrder(Partition &passes);

  /// The passes that `value` depends on, directly or through others: a bit for each.
  llvm::SmallBitVector behind(mlir::Value value) const;
  /// The last of them, or -1.
  int lastPass(mlir::Value value) const { return behind(value).find_last(); }
  /// True if `fold` depends on `pass`, and through no other pass.
  bool dependsDirectly(red::FoldOp fold, unsigned pass) const;
  /// Has `pass` run behind `last`, and after it those of the passes between that wait for it.
  /// `last` must not wait for `pass`. Invalidates this graph.
  void moveBehind(unsigned pass, unsigned last);

private:
  int ownerOf(mlir::Operation *op) const;

  Partition &passes;
  llvm::DenseMap<mlir::Operation *, unsigned> owner;
};

} // namespace attnc

#endif
