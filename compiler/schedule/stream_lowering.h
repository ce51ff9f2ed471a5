// The construction of a stream kernel, shared by the files lower_stream*.cpp.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_LOWERING_H

#include "compiler/schedule/point_evaluator.h"
#include "compiler/schedule/stream_schedule.h"

namespace attnc::schedule {

/// Builds one kernel, in the order in which it runs: where the block works, operand copies, states,
/// the loop over the stream's tiles, the finish.
class StreamLowering {
public:
  StreamLowering(red::NestOp nest, StreamPlan plan, StreamSchedule schedule,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);
  void build();

  /// First rows of the block and of warps, and first columns of tiles: indices of their dims.
  llvm::ArrayRef<mlir::Value> indices() const { return indexValues; }

private:
  using Value = mlir::Value;

  /// A place that a map reads, and the nest's array whose elements it holds (null: none).
  struct Input {
    Value place;
    Value array;
  };
  using MapBody =
      llvm::function_ref<llvm::SmallVector<Value>(PointEvaluator &, mlir::ValueRange elements)>;

  // lower_stream.cpp: the frame.
  void locateBlock();
  void bindCells(Value cell);
  void placeTiles();
  void boundStream();
  void startCopies(Value index);
  void copyOperand(const OperandTile &operand, Value base, Value first, Value end, Value into);
  void loopOverStream();
  void hoistUniform();
  Value operandBase(const OperandTile &operand);
  Value tileNumber(Value index, int64_t tile, bool up, llvm::StringRef name);

  // lower_stream_step.cpp: one tile of the stream.
  void createStates();
  void step(Value index);
  Value multiply(const Contraction &contraction);
  Value isFull();
  Value scores(Value array, red::FoldKind kind);
  void writeScores(mlir::Location loc, mlir::Value array, llvm::ArrayRef<Input> ins,
                   mlir::Value into, mlir::Value identity, bool full);
  bool differsInPartialTiles(mlir::Value array);
  void findScales();
  void moveReference(unsigned number, Value scoreFragment);
  void rescale(unsigned number, Value factor);
  Value weightFragment(const Weight &weight);
  void foldWeights();
  unsigned consumers(Value contraction);
  llvm::SmallVector<Input> contractionInputs(Value array);

  // lower_stream_finish.cpp: after the stream.
  void completeStates();
  void storeResults();
  Value finishRows(Value array);
  void storeRows(Value array, Value result);
  void storeFragment(Value array, Value result, bool last);
  llvm::SmallVector<Input> stateInputs(Value array, bool fragments);

  // Scalars.
  Value constant(int64_t value);
  Value real(double value);
  Value widen(Value index, llvm::StringRef name);
  Value narrow(Value index, llvm::StringRef name);
  Value extent32(mlir::StringAttr dim) { return extents.lookup(dim); }
  mlir::Location named(llvm::StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name)); }
  Value registers(mlir::Location loc, mlir::Type type, std::optional<double> value = {});
  tile::FragmentType scoreType();
  tile::RowsType rowsType();

  /// Creates a map over `outs` whose body evaluates the nest's `arrays`. `column` is the dim of the
  /// columns (null: over rows), counted from `columnBegin`. Rows, and with `partial` columns,
  /// beyond the extent read the last one's elements of tensors. With `full` no mask is evaluated.
  struct Over {
    mlir::StringAttr column = {};
    Value columnBegin = {};
    bool partial = false;
    bool full = false;
  };
  void map(mlir::Location loc, Over over, llvm::ArrayRef<Value> arrays, llvm::ArrayRef<Input> ins,
           mlir::ValueRange outs, MapBody body);
  bool readsAlong(llvm::ArrayRef<Value> arrays, mlir::StringAttr dim, llvm::ArrayRef<Input> known);

  red::NestOp nest;
  StreamPlan plan;
  StreamSchedule schedule;
  KernelMemory memory;
  tile::KernelOp kernel;
  mlir::OpBuilder &b;
  PointEvaluator uniform; ///< values that depend on grid dims only
  int64_t warpRows;

  llvm::DenseMap<mlir::StringAttr, Value> extents; ///< i32 extents of the row and the stream dim
  Value row0, warpRow, rowBegin; ///< i32: the block's, the warp's offset, their sum
  llvm::SmallVector<Value> indexValues;
  Value firstTile, endTile;                          ///< i32 numbers of the stream's tiles
  llvm::DenseMap<mlir::Operation *, Value> resident; ///< shared tile of a row x inner read
  llvm::SmallVector<Value> rings, bases;             ///< of the streamed operands

  /// Of each reference: the param that its scores are multiples of (null: none). Its scores and
  /// running maxima are without that factor until the stream has ended; exponents are score *
  /// perScore, in base 2.
  llvm::SmallVector<Value> scaleParam, perScore;
  llvm::SmallVector<Value> reference, top; ///< rows, of each reference; top: this lane's maximum
  llvm::SmallVector<Value> state;          ///< rows or fragment, of each state

  // Of the tile at hand.
  Value tileIndex, column0;
  llvm::SmallVector<Value> stageTiles;                ///< shared tiles of the streamed operands
  llvm::MapVector<Value, Value> contractionFragments; ///< by contraction
  llvm::DenseMap<std::pair<Value, int>, Value> scoreFragments; ///< by array and kind of identity
};

} // namespace attnc::schedule

#endif
