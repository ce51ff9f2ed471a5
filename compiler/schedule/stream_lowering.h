// The parts of the construction of stream kernels that do not depend on who does what in a block:
// states, scores, exponents, weights, what is stored.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_LOWERING_H

#include "compiler/schedule/point_evaluator.h"
#include "compiler/schedule/stream_plan.h"

namespace attnc::schedule {

/// Tiles of a stream kernel.
struct StreamTiles {
  int64_t rows;     ///< of a block: indices of the row dim
  int64_t columns;  ///< stream indices
  int64_t warpRows; ///< of a warp
  double slack;     ///< a running maximum may lag by this much, in powers of 2
  bool padded;      ///< accumulators have the columns that fill a row of the operand's tile
  int64_t pack = 1; ///< indices of the plan's packed dim in a block
};

/// Base of the builders of stream kernels, which say how operands arrive, how products are computed
/// and in which order all of this happens.
class StreamLowering {
public:
  StreamLowering(red::NestOp nest, StreamPlan plan, StreamTiles tiles,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);

  /// First rows of the block and of warps, and first columns of tiles: indices of their dims.
  llvm::ArrayRef<mlir::Value> indices() const { return indexValues; }

protected:
  using Value = mlir::Value;

  /// A place that a map reads, and the nest's array whose elements it holds (null: none).
  struct Input {
    Value place;
    Value array;
  };
  using MapBody =
      llvm::function_ref<llvm::SmallVector<Value>(PointEvaluator &, mlir::ValueRange elements)>;

  // stream_lowering.cpp: where the block works, and maps.
  Value rowTiles();
  /// i32: how many values the index of a grid dim takes from block to block.
  Value cellExtent(mlir::StringAttr dim);
  void bindCells(Value cell);
  /// The i64 range of the stream that matters to some of the `count` rows from `first` on.
  std::pair<Value, Value> streamRange(Value first, int64_t count);
  /// True if tiles within the range may matter to none of the block's rows.
  bool skipsTiles();
  /// i1: tile `index` of the stream may matter to some of the block's rows.
  Value isLive(Value index);
  void hoistUniform();
  /// The indices at which an operand is read in this cell, one for each axis; null where they vary.
  llvm::SmallVector<Value> operandIndices(attn::ReadOp read, unsigned rowAxis);
  Value tileNumber(Value index, int64_t tile, bool up, llvm::StringRef name);

  // stream_scores.cpp: one tile of the stream.
  /// Registers for references and states, empty. Each lane's own maximum is kept along the stream
  /// where `keepTops`, or where results depend on how exact the maximum is.
  void createStates(bool keepTops);
  void beginTile(Value index);
  Value contractionPlace(const Contraction &contraction, std::optional<double> value);
  Value isFull();
  Value scores(Value array, red::FoldKind kind);
  void writeScores(mlir::Location loc, mlir::Value array, llvm::ArrayRef<Input> ins,
                   mlir::Value into, mlir::Value identity, bool full);
  bool differsInPartialTiles(mlir::Value array);
  void findScales();
  void foldScores();
  unsigned consumers(Value contraction);
  llvm::SmallVector<Input> tileInputs(Value array);

  // stream_exponents.cpp: references and weights.
  /// i1: some row of the warp exceeds its reference by more than the slack.
  Value exceedsReference(unsigned number);
  /// After the reference has moved: the anchor of exponents, and the tile's scores where it is
  /// large.
  void anchorExponents(unsigned number);
  Value shiftFor(unsigned number, mlir::Location loc);
  /// factor = exp(reference - top), reference = top, and row sums against the reference * factor.
  void moveReference(unsigned number, Value factor);
  /// The fragments that are summed against the reference, times factor.
  void rescaleFragments(unsigned number, Value factor);
  Value hasLargeReference(unsigned number);
  bool ownsScores(unsigned number);
  bool takesShift(unsigned number);
  Value exponent(unsigned number, Value score, Value by, bool shifted);
  Value weightFragment(const Weight &weight);
  void sumRows(unsigned weight, Value fragment);

  // stream_results.cpp: after the stream.
  void completeStates();
  /// Stores rows, and has results per element stored by `storeFragment`; `last` says that nothing
  /// needs the states after it.
  void storeResults(llvm::function_ref<void(Value array, Value result, bool last)> storeFragment);
  void storeRows(Value array, Value result);
  /// The place of a result per element, finished; it takes the place of its state if it is the
  /// last.
  Value finishFragment(Value array, Value result, bool last);
  llvm::SmallVector<Value> rowParts(Value array);
  std::pair<llvm::SmallVector<Value>, int> rowAxisOf(Value result);
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

  llvm::SmallVector<Value> rowArguments(Value first, int64_t count);

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
  /// True if a first tile is computed even of a stream without elements, which has no last one.
  bool visitsEmptyStreams = false;
  bool readsAlong(llvm::ArrayRef<Value> arrays, mlir::StringAttr dim, llvm::ArrayRef<Input> known);

  red::NestOp nest;
  StreamPlan plan;
  StreamTiles tiles;
  KernelMemory memory;
  tile::KernelOp kernel;
  mlir::OpBuilder &b;
  PointEvaluator uniform; ///< values that depend on grid dims only

  llvm::DenseMap<mlir::StringAttr, Value> extents; ///< i32 extents of the row and the stream dim
  Value row0, rowBegin;                            ///< i32: the first row of the block, of the warp
  /// Rows that decide together whether a tile is full: they take the same branches.
  Value branchRow0;
  int64_t branchRows = 0;
  llvm::SmallVector<Value> indexValues;
  Value firstTile, endTile; ///< i32 numbers of the stream's tiles

  /// Of each reference: the param that its scores are multiples of (null: none). Its scores and
  /// running maxima are without that factor until the stream has ended; exponents are score *
  /// perScore, in base 2.
  llvm::SmallVector<Value> scaleParam, perScore;
  llvm::SmallVector<Value> reference, top; ///< rows, of each reference; top: this lane's maximum
  llvm::SmallVector<Value> state;          ///< rows or fragment, of each state
  /// Rows, of each reference whose exponents take a shift: what they are relative to, and what tops
  /// are compared with (-inf: every tile moves).
  llvm::SmallVector<Value> anchor, followed;

  // Of the tile at hand.
  Value column0;
  Value tileIsFull; ///< i1: isFull() of the tile at hand, where it reads memory; else null
  llvm::MapVector<Value, Value> contractionFragments; ///< by contraction
  llvm::MapVector<Value, Value> inputTiles; ///< the warp's strips of row x stream tensors, by array
  llvm::DenseMap<std::pair<Value, int>, Value> scoreFragments; ///< by array and kind of identity
};

/// Folds constants of a kernel that has been built and erases what does nothing; narrows the
/// arithmetic of `indices` (and of the sizes of its row and stream dims) to 32 bits; shares
/// arithmetic of elements (share_arithmetic.h).
void simplifyStream(red::NestOp nest, const KernelSignature &signature, tile::KernelOp kernel,
                    llvm::ArrayRef<mlir::Value> indices, bool spreadsFactors);

/// The combination of a fold, and what an empty one is, in the tile dialect.
tile::Combine combineOf(red::FoldKind kind);
double identityOf(red::FoldKind kind);

} // namespace attnc::schedule

#endif
