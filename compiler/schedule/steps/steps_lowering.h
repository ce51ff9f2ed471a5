// The description of a row tile's work by a nest and its schedule.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_STEPS_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_STEPS_LOWERING_H

#include "compiler/schedule/steps/fetch_order.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "compiler/schedule/warpgroups/warpgroup_compute.h"

namespace attnc::schedule {

/// Builds tile.row_tiles where each group has rows of its own. What other divisions of the work do
/// in other ways is virtual.
class StepsLowering : public WarpgroupCompute {
public:
  using WarpgroupCompute::WarpgroupCompute;
  virtual ~StepsLowering() = default;
  void build();

protected:
  // Who has what.
  /// True if data say which tiles matter, so that many row tiles may have none: those beyond the
  /// lengths of sequences. What such a block has is what states are without a stream.
  bool mayHaveNoTile();
  /// Sets where the rows of the group and of the warp are.
  virtual void locateGroup();
  /// i32: the group's first row in the block's tile.
  virtual Value groupRow();
  /// What is kept in shared memory while the kernel runs, before the row tiles.
  virtual void placeShared() {}
  /// Registers of the group's rows.
  virtual void placeRegisters() {
    createPlaces();
    if (encoded)
      createHalves();
  }
  /// Sets the columns of the tile at hand.
  virtual void beginStreamTile();
  /// Makes what groups have in parts whole, behind the stream.
  virtual void completeRowTile() {
    completeStates();
    if (encoded)
      scaleColumns();
  }

  // What arrives. Coordinates: the last axis first; with `column`, its first column before them.
  virtual void fetchStreamed();
  /// i32: the first column of the operands of scores; null: they are not divided.
  virtual Value depthBegin() { return {}; }
  tile::FetchOp fetch(const OperandMap &map, Value first, Value column);
  llvm::SmallVector<OperandMap> mapsOf(OperandMap::Kind kind) const;

  // The steps of a tile, in order of meaning, and the order in which they run.
  virtual void describeSteps();
  tile::StepOp step(llvm::StringRef name, int64_t stage,
                    llvm::function_ref<llvm::SmallVector<Value>()> build,
                    mlir::TypeRange results = {});
  /// Its products make the scores: one step, or one for each part of an operand.
  void scoreSteps();
  /// References, weights, and sums without products; yields which references have moved.
  tile::StepOp foldStep();
  /// Steps run as they are listed, the others behind them.
  void setOrder(llvm::ArrayRef<tile::StepOp> order);

  tile::StreamOp stream;
  llvm::SmallVector<Value> tilesOf;           ///< fetched, as in the plan's streamed
  llvm::SmallVector<tile::StepOp> scoreGroup; ///< whose products make the scores

private:
  void placeResults();
  void describeRowTile(tile::RowTilesOp rows);
  void fetchRows();
  void fetchInputs();
  void askForTiles();
  void ownRange();
  void foldStream();
  void partSteps(const Contraction &contraction, Value place);
  Value columnsAtHand(Value tile);
  llvm::SmallVector<Value> followReferences();
  void convertStep();
  tile::StepOp rescaleStep(mlir::ValueRange moved);
  tile::StepOp valueStep();
  Value rowsOf(const Contraction &contraction,
               const llvm::DenseMap<mlir::Operation *, Value> &tiles);
  void scoreProducts(const Contraction &contraction, Value place);

  std::pair<Value, bool> weightTile(const Weight &weight);
  void tileStep();

  // pair_steps.cpp
  void describePairSteps();
  tile::StepOp keepScores();
  void storeZeros();

  // staged_steps.cpp
  void describeStagedSteps();
  /// True if the first stage's scores multiply the streamed operand.
  bool isOfFirstStage(unsigned streamed) const;
  tile::StepOp stagedScores(const WeightStage &stage, int64_t ahead);
  void stagedWeights(const WeightStage &stage);
  /// Null where no state multiplies what the stage makes.
  tile::StepOp stagedValues(const WeightStage &stage);

  // row_sum_steps.cpp
  /// The tiles by which weights reach the group that adds.
  void placeHandedOver();
  void handOver(const WeightStage &stage);
  void addRowSums();
  Value termsOf(const RowSum &sum, int64_t row, int64_t column, int64_t cols);
  void addTerms(const RowSum &sum, Value place, llvm::ArrayRef<Value> indices, int64_t row,
                int64_t column);
  llvm::SmallVector<Value> sumIndices(const RowSum &sum);
  void addStep(llvm::StringRef name, llvm::function_ref<void()> build);

  // band_steps.cpp
  /// Starts the products behind the stream, and waits for them.
  void multiplyBands();
  /// The group's rows of the matrix with a band of weights, as an operand.
  Value bandOperand(const BandProduct &band);

  // difference_steps.cpp
  void placeDifferences();
  /// Where the tables of the tile at hand are.
  void stageDifferences();
  /// Writes them; null where there are none.
  tile::StepOp differenceStep();
  void writeDifferences(Value array, Value table);

  // addend_steps.cpp
  /// What joins the products of a contraction, or null.
  const Addend *addendOf(const Contraction &contraction) const;
  /// Sets whether the stream is walked from its end on.
  void chooseDirection();
  Value fromEnd(Value count);
  int64_t middleColumn() const { return tiles.columns / 2; }
  /// The distances, which all tiles multiply.
  void placeAddends();
  /// Makes the slopes, and the offsets of the tile at hand; null if there are none.
  tile::StepOp addendStep();
  Value piecesOf(mlir::Location loc, Value slope);

  // encoded_steps.cpp: operands of f32 that are halves.
  /// Places for the halves of weights, for each tile's products, and the scales of rows.
  void createHalves();
  /// The sum of the products of halves, the smallest first.
  /// A side that is no sum of halves has no low one.
  void startHalves(mlir::Location loc, Value into, std::pair<Value, Value> left,
                   std::pair<Value, Value> right, bool transposed);
  void loadTileScales();
  /// Those that are there: of encoded operands, in order.
  llvm::SmallVector<Value> knownTileScales() const;
  void scaleScores();
  void convertHalves();
  void scaleOwnWeights(Value fragment, Value power);
  void startHalvesOfValues();
  void addTileSum(mlir::Location loc, Value total, Value sum, Value ofWeights, Value ofTile);
  /// `scales` of the streamed operands' tiles.
  tile::StepOp promoteStep(mlir::ValueRange scales);
  void scaleColumns();

  llvm::SmallVector<OperandMap> maps;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Value>> indicesOf; ///< of the cell, by read
  llvm::DenseMap<mlir::Operation *, Value> rowTilesOf; ///< fetched for the row tile, by read
  llvm::DenseMap<mlir::Operation *, Value> inputsOf;   ///< fetched, by read
  llvm::DenseMap<mlir::Operation *, Value> bandTiles;  ///< fetched for the row tile, by read
  std::vector<WeightStage> weightStagesOf;       ///< of the plan; empty: weights are not staged
  Value isDescending;                            ///< i1; null: tiles come as they are in the stream
  llvm::SmallDenseMap<int64_t, Value> distances; ///< shared tiles, by the step of addends
  llvm::DenseMap<Value, Value> slopes;           ///< operands, by sum with an addend
  llvm::MapVector<Value, Value> differenceRings; ///< tables of all groups, by array

  // Null where an operand, a weight or a state has no halves.
  bool encoded = false; ///< some are halves; tilesOf and rowTilesOf have the high ones
  llvm::SmallVector<Value> lowTilesOf;
  llvm::DenseMap<mlir::Operation *, Value> lowRowTilesOf;
  llvm::SmallVector<Value> lowOperands;  ///< beside `operands`
  llvm::SmallVector<Value> weightPowers; ///< rows, of weights with scales of their own
  llvm::SmallVector<Value> tileSums;     ///< of each state: its products with one tile
  llvm::SmallVector<Value> rowScales;    ///< rows, of each contraction
  llvm::SmallVector<Value> tileScales;   ///< f32: of each streamed operand's tile at hand
};

} // namespace attnc::schedule

#endif
