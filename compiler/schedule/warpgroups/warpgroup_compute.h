// What a group of a warpgroup kernel computes for its rows.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_COMPUTE_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_COMPUTE_H

#include "compiler/schedule/warpgroups/warpgroup_frame.h"

namespace attnc::schedule {

/// The places of a group's 64 rows, and the parts of its work with a tile and after the stream.
class WarpgroupCompute : public WarpgroupFrame {
public:
  using WarpgroupFrame::WarpgroupFrame;

protected:
  void locateRows();
  void createPlaces();
  llvm::SmallVector<Value> statePlaces();
  void firstReference(unsigned number);
  void rescaleMoved(mlir::ValueRange moved);
  bool rescalesBehindScores() const;
  void convertWeights();

  // warpgroup_results.cpp
  void storeFragment(Value array, Value result, bool last);
  /// With `column` (i32; null: 0) as the first one.
  void storeBox(Value fragment, Value result, Value tile, Value column);
  /// By one thread; the strip is published.
  void storeStrip(Value strip, Value result, Value column);
  void awaitStores();
  void byOneThread(llvm::function_ref<void()> build);

  llvm::SmallVector<Value> places;    ///< fragments of the products of scores, by contraction
  llvm::SmallVector<Value> operands;  ///< of each weight that states multiply; null for others
  llvm::SmallVector<Value> fragments; ///< of each weight, in the tile at hand
  llvm::SmallVector<Value> factors; ///< of the fragments summed against a reference that has moved
  llvm::DenseMap<Value, Value> resultTiles; ///< shared tiles, of results stored as boxes
  llvm::DenseMap<int, Value> handedOver;    ///< tiles of weights for the group that adds, by number
};

} // namespace attnc::schedule

#endif
