// The parts of the construction of stream kernels that do not depend on who does what in a block:
// states, scores, exponents, weights, what is stored.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_LOWERING_H

#include "compiler/schedule/stream/weight_stages.h"
#include "compiler/schedule/threads/point_evaluator.h"

namespace attnc::schedule {

/// Tiles of a stream kernel.
struct StreamTiles {
  int64_t rows;             ///< of a block: indices of the row dim
  int64_t columns;          ///< stream indices
  int64_t warpRows;         ///< of a warp
  double rescaleThreshold;  ///< a running maximum may lag by this much, in powers of 2
  bool padded;              ///< accumulators have the columns that fill a row of the operand's tile
  int64_t pack = 1;         ///< indices of the plan's packed dim in a block
  int64_t partColumns = 0;  ///< columns of states that a block, or a warp, computes; 0: all
  int64_t sharingWarps = 1; ///< warps that have the same rows, and parts of the columns
};

/// Base of the builders of stream kernels, which say how operands arrive, how products are computed
/// and in which order all of this happens.
class StreamLowering {
public:
  StreamLowering(red::NestOp nest, StreamPlan plan, StreamTiles tiles,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);
  virtual ~StreamLowering() = default;

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
  /// The grid dims whose indices a block's cell has.
  llvm::SmallVector<mlir::StringAttr> cellDims();
  /// Of row tiles that follow packed sequences: binds the sequence of a number, and returns which
  /// of its tiles that is.
  Value takeSequence(Value number);
  bool isPacked(mlir::StringAttr dim) const { return tiles.pack != 1 && dim == plan.packing->dim; }
  /// Counts the tiles of the packed dim, once; cellExtent and bindCells need it.
  void countPacked();
  /// i32: how many values the index of a grid dim takes from block to block.
  Value cellExtent(mlir::StringAttr dim);
  void bindCells(Value cell);
  /// Of some grid dims.
  void bindCells(llvm::ArrayRef<mlir::StringAttr> dims, Value cell);
  Value firstPacked(Value tile);
  /// Takes the block's part of the columns off the number of a cell and a part; the cell remains.
  Value takeColumnPart(Value cell);
  /// The i64 range of the stream that matters to some of the `count` rows from `first` on.
  std::pair<Value, Value> streamRange(Value first, int64_t count);
  void hoistUniform();
  // Where several warps have the same rows: what all of them know.
  /// i1: one of them says `some`.
  virtual Value anyOfSharing(Value some) { return some; }
  /// Merges the states of a fold that each of them has in `rows`, the same in a quad.
  virtual void mergeSharing(red::FoldOp fold, Value rows) {}
  /// The indices at which an operand is read in this cell, one for each axis; null where they vary.
  llvm::SmallVector<Value> operandIndices(attn::ReadOp read, unsigned rowAxis);
  Value tileNumber(Value index, int64_t tile, bool up, llvm::StringRef name);

  // live_tiles.cpp: tiles that matter, of those from firstTile to endTile.
  /// True if tiles within the range may matter to none of the block's rows.
  bool skipsTiles();
  /// Rows that ask together: `count` of them from `first` (i32) on.
  struct AskedRows {
    Value first;
    int64_t count;
  };
  /// Words (i32) with a bit for each of the 32 tiles from `first` on, two for each of `asked`: that
  /// it matters, and that it needs no mask. All lanes of a warp ask together, and all warps of a
  /// block see the same.
  llvm::SmallVector<Value> askTiles(Value first, llvm::ArrayRef<AskedRows> asked);
  llvm::SmallVector<Value> askLane(Value number, llvm::ArrayRef<AskedRows> asked);

  // stream_scores.cpp: one tile of the stream.
  /// Registers for references and states, empty. Each lane's own maximum is kept along the stream
  /// where `keepTops`, or where results depend on how exact the maximum is.
  void createStates(bool keepTops);
  /// `isKnownFull` (i1) is what isFull() says of the tile, where that is known already.
  void beginTile(Value index, Value isKnownFull = {});
  Value contractionPlace(red::FoldOp fold, std::optional<double> value);
  Value isFull();
  Value scores(Value array, red::FoldKind kind);
  void writeScores(mlir::Location loc, mlir::Value array, llvm::ArrayRef<Input> ins,
                   mlir::Value into, mlir::Value identity, bool full);
  bool differsInPartialTiles(mlir::Value array);
  void findScales();
  void foldScores();
  unsigned consumers(Value contraction);
  /// The tile's elements of some of the plan's pairs, which share what they are computed from; the
  /// first ones `into` fragments of scores, which nothing else needs.
  llvm::SmallVector<Value> pairFragments(llvm::ArrayRef<Value> arrays,
                                         llvm::ArrayRef<Value> into = {});
  /// Without what is computed from `known`, if that is not null.
  llvm::SmallVector<Input> tileInputs(Value array, Value known = {});

  // stream_operands.cpp: what is computed and not copied.
  /// All threads write the tile of a computed operand; rows are counted from `first` along `along`.
  void tabulate(const OperandTile &operand, mlir::StringAttr along, Value first, Value into,
                Value columnBegin = {});
  Value product(PointEvaluator &evaluator, mlir::Location loc, llvm::ArrayRef<Value> factors);
  /// A fold over inner dims, one index after the other.
  Value foldDirectly(red::FoldOp fold);
  /// With a tensor map also where a row lies in it.
  void describeRows(mlir::Region &rows, attn::ReadOp read, mlir::StringAttr along,
                    Value tensorMap = {});

  // stream_exponents.cpp: references and weights.
  /// The reference follows the maximum of the tile's scores; returns i1: it has moved. Fragments
  /// are rescaled at once, or by whoever has passed rows for the `factor`.
  Value followMaximum(unsigned number, Value factor = {});
  Value rescaleFactor(unsigned number);
  /// i1: some row of the warp exceeds its reference by more than the threshold.
  Value exceedsReference(unsigned number);
  /// After the reference has moved: the anchor of exponents, and the tile's scores where it is
  /// large.
  void anchorExponents(unsigned number);
  void anchorRows(unsigned number);
  Value isLargeShift(Value from, unsigned number);
  Value shiftFor(unsigned number, mlir::Location loc);
  /// The anchor of what the tile's scores are without their offset.
  Value anchorInTile(unsigned number);
  /// into = max(into, the scores of the tile).
  void reduceMaximum(unsigned number, Value score, Value into);
  /// factor = exp(reference - top), reference = top, and row sums against the reference * factor.
  void moveReference(unsigned number, Value factor);
  /// The row vectors, the fragments that are summed against the reference, times factor.
  void rescaleRows(unsigned number, Value factor);
  void rescaleFragments(unsigned number, Value factor);
  Value hasLargeReference(unsigned number);
  llvm::SmallVector<StreamState> usersOfScores(unsigned number);
  bool ownsScores(unsigned number);
  bool takesShift(unsigned number);
  red::FoldOp::Frame frameOfReference(unsigned number);
  Value exponentOf(unsigned number, mlir::Location differenceLoc, mlir::Location loc, Value x,
                   Value y, bool shifted);
  Value distance(unsigned number, mlir::Location difference, mlir::Location loc, Value x, Value y,
                 bool shifted);
  Value liftPart(red::FoldOp fold, mlir::Location loc, llvm::MutableArrayRef<Value> x);
  /// The tile's elements of a weight, by its number in the plan.
  Value weightFragment(unsigned number);
  Value exponentialWeight(const Weight &weight);
  /// And `arrays`, which what is made later then finds.
  void writePlainWeights(llvm::ArrayRef<StagedWeight> weights, llvm::ArrayRef<Value> arrays = {});
  void addFactorInputs(llvm::ArrayRef<Value> factors, llvm::SmallVectorImpl<Input> &ins);
  /// In a map: the element of a weight, of whose exponent the reference is taken away.
  Value liftExponential(PointEvaluator &evaluator, mlir::Location loc, const Weight &weight,
                        Value exponent);
  /// The element of `sum`'s weight with those of its factors.
  Value liftWeight(PointEvaluator &evaluator, mlir::Location loc, red::FoldOp sum,
                   llvm::ArrayRef<Value> factors, Value exponent);
  red::FoldOp sumOf(const Weight &weight);
  /// The row sums of a weight's tile, as far as writePlainWeights has not added them.
  void sumRows(unsigned weight, Value fragment);
  void addRows(unsigned weight, Value fragment);

  // stream_moments.cpp: sums of powers of differences from centres that move.
  void createCentres();
  /// Before a tile's weights are summed.
  void keepLowerSums();
  void completeExtrema(llvm::ArrayRef<Input> ins);
  /// After that, with the fragment of each weight.
  void foldMoments(llvm::ArrayRef<Value> weightFragments);
  /// Moments about the centres that the lanes of a quad have in common, of sums against references
  /// that are complete; leaves all row vectors reduced.
  void settleMoments();
  bool hasMoments();
  void shiftMoments(Value centre, Value shift);
  void addMoment(const StreamState &moment, Value sum, Value weights);
  bool isOfOwnExponent(const StreamState &moment);
  void addOwnExponents(const StreamState &moment, Value sum, Value weights);
  /// The array of scores that the weight's exponent is, or null.
  Value scoresOf(const StreamState &moment);
  red::FoldOp momentAbout(Value centre);

  // stream_results.cpp: after the stream.
  void completeStates();
  /// Row vectors of which lanes, and warps that share rows, have a share each: all get the whole.
  void reduceRows(red::FoldOp fold, Value rows);
  /// rows = merge(rows, other), of states of the fold.
  void mergeRows(red::FoldOp fold, Value rows, Value other);
  void completeReferences();
  /// Stores rows, and has results per element stored by `storeFragment`; `last` says that nothing
  /// needs the states after it.
  void storeResults(llvm::function_ref<void(Value array, Value result, bool last)> storeFragment);
  void storeRows(Value array, Value result);
  /// Where blocks share the columns of states. i32: the first column of this block's part.
  Value partBegin();
  /// i32: columns of a dim of `extent` from there on; null if a tile of `cols` never has fewer.
  Value columnsLeft(int64_t extent, int64_t cols);
  /// The place of a result per element, finished; it takes the place of its state if it is the
  /// last.
  Value epilogueFragment(Value array, Value result, bool last);
  llvm::SmallVector<Value> rowParts(Value array);
  // stream_epilogue.cpp
  /// Row vectors of the plan's folds in the epilogue, before results are stored.
  void foldEpilogue();
  llvm::SmallVector<Input> elementInputs(Value array);
  tile::FragmentType fragmentAlong(mlir::StringAttr inner);
  std::pair<llvm::SmallVector<Value>, int> rowAxisOf(Value result);
  /// i32: the end of the rows of the result that are stored.
  Value storeEnd(Value result);
  llvm::SmallVector<Input> stateInputs(Value array, bool fragments);

  // Scalars.
  Value constant(int64_t value);
  Value real(double value);
  Value widen(Value index, llvm::StringRef name);
  Value narrow(Value index, llvm::StringRef name);
  Value extent32(mlir::StringAttr dim) { return extents.lookup(dim); }
  /// i32: the warp's first row as stores see it, which write no rows beyond storeEnd.
  Value storeBegin() { return packedBegin ? packedBegin : rowBegin; }
  mlir::Location named(llvm::StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name)); }
  /// Gives the values names, for people.
  void nameAll(mlir::ValueRange values, llvm::ArrayRef<llvm::StringRef> names);
  Value registers(mlir::Location loc, mlir::Type type, std::optional<double> value = {});
  tile::FragmentType scoreType();
  int64_t scoreColumns() const { return tiles.columns / tiles.sharingWarps; }
  tile::RowsType rowsType();
  /// `count` rows of a shared tile from `first` (i32) on, and those that are the warp's.
  Value strip(mlir::Location loc, Value tile, int64_t count, Value first);
  Value warpStrip(mlir::Location loc, Value tile);

  void copyRows(mlir::Location loc, Value from, Value into);
  /// Registers that a step of the block hands to a later one are the tile's.
  static void sharePlaces(mlir::Block &body);
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
  /// In a map: the element, or from column `end` on `otherwise`.
  Value untilColumn(mlir::Location loc, Value end, Value element, Value otherwise);
  /// In a map: the element of a weight, 0 beyond the stream, and beyond the rows if these are
  /// summed.
  Value insideExtents(mlir::Location loc, unsigned weight, Value element);
  bool readsAlong(llvm::ArrayRef<Value> arrays, mlir::StringAttr dim, llvm::ArrayRef<Input> known);
  /// In a map over scores, whose element is at (row, column): elements of staged tiles.
  void provideStaged(PointEvaluator &evaluator, Value row, Value column);
  void provideDifferences(PointEvaluator &evaluator, Value row, Value column);
  /// True if elements of the array are in shared memory, wherever they come from.
  bool isStaged(Value array) const {
    return stagedTiles.contains(array) || differenceTables.contains(array);
  }

  red::NestOp nest;
  StreamPlan plan;
  StreamTiles tiles;
  KernelMemory memory;
  tile::KernelOp kernel;
  mlir::OpBuilder &b;
  PointEvaluator uniform; ///< values that depend on grid dims only

  llvm::DenseMap<mlir::StringAttr, Value> extents; ///< i32 extents of the row and the stream dim
  Value row0, rowBegin;                            ///< i32: the first row of the block, of the warp
  /// Of the packed dim, i32: indices that see the same stream, tiles of these, and the end of those
  /// that the block's tile may have; and the warp's first row, the extent where the tile has no
  /// index for the warp. Null without such a dim.
  Value sharing, tilesOfStream, packedEnd, packedBegin;
  Value warpRow; ///< i32: the warp's first row in the block's tile
  /// What row tiles follow, or null; then i1: the tile at hand has rows.
  red::PackOp tiledPack;
  Value hasRows;
  /// i32: which part of the columns of states the block, or the warp, has; null: all.
  Value columnPart;
  Value warpColumn; ///< i32: the warp's number among those that share its rows; null: it is alone
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
  /// Rows, of each reference: what the scores of the tile at hand are to be increased by; null for
  /// nothing.
  llvm::SmallVector<Value> offset;
  /// Rows: where each centre of moments is, which may differ from lane to lane; and the sums below
  /// the moments as they were before the tile. By array.
  llvm::MapVector<Value, Value> centres, lowerSums;

  /// Row vectors of folds in the epilogue, by fold.
  llvm::MapVector<Value, Value> finished;
  llvm::DenseMap<Value, Value> bandSums; ///< fragments, by fold: sums that are products of bands

  // Of the tile at hand.
  Value column0;
  Value tileIsFull; ///< i1: isFull() of the tile at hand, where it is known or reads memory
  llvm::MapVector<Value, Value> contractionFragments; ///< by contraction
  llvm::MapVector<Value, Value> inputTiles; ///< the warp's strips of row x stream tensors, by array
  llvm::MapVector<Value, Value> finishTiles; ///< of the block, read behind the stream, by array
  /// Shared tiles of what scalar code reads, by array: of the whole block.
  struct StagedTile {
    Value tile;
    bool turned;   ///< its rows are columns of scores
    bool isVector; ///< it has one row, of all rows of scores
  };
  llvm::MapVector<Value, StagedTile> stagedTiles;
  /// Vectors in shared memory of the values of plan.differences, by array: that of the first row
  /// and the last column of the group's scores first. Empty where each score computes its own.
  llvm::MapVector<Value, Value> differenceTables;
  Value firstDifference; ///< i32: the difference of the first value
  llvm::DenseMap<std::pair<Value, int>, Value> scoreFragments; ///< by array and kind of identity
  llvm::DenseMap<unsigned, Value> plainWeights;                ///< fragments, by number of weight
};

/// The combination of a fold, and what an empty one is, in the tile dialect.
tile::Combine combineOf(red::FoldKind kind);
double identityOf(red::FoldKind kind);

} // namespace attnc::schedule

#endif
