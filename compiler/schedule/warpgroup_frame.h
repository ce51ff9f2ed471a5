// What the roles of a warpgroup kernel share: pipes, and the row tiles that a block takes in turn.
#ifndef ATTNC_COMPILER_SCHEDULE_WARPGROUP_FRAME_H
#define ATTNC_COMPILER_SCHEDULE_WARPGROUP_FRAME_H

#include "compiler/schedule/stream_lowering.h"
#include "compiler/schedule/warpgroup_schedule.h"

namespace attnc::schedule {

/// What is computed once for all warps of a block, outside the roles.
struct BlockPlaces {
  llvm::DenseMap<mlir::StringAttr, mlir::Value> extents; ///< i32, of the row and the stream dim
  mlir::Value rowTiles, cells, works;                    ///< i32; works = rowTiles * cells
  mlir::Value together; ///< i32: cells that run side by side; null: one after the other
  llvm::MapVector<mlir::Operation *, mlir::Value> residents; ///< pipes of one slot, by read
  llvm::SmallVector<mlir::Value> streamed;                   ///< pipes, as in the plan
  llvm::MapVector<mlir::Operation *, mlir::Value> inputs; ///< pipes of row x stream inputs, by read
  llvm::DenseMap<mlir::Value, mlir::Value> results; ///< shared tiles, of results stored as boxes
  mlir::Value queue; ///< pipe of numbers of row tiles; null where they are not drawn
  /// Pipe of the stream's tiles that matter, where some may not: the number of one above
  /// WarpgroupFrame::listBits, and its endEntry after the last tile of a row tile. Null where all
  /// are computed.
  mlir::Value list;
};

/// Base of the builders of the roles.
class WarpgroupFrame : public StreamLowering {
public:
  WarpgroupFrame(red::NestOp nest, const StreamPlan &plan, WarpgroupSchedule schedule,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder);

  /// Creates the block's values and pipes at the insertion point.
  BlockPlaces place();
  /// Takes over what `place` of another frame has created.
  void use(const BlockPlaces &block);

protected:
  /// Counters of tiles that a role has passed through the pipes before a row tile.
  struct Counters {
    Value streamed, resident;
  };

  /// Runs `body` for each row tile of the block: it builds the code and returns the counters after.
  /// Where row tiles are drawn, `next` then builds what gives the number of the one after row tile
  /// `turn` of the block.
  void forEachWork(llvm::function_ref<Counters(Value work, Counters)> body,
                   llvm::function_ref<Value(Value turn)> next);
  /// The cell and the first row of a row tile.
  void locate(Value work);
  /// The tiles of the stream that matter to `count` rows from `first` on: at least one, since a row
  /// without any takes part in the rhythm of the pipes all the same.
  std::pair<Value, Value> tileRange(Value first, int64_t count);

  /// The streamed operands of products of scores, and those that only states read.
  bool isEarly(unsigned streamed) const;
  bool isStateOperand(unsigned streamed) const;
  /// Tiles in which a tile of the operand arrives, one after the other (stream_parts.h).
  int64_t scoreParts(unsigned streamed) const;
  // warpgroup_list.cpp: what the list says of a tile beside its number.
  /// True if each group asks for its own rows, and lets tiles pass that do not matter to them.
  bool groupsAsk() const;
  /// Bits: of each group whether the tile matters to it and whether it is full for it; where groups
  /// do not ask, one bit, whether it is full for all.
  int64_t listBits() const { return groupsAsk() ? 2 * schedule.groups : 1; }
  int64_t endEntry() const;
  /// The rows that ask: those of each group, or of the block.
  llvm::SmallVector<AskedRows> askingRows();
  /// warpgroup_parts.cpp: false if streamed operands arrive in so few parts at a time that groups
  /// cannot let tiles pass.
  bool mayPassTiles() const;
  /// x + y, for numbers of tiles; `name` is for people.
  Value add(Value x, int64_t y, llvm::StringRef name = "number");
  Value add(Value x, Value y, llvm::StringRef name = "number");

  WarpgroupSchedule schedule;
  BlockPlaces block;

private:
  Value cellsTogether(Value cells);
  Value div(Value x, Value y, llvm::StringRef name);
  Value rem(Value x, Value y, llvm::StringRef name);
  std::pair<Value, Value> orderedRowTile(Value work);
  std::pair<Value, Value> batchedRowTile(Value work, Value count, bool lastFirst);
  void forEachDrawn(Value first, llvm::function_ref<Counters(Value work, Counters)> body,
                    llvm::function_ref<Value(Value turn)> next);
};

/// Builds the role that copies, at the insertion point.
void buildCopies(red::NestOp nest, const StreamPlan &plan, const WarpgroupSchedule &schedule,
                 const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder,
                 const BlockPlaces &block);

/// Builds the role that computes, and returns the indices of rows and columns in it.
llvm::SmallVector<mlir::Value> buildCompute(red::NestOp nest, const StreamPlan &plan,
                                            const WarpgroupSchedule &schedule,
                                            const KernelSignature &signature, tile::KernelOp kernel,
                                            mlir::OpBuilder &builder, const BlockPlaces &block);

} // namespace attnc::schedule

#endif
