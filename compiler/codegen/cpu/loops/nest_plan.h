// How a nest is computed tile by tile: what is kept in buffers, in which order, and when.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_NEST_PLAN_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_NEST_PLAN_H

#include "dialects/Red/Red.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Error.h"

namespace attnc::cpu {

using DimList = llvm::SmallVector<mlir::StringAttr, 4>;

/// When a value of the body is computed.
enum class Phase {
  Prologue, ///< once per tile of rows, before the stream
  Step,     ///< once per tile of the stream
  Epilogue, ///< once per tile of rows, after the stream: it depends on a state
};

/// What it takes to compute one element of a value from buffers and tensors.
struct ElementCost {
  unsigned ops = 0;   ///< scalar ops, about; it stops counting at some thousands
  bool calls = false; ///< calls a function of the C library
};

/// exp(exponent - reference), which all folds over this pair share.
using ExponentPair = std::pair<mlir::Value, mlir::Value>;

/// A plan is made once and then only read. It refers to the nest, which must outlive it.
///
/// Roles are those of the nest, except that a nest without rows and without a domain takes its last
/// two grid dims as rows: one cell at a time would not use the vector unit.
class NestPlan {
public:
  /// Fails, naming the op, if the nest cannot be computed in one pass over its stream.
  static llvm::Expected<NestPlan> make(red::NestOp nest);

  red::NestOp nest;
  DimList grid, row, stream, inner;

  /// Elements of `dim` that a tile holds: 1 for grid dims, a tile size for row and stream dims, and
  /// none for inner dims, which are whole.
  std::optional<int64_t> tile(mlir::StringAttr dim) const;

  Phase phase(mlir::Value value) const { return phases.lookup(value); }
  bool isState(mlir::Value value) const { return states.contains(value); }
  /// States that are the reference of a state's exponent.
  bool isReference(mlir::Value state) const { return references.contains(state); }
  /// States that are a moment of lower degree of another.
  bool isLower(mlir::Value state) const { return lowers.contains(state); }
  /// What moments are about.
  llvm::ArrayRef<mlir::Value> momentCentres() const { return centres.getArrayRef(); }

  /// The dims of the buffer of `value`, contiguous one last, grid dims left out; null if the value
  /// is computed where it is used.
  const DimList *bufferDims(mlir::Value value) const;
  /// The order of dims in which exp(exponent - reference) is kept.
  const DimList &exponentialDims(ExponentPair pair) const;
  llvm::ArrayRef<ExponentPair> exponentials() const { return pairs; }

  /// Of computing `value`, be it buffered or not.
  ElementCost costOf(mlir::Value value) const { return costs.lookup(value); }

  /// Dims of the loops of a fold, outermost first. If the last one is a folded dim, the innermost
  /// loop is a reduction; otherwise it runs along the result.
  DimList foldOrder(red::FoldOp fold) const;

  /// `dims` without grid dims.
  DimList tileDims(llvm::ArrayRef<mlir::StringAttr> dims) const;
  DimList tileDims(mlir::Value array) const;

private:
  void assignRoles();
  llvm::Error assignPhases();
  void findPairs();
  void chooseBuffers();
  ElementCost findCost(mlir::Operation &op);
  bool isCheap(mlir::Value value);
  bool computesCheaply(mlir::Value value);
  bool fitsItsOnlyUse(mlir::Value value) const;
  DimList iterationDims(mlir::Operation *op) const;
  void chooseOrders();
  mlir::StringAttr vectorDim(red::FoldOp fold) const;
  mlir::StringAttr contiguousDim(mlir::Value value) const;
  mlir::StringAttr votedDim(mlir::Value value) const;
  mlir::StringAttr voteOf(mlir::Operation *user, mlir::Value value) const;
  void chooseTiles();
  int64_t bufferBytes() const;

  llvm::DenseMap<mlir::StringAttr, int64_t> tiles;
  llvm::DenseMap<mlir::Value, Phase> phases;
  llvm::DenseMap<mlir::Value, bool> cheap;
  llvm::DenseMap<mlir::Value, ElementCost> costs;
  llvm::DenseSet<mlir::Value> states, references, lowers;
  llvm::SetVector<mlir::Value> centres;
  llvm::MapVector<mlir::Value, DimList> buffers;
  llvm::SmallVector<ExponentPair> pairs;
  llvm::DenseMap<ExponentPair, DimList> pairDims;
};

} // namespace attnc::cpu

#endif
