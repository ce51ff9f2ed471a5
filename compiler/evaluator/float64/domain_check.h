// The domains of nests against what their elements contribute, by brute force.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_DOMAIN_CHECK_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_DOMAIN_CHECK_H

#include "compiler/evaluator/float64/reduction.h"
#include "dialects/Red/Red.h"

namespace attnc::evaluator {

/// The domain of one nest, evaluated for every tile of several sizes. Lives while the nest is
/// evaluated.
class DomainCheck {
public:
  /// Evaluates the domain of `nest`, which it must have, over its dims. Fails on an op without a
  /// rule.
  static llvm::Expected<DomainCheck> create(red::NestOp nest, const Space &grid, const Space &row,
                                            const Space &stream, const ArraySource &arrays,
                                            const std::map<std::string, int64_t> &extents);

  /// One operand of a fold: an element leaves the state as it is if some operand holds `identity`,
  /// or is NaN.
  struct Operand {
    Tensor array;
    double identity;
  };

  /// Notes the rows in which an element that the domain leaves out would change the state `fold`:
  /// results must do without these.
  void checkState(red::FoldOp fold, llvm::ArrayRef<Operand> operands);

  /// Replaces the state `fold` where it has been noted: by NaN, or by an integer that nothing has
  /// been folded into.
  void poison(red::FoldOp fold, Tensor &state) const;

  /// Fails if a result is NaN in a row that has been noted.
  llvm::Error checkResult(const Tensor &result) const;

  /// Fails if in a full tile `condition`, that of a select which names its side, is not `side`.
  llvm::Error checkFull(const Tensor &condition, bool side) const;

private:
  /// The answers for one size of tiles; row-major over `counts`.
  struct Tiling {
    int64_t rows, columns;
    Extents counts;
    std::vector<std::vector<int64_t>> lo, hi; // for each stream dim
    std::vector<bool> full, live;             // live is empty if the domain does not say
  };

  llvm::Error evaluate(red::NestOp nest, const ArraySource &arrays,
                       const std::map<std::string, int64_t> &extents, Tiling &tiling) const;
  void place(const Tiling &tiling, int64_t first, int64_t count,
             std::vector<Register> &arguments) const;
  int64_t tileAt(const Tiling &tiling, llvm::ArrayRef<int64_t> index) const;
  bool isOutside(const Tiling &tiling, llvm::ArrayRef<int64_t> index) const;
  /// By indices of the grid and row dims: an element that is outside and whose operands are all off
  /// their identities.
  using Lost = std::map<Extents, std::string>;
  void findLost(const Tiling &tiling, llvm::ArrayRef<Operand> operands, Lost &lost) const;
  /// Calls `body` with the offset of each element of the array for which all rows that it stands
  /// for are lost, and with what is lost in one of them.
  void forEachLost(const Tensor &array, const Lost &lost,
                   llvm::function_ref<void(int64_t, const std::string &)> body) const;
  /// All dims of the nest but inner ones, then those that only `operands` have.
  Space spaceWith(llvm::ArrayRef<Operand> operands) const;
  std::string text(const Tiling &tiling, llvm::ArrayRef<int64_t> index) const;

  Space all; // grid, row, stream
  size_t gridRank = 0, rowRank = 0;
  std::vector<Tiling> tilings;
  llvm::DenseMap<mlir::Operation *, Lost> lostOf; // by state
};

} // namespace attnc::evaluator

#endif
