// What a nest needs from the rows form: which dims its blocks own, what the threads of a block hand
// each other, and which states are spread over threads.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_ROWS_PLAN_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_ROWS_PLAN_H

#include "compiler/schedule/nest/signature.h"
#include "dialects/Tile/Tile.h"

namespace attnc::schedule {

/// The states with the same inner dims: their elements are spread over threads.
struct RowsGroup {
  llvm::SmallVector<mlir::StringAttr> dims; ///< inner ones, static; the last one fastest
  int64_t elements = 1;                     ///< of a row: the product of the extents
  llvm::SmallVector<red::FoldOp> states;
  /// Every operand of the states with an inner dim depends on the row as well: nothing is gained
  /// where one thread has several rows.
  bool dividesRows = true;
};

/// exp(exponent - reference), an element for each row and stream index.
struct RowsWeight {
  mlir::Value exponent, reference;
  bool isRunning; ///< the reference is a state of the nest, which moves from tile to tile

  friend bool operator==(const RowsWeight &, const RowsWeight &) = default;
};

/// A row is a cell of the dims that the results have and that are not inner.
struct RowsPlan {
  mlir::StringAttr stream;                   ///< the dim whose indices make tiles: the last one
  llvm::SmallVector<mlir::StringAttr> outer; ///< other stream dims: one index after the other
  llvm::SmallVector<mlir::StringAttr> cells;
  /// The cell dim along which a block has several rows; null: it has one.
  mlir::StringAttr row;
  llvm::SmallVector<red::FoldOp> plain; ///< states without inner dims: one element for a row
  llvm::SmallVector<RowsGroup> groups;
  /// Arrays with an element for each row and stream index, which a block computes once.
  llvm::SmallVector<mlir::Value> scalars;
  bool foldsTogether = false; ///< folds over inner dims are in them, of which rows share operands
  llvm::SmallVector<RowsWeight> weights;

  bool isCell(mlir::StringAttr dim) const { return llvm::is_contained(cells, dim); }
  bool isStream(mlir::StringAttr dim) const {
    return dim == stream || llvm::is_contained(outer, dim);
  }
  /// All dims of `array` are of cells, or the stream.
  bool isPerRow(mlir::Value array) const;
  /// The number of the weight that the state's terms have, or -1.
  int weightOf(red::FoldOp state) const;
  /// Elements of the arrays in the shared memory of a block, for one row and stream index.
  int64_t sharedPerElement() const { return scalars.size() + weights.size(); }
};

/// What the terms of a fold are made of besides their weight.
llvm::SmallVector<mlir::Value> operandsOf(red::FoldOp fold);

/// The plan, or why there is none.
llvm::FailureOr<RowsPlan> planRows(red::NestOp nest, std::string &why);

using tile::RowsSchedule;

/// Rows of the block of which a thread has an element of the group: they share what it reads. As
/// many, up to 4, as leave elements for 128 threads.
int64_t rowsTogether(const RowsGroup &group, const RowsSchedule &schedule);
/// What threads divide of a group: its elements, each of so many rows as are together.
int64_t itemsOf(const RowsGroup &group, const RowsSchedule &schedule);

/// The threads that have a group's elements: `count` of them from `first` on. Groups have threads
/// side by side where there are enough.
struct GroupThreads {
  int64_t first, count;
};
llvm::SmallVector<GroupThreads> groupThreads(const RowsPlan &plan, const RowsSchedule &schedule);

/// Rows and columns of a tile whose scalars a thread computes together: what folds in them read of
/// a row or a column is then read once.
std::pair<int64_t, int64_t> scalarsTogether(const RowsPlan &plan, const RowsSchedule &schedule);

/// The rows of a tile's arrays in shared memory, which have its columns first: of many rows a few
/// more, so that neighbouring columns lie in different banks.
int64_t rowStride(const RowsSchedule &schedule);

/// Elements of states that a thread has at a time.
int64_t stateRegisters(const RowsPlan &plan, const RowsSchedule &schedule);

/// The schedule that the compiler takes, or nothing if the block's memory or registers cannot hold
/// the nest's states, with why.
std::optional<RowsSchedule> chooseRows(red::NestOp nest, const RowsPlan &plan, std::string &why);

/// Schedules that the nest can run by, the compiler's own first: other numbers of rows, then other
/// stream tiles.
std::vector<RowsSchedule> rowsCandidates(red::NestOp nest, const RowsPlan &plan);

/// Why the nest cannot run by this schedule, or "".
std::string checkRows(const RowsPlan &plan, const RowsSchedule &schedule);

} // namespace attnc::schedule

#endif
