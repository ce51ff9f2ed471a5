// Builds the kernel of a nest in the rows form.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_ROWS_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_ROWS_LOWERING_H

#include "compiler/schedule/threads/point_evaluator.h"
#include "compiler/schedule/threads/rows_plan.h"

namespace attnc::schedule {

/// A block has some rows, and goes over the stream tile by tile:
/// 1. threads compute the scalars of the tile, one element for each row and stream index;
/// 2. warps fold extrema over the tile, and how far references move;
/// 3. threads compute the weights;
/// 4. warps fold the states without inner dims, and threads those with, each its own elements.
/// Then threads finish the elements of the results, which find the states in shared memory.
class RowsLowering {
public:
  RowsLowering(red::NestOp nest, RowsPlan plan, RowsSchedule schedule,
               const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);
  void build();

private:
  using Value = mlir::Value;
  using Body = llvm::function_ref<void(Value)>;

  // rows_block.cpp: where the block works.
  void bindBlock();
  std::pair<Value, Value> streamBounds(unsigned axis);
  void eachIndex(unsigned axis);
  llvm::SmallVector<Value> rowArguments();
  Value isLive(Value first, Value count);
  /// The evaluator of one row of the block, one beyond the extent taken for the last.
  PointEvaluator atRow(Value row);
  PointEvaluator at(Value row, Value column);

  // Arrays.
  Value array(mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::Type element, bool shared);
  Value get(Value array, llvm::ArrayRef<Value> indices, mlir::Location loc);
  void set(Value value, Value array, llvm::ArrayRef<Value> indices, mlir::Location loc);
  void createArrays();

  // One tile of the stream.
  void foldTile(Value first, Value end);
  void computeScalars(Value count);
  void storeScalars(PointEvaluator &evaluator, Value row, Value column);
  void shareBlocks(Value count, int64_t rows, int64_t columns);
  void provideTile(PointEvaluator &evaluator, Value row, Value column);
  Value distance(const RowsWeight &weight, mlir::Location loc, Value x, Value y);
  llvm::SmallVector<Value> distancesAt(red::FoldOp state, PointEvaluator &evaluator, Value row,
                                       Value column, llvm::ArrayRef<Value> at, bool shared);
  Value rescaleAt(red::FoldOp state, Value row);
  void foldExtrema(Value count);
  void computeWeights(Value count);
  void foldPlain(Value count);
  void foldPlainSums(Value count, bool moments);
  void foldGroup(unsigned number, Value count);
  void foldElement(unsigned number, Value count, Value turn, PointEvaluator evaluator, Value own);
  void foldColumns(unsigned number, Value count, Value turn, PointEvaluator evaluator, Value own,
                   bool moments);
  PointEvaluator elementOf(const RowsGroup &group, PointEvaluator evaluator, Value row,
                           llvm::ArrayRef<Value> at);
  /// The states of several rows that warps fold, lanes side by side along the tile.
  void foldRows(llvm::ArrayRef<red::FoldOp> states, Value count,
                llvm::function_ref<void(Value row, llvm::ArrayRef<Value> totals)> use);

  // rows_moments.cpp
  bool hasMoments(llvm::ArrayRef<red::FoldOp> folds);
  void createCentres(llvm::ArrayRef<red::FoldOp> folds, llvm::ArrayRef<int64_t> shape, bool shared);
  void startCentres(llvm::ArrayRef<red::FoldOp> folds, llvm::ArrayRef<Value> at, bool shared);
  void keepLower(red::FoldOp sum, Value before, llvm::ArrayRef<Value> at);
  void moveMoments(llvm::ArrayRef<red::FoldOp> folds, PointEvaluator &evaluator, Value row,
                   llvm::ArrayRef<Value> at, bool shared, bool complete);
  void movePlainMoments(bool complete);

  // After the stream.
  void shareStates();
  void storeResults();
  void storeResult(unsigned number);
  PointEvaluator finished(Value row);
  /// The states without inner dims, for one row.
  void provideStates(PointEvaluator &evaluator, Value row);

  // Loops and conditions.
  void loop(Value from, Value to, int64_t step, llvm::StringRef name, Body body,
            std::optional<int64_t> unroll = {});
  void when(Value condition, llvm::function_ref<void()> body);
  /// Threads take the numbers below `count` in turn.
  void share(Value count, llvm::StringRef name, Body body);
  /// Threads take the points of a tile in turn: its rows and the first `count` columns.
  void sharePoints(Value count, llvm::function_ref<void(Value row, Value column)> body);
  void eachTurn(unsigned group, llvm::function_ref<void(Value turn, Value item)> body);
  std::pair<Value, Value> splitItem(const RowsGroup &group, Value item);
  void eachRow(const RowsGroup &group, Value own,
               llvm::function_ref<void(Value row, Value number)> body);
  void bindInner(PointEvaluator &evaluator, llvm::ArrayRef<mlir::StringAttr> dims, Value number);
  void barrier();

  Value constant(int64_t value);
  Value wide(int64_t value);
  Value widen(Value index, llvm::StringRef name);
  Value binary(llvm::StringRef name, char op, Value x, Value y);
  Value less(Value x, Value y);
  mlir::Location named(llvm::StringRef name);
  int64_t extentOf(mlir::StringAttr dim);
  std::string rowName() { return plan.row ? plan.row.getValue().str() : "row"; }
  llvm::SmallVector<Value> rowIndex(Value row);
  llvm::SmallVector<Value> tileIndex(Value row, Value column);
  llvm::SmallVector<Value> elementIndex(Value turn, Value number);

  red::NestOp nest;
  RowsPlan plan;
  RowsSchedule schedule;
  KernelMemory memory;
  tile::KernelOp kernel;
  mlir::OpBuilder &b;
  PointEvaluator block; ///< the dims of cells of which the block has one index
  llvm::SmallVector<GroupThreads> threads;

  Value thread, warp, lane;              ///< i32
  Value row0, rowExtent;                 ///< i64: the block's first row, and the extent of plan.row
  Value column0;                         ///< i64: the first stream index of the tile
  llvm::MapVector<Value, Value> scalars; ///< shared, per tile column and row; by array
  llvm::SmallVector<Value> weights;      ///< shared, per tile column and row
  llvm::MapVector<Value, Value> states;  ///< shared, per row; by plain state
  llvm::MapVector<Value, Value> rescale; ///< shared, per row; by reference that runs
  llvm::MapVector<Value, Value> elements;                ///< of a thread; by state with inner dims
  llvm::MapVector<std::pair<Value, int>, Value> centres; ///< by array, and whether it is shared
  llvm::MapVector<Value, Value> lowerSums; ///< before the tile; by the sum that moments stand on
  llvm::MapVector<Value, Value> completed; ///< shared, per row and element; by such a state
};

} // namespace attnc::schedule

#endif
