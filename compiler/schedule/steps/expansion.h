// The expansion of one role's loop over row tiles.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_EXPANSION_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_EXPANSION_H

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

namespace attnc::schedule {

/// Takes one role's tile.row_tiles apart (expand_pipeline.h).
class Expansion {
public:
  explicit Expansion(tile::RowTilesOp rows) : rows(rows), b(rows.getContext()) {}
  void expand();

private:
  // The loop over row tiles.
  void takeInTurn(mlir::Value first);
  void takeDrawn(mlir::Value first);
  mlir::Value expandRowTile(mlir::Value work, mlir::Value tilesBefore, mlir::Value turn);
  mlir::Value blockNumber();
  void readNumberAgain();
  void draw();
  mlir::Value nextNumber();

  // The stream.
  void enterIfAny(tile::StreamOp tiles);
  mlir::Value expandStream(tile::StreamOp op, mlir::Value tilesBefore);
  llvm::SmallVector<tile::StepOp> stepsInOrder();
  llvm::SmallVector<tile::StepOp> stepsOfStage(unsigned stage);
  llvm::SmallVector<mlir::Value> carriedValues();
  /// What stands for the values of the stream's body, for one tile.
  using Tile = mlir::IRMapping;
  Tile begin(mlir::Value tile, mlir::Value number, mlir::Value isFirst, bool isLast = false);
  Tile begin(mlir::Value tile, mlir::Value number, bool isFirst, bool isLast = false);
  llvm::SmallVector<mlir::Value> handOn(Tile &from);
  void receive(mlir::ValueRange values, Tile &into);
  void prepare(tile::StepOp step, Tile &at);
  tile::StepOp run(tile::StepOp step, Tile &at);
  void copyScalars(mlir::Value value, mlir::Block *from, Tile &at);
  llvm::SmallVector<tile::StepOp> runStage(unsigned stage, Tile &at);
  void runAll(Tile &now, Tile &before);
  void runLast(Tile &last);
  /// Releases what rows need that no step of a stage after this one reads.
  void releaseRows(unsigned stage);
  void loopOverTiles(mlir::Value from, mlir::Value to, mlir::Value shift, Tile &first);
  void passOver(mlir::Value from, mlir::Value to, mlir::Value shift);
  void passTile(Tile &at);

  // expand_list.cpp: tiles of a list.
  mlir::Value copyList(mlir::Value tilesBefore);
  llvm::SmallVector<mlir::Value> copyChunk(mlir::Value chunk, mlir::ValueRange carried,
                                           mlir::Value tilesBefore);
  void copyBlockList(mlir::Value number, mlir::Value tile, mlir::Value tileBefore,
                     mlir::Value tilesBefore);
  mlir::Value endCopies(mlir::Value number, mlir::Value tileBefore, mlir::Value tilesBefore);
  void put(mlir::Value number, mlir::Value entry);
  mlir::Value entryOf(mlir::Value tile, mlir::Value bit, llvm::ArrayRef<mlir::Value> words);
  mlir::Value lastChunkFirst(mlir::Value chunk);
  mlir::Value foldList(mlir::Value tilesBefore);
  llvm::SmallVector<mlir::Value> foldRun(mlir::Value number, mlir::Value entry);
  mlir::Value take(mlir::Value number);
  mlir::Value isComputed(mlir::Value entry);
  Tile beginListed(mlir::Value number, mlir::Value entry);
  bool groupsAsk() { return stream.getEntryBits() > 1; }
  /// Follows the last tile of a row tile: where groups ask, a tile is not full for a group that it
  /// does not matter to.
  int64_t endEntry() { return groupsAsk() ? 2 : -1; }
  void inSingle(llvm::function_ref<void()> build);
  void inThread(bool all, llvm::function_ref<void()> build);

  // Groups that take turns.
  mlir::Value groupNumber();
  void startTurns();
  void takeTurn();
  void passTurn();
  void takeTurns(llvm::ArrayRef<tile::StepOp> steps);

  mlir::Value flag(bool value) {
    return mlir::arith::ConstantOp::create(b, rows.getLoc(), b.getBoolAttr(value));
  }
  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantOp::create(b, rows.getLoc(), b.getI32IntegerAttr(value));
  }
  mlir::Location named(llvm::StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name)); }
  mlir::Value add(mlir::Value x, mlir::Value y, llvm::StringRef name = "number") {
    return b.createOrFold<mlir::arith::AddIOp>(named(name), x, y);
  }
  mlir::Value add(mlir::Value x, int64_t y, llvm::StringRef name = "number") {
    return add(x, constant(y), name);
  }

  tile::RowTilesOp rows;
  mlir::OpBuilder b;
  tile::StreamOp stream;
  mlir::Value turn;     ///< i32: row tiles that the block took before
  bool allCopy = false; ///< all threads of the role copy the stream's tiles
  mlir::Value drawn; ///< i32: the number of the block's next row tile; null in a role that is told
  llvm::SmallVector<mlir::Value> carried; ///< results of steps that steps of a later stage use
};

} // namespace attnc::schedule

#endif
