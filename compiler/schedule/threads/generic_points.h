// Which points of its results a nest's threads have in the generic form.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_GENERIC_POINTS_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_GENERIC_POINTS_H

#include "dialects/Red/Red.h"

namespace attnc::schedule {

/// The dims of all results; neighbouring threads store what lies side by side. Of these the first
/// `cell_dims` are those of a cell.
llvm::SmallVector<mlir::StringAttr> pointDims(red::NestOp nest);

/// The points of a thread: so many neighbours along each of some dims of the results.
struct Together {
  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>> dims;
  bool foldInOneLoop = false; ///< what their results are made of, for all of them

  int64_t along(mlir::StringAttr dim) const;
};

/// Results that a thread stores at one point: the dims of one of them have those of the others.
struct ResultGroup {
  llvm::SmallVector<unsigned> results;      ///< their numbers
  llvm::SmallVector<mlir::StringAttr> dims; ///< as they lie in that one's memory
  Together together;                        ///< along these dims
};

/// The results by what points they have: none is computed again for dims that it lacks but another
/// has, unless that one has all of its own, too.
llvm::SmallVector<ResultGroup> resultGroups(red::NestOp nest);

/// All results at the points of a cell of the first `cellDims` of pointDims, which are not among
/// the group's dims.
ResultGroup groupOfCell(red::NestOp nest, size_t cellDims);

} // namespace attnc::schedule

#endif
