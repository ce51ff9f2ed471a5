// The role of a warpgroup kernel that computes.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUP_COMPUTE_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUP_COMPUTE_H

#include "compiler/schedule/warpgroup_frame.h"

namespace attnc::schedule {

/// Each warpgroup folds the stream into the states of its 64 rows. The products of a tile's scores
/// are started before those of the tile before with its weights, and run while the weights are
/// computed.
class WarpgroupCompute : public WarpgroupFrame {
public:
  using WarpgroupFrame::WarpgroupFrame;
  void build();

private:
  Counters computeRowTile(Counters before);
  Value takeNext(Value turn);
  void locateRows();
  void createPlaces();
  void firstTileOfRows(Value tile, Value number);
  llvm::SmallVector<Value> loopOverTiles(Value from, Value to, Value shift);
  // warpgroup_list.cpp: the tiles that whoever copies has listed.
  Value foldListed(Counters before);
  Value takeTile(Value number);
  std::pair<Value, Value> tileOf(Value entry);
  Value isComputed(Value entry);
  llvm::SmallVector<Value> foldRun(Value number, Value entry);
  llvm::SmallVector<Value> startRun(Value tile, Value number, Value isKnownFull);
  void passTile(Value number);
  llvm::SmallVector<Value> pipelinedTile(Value tile, Value number, mlir::ValueRange moved,
                                         Value isKnownFull = {});
  void lastProducts(Value number, mlir::ValueRange moved);
  void passOver(Value from, Value to, Value shift);

  void startScores(Value number);
  // warpgroup_parts.cpp: scores whose streamed operands arrive in parts.
  void startParts(const Contraction &contraction, Value place, Value rows, Value number);
  void passParts(Value number);
  Value partNumber(unsigned streamed, Value number, int64_t part);
  Value lastPart(unsigned streamed, Value number);
  void startStates(Value number);
  void commit();
  void wait(int64_t pending, llvm::ArrayRef<Value> settled);
  void awaitOperands(bool early, Value number);
  void releaseOperands(bool ofStates, Value number);
  void takeTurn();
  void passTurn();
  llvm::SmallVector<Value> foldTile(bool first, Value number);
  void awaitInputs(Value number);
  void firstReference(unsigned number);
  Value followMaximum(unsigned number);
  void rescaleMoved(mlir::ValueRange moved);
  bool rescalesBehindScores() const;
  void convertWeights();
  void storeFragment(Value array, Value result, bool last);
  void storeBox(Value fragment, Value result, Value tile);
  void awaitStores();
  void byOneThread(llvm::function_ref<void()> build);
  llvm::SmallVector<Value> statePlaces();

  Value group;                        ///< i32: number of the warpgroup in its role
  Value rowTileNumber;                ///< i32: among those that the block has copied
  Value warpRow;                      ///< i32: the warp's first row in the block's tile
  llvm::SmallVector<Value> places;    ///< fragments of the products of scores, by contraction
  llvm::SmallVector<Value> operands;  ///< of each weight that states multiply; null for others
  llvm::SmallVector<Value> fragments; ///< of each weight, in the tile at hand
  llvm::SmallVector<Value> factors; ///< of the fragments summed against a reference that has moved
};

} // namespace attnc::schedule

#endif
