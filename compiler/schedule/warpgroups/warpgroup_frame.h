// Where the blocks and groups of a warpgroup kernel work: row tiles, and tiles of the stream.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_FRAME_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUPS_WARPGROUP_FRAME_H

#include "compiler/schedule/slab/cells.h"
#include "compiler/schedule/stream/stream_lowering.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"

namespace attnc::schedule {

/// Base of the builder of a row tile's work.
class WarpgroupFrame : public StreamLowering {
public:
  WarpgroupFrame(red::NestOp nest, const StreamPlan &plan, WarpgroupSchedule schedule,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);

protected:
  bool inSlab() { return nest->hasAttr(kSlabAttr); }
  /// The indices of the grid axes of what lies in the slab, as its tensor maps have them.
  void takeSlabIndices(Value array, llvm::MutableArrayRef<Value> indices);
  /// How many row tiles there are, and how cells are ordered, at the insertion point.
  void countWork();
  /// Where inputs stay: which row tiles the block has, `first` to `works`, and how long runs are.
  void divideRuns();

  /// The cell and the first row of a row tile.
  void locate(Value work);
  /// Tiles of the stream, `first` to `end`: at least one, since rows without any take part in the
  /// rhythm of the pipes all the same. Where there is none, `exactEnd` is not above `first`.
  struct TileRange {
    Value first, end, exactEnd;
  };
  /// Those that matter to `count` rows from `first` on.
  TileRange tileRange(Value first, int64_t count);

  /// Tiles in which a tile of the operand arrives, one after the other (tiled_plan.h).
  int64_t scoreParts(unsigned streamed) const;
  /// True if each group asks for its own rows, and lets tiles pass that do not matter to them.
  bool groupsAsk() const;
  /// Of an entry of the list of tiles that matter: of each group whether the tile matters to it and
  /// whether it is full for it; where groups do not ask, one bit, whether it is full for all.
  int64_t listBits() const { return groupsAsk() ? 2 * schedule.groups : 1; }
  /// The rows that ask: those of each group, or of the block.
  llvm::SmallVector<AskedRows> askingRows();
  /// False if streamed operands arrive in so few parts at a time that groups cannot let tiles pass.
  bool mayPassTiles() const;
  /// x + y, for numbers of tiles; `name` is for people.
  Value add(Value x, int64_t y, llvm::StringRef name = "number");
  Value add(Value x, Value y, llvm::StringRef name = "number");

  WarpgroupSchedule schedule;
  Value group;                      ///< i32: number of the warpgroup in its role
  Value rowTileCount, cells, works; ///< i32; works = rowTileCount * cells
  Value together;                   ///< i32: cells that run side by side; null: one after the other
  Value cellOfSlab;                 ///< i32: of the row tile, counted from the slab's first cell
  Value first;                      ///< i32: the block's first row tile; null: its own number
  Value run;                        ///< i32: row tiles that inputs stay for; null: none stay

private:
  Value cellsTogether(Value cells);
  Value takeGroupColumns(Value cell);
  Value div(Value x, Value y, llvm::StringRef name);
  Value rem(Value x, Value y, llvm::StringRef name);
  Value numberInRuns(Value work);
  std::pair<Value, Value> orderedRowTile(Value work);
  std::pair<Value, Value> batchedRowTile(Value work, Value count, bool lastFirst);

  llvm::SmallVector<mlir::StringAttr> inRun, betweenRuns; ///< grid dims, where inputs stay
  Value beside, member; ///< i32: blocks that take the row tiles of a cell beside each other; which
};

} // namespace attnc::schedule

#endif
