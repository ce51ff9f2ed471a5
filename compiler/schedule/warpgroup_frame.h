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
  /// Pipe of the stream's tiles that matter, where some may not: 2 x the number, + 1 if it is full,
  /// and -1 after the last tile of a row tile. Null where all are computed.
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
  /// x + y, for numbers of tiles; `name` is for people.
  Value add(Value x, int64_t y, llvm::StringRef name = "number");
  Value add(Value x, Value y, llvm::StringRef name = "number");

  WarpgroupSchedule schedule;
  BlockPlaces block;

private:
  Value cellsTogether(Value cells);
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
