// The builder of portable stream kernels.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_WARP_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_WARP_LOWERING_H

#include "compiler/schedule/packed/packed_tiles.h"
#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/stream_lowering.h"

namespace attnc::schedule {

/// The tensor's name in generated code.
std::string sourceName(attn::ReadOp read);

/// Of a nest that stores pairs: stream indices that a block has.
int64_t columnsOfPairs(const StreamPlan &plan, const PortableSchedule &schedule);

/// The portable kernel: every warp copies, multiplies and folds, rows of its own or columns of
/// rows that it shares.
class WarpLowering : public StreamLowering {
public:
  WarpLowering(red::NestOp nest, StreamPlan plan, PortableSchedule schedule,
               const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder)
      : StreamLowering(nest, std::move(plan),
                       {schedule.rowTile, schedule.streamTile, schedule.warpRows(),
                        schedule.rescaleThreshold, /*padded=*/true, /*pack=*/1,
                        schedule.headDimTile, schedule.sharingWarps()},
                       signature, kernel, builder),
        schedule(schedule) {
    tiledPack = packOfTiles(this->nest, this->plan);
  }

  void build();

private:
  void locateBlock();
  void placeTiles();
  void boundStream();
  Value operandBase(const OperandTile &operand);
  Value operandEnd(const OperandTile &operand, mlir::StringAttr along);
  /// Rows from `first` to `end`. Of each the first `columns`, or all, in so many tiles from `into`
  /// on.
  void copyOperand(const OperandTile &operand, Value base, Value first, Value end, Value into,
                   Value columns = {}, int64_t tiles = 1);
  /// What starts the copies of a tile of the stream, or a part of it.
  void describeCopies();
  void askForTiles();
  /// The steps of a tile.
  void describeTile();
  void step(llvm::StringRef name, llvm::function_ref<void()> build);
  /// A step for each of the parts that arrive: the `part`th time, with the `number`th part of all.
  void stepInParts(llvm::StringRef name, int64_t parts,
                   llvm::function_ref<void(Value part, Value number)> build);
  Value multiply(const Contraction &contraction);
  void foldWeights();
  void multiplyWeights(const StreamState &state, Value place, Value weights);
  void storeFragment(Value array, Value result, bool last);
  Value times(Value index, int64_t by);
  Value turn(Value index, int64_t count, int64_t period);
  /// Slot `number` of a ring.
  Value stage(mlir::Location loc, Value ring, Value number);

  // column_warps.cpp: warps that share rows.
  bool sharesRows() const { return schedule.columnWarps != 0; }
  Value takeWarpColumn(Value warp);
  void placeExchange(int64_t offset);
  Value anyOfSharing(Value some) override;
  void mergeSharing(red::FoldOp fold, Value rows) override;
  void handOver(const StreamState &state, Value weights);
  void copyValues(unsigned number, Value first, Value part, Value slot);
  void copyColumns(unsigned number, Value first, Value slot, int64_t tiles);
  void multiplyValues();
  Value columnsOfPart(int64_t extent, int64_t cols, int64_t part);

  // warp_parts.cpp: operands that are cut along their inner dims.
  bool isInParts();
  Value streamedBase(unsigned number);
  void fillResident(const OperandTile &operand);
  void copyStreamed(unsigned number, Value first, Value slot);
  /// The tile of a streamed operand in slot `slot` that the warp multiplies with.
  Value streamedTile(unsigned number, mlir::Location loc, Value slot);
  void tabulateColumns(unsigned number);
  void gatherStreamed(unsigned number, Value first, Value slot);
  bool isCopied(const OperandTile &operand);
  void copyInPart(unsigned number, Value first, Value part, Value slot);
  void copyScorePart(unsigned number, Value first, Value part, Value slot);
  void tabulateStreamed();
  void multiplyParts();
  void multiplyPart(const Contraction &contraction, Value part, Value number);

  // pair_results.cpp: elements of pairs that are stored. Nothing waits for all of the stream, of
  // which a block has a part.
  Value takeStreamPart(Value cell);
  void keepInPart();
  void storePairs();
  void storePairTile(mlir::OpResult pair, Value shared);

  // stream_inputs.cpp: what scalar code reads and arrives as tiles.
  struct StagedRing {
    StagedInput input;
    Value ring, base;
  };
  /// Places them in shared memory from `offset` on.
  void placeInputs(int64_t offset);
  void copyInput(const StagedRing &from, Value first, Value slot);
  void beginInputs(Value slot);

  PortableSchedule schedule;
  tile::StreamAheadOp stream;
  llvm::DenseMap<mlir::Operation *, Value>
      resident;                                ///< shared tile of a row x inner operand, by source
  llvm::SmallVector<Value> rings, bases, ends; ///< of the streamed operands
  llvm::SmallVector<StagedRing> staged;
  Value streamPart;                    ///< i32: which part of the stream the block has; null: all
  llvm::SmallVector<Value> pairTiles;  ///< shared tiles of the plan's pairs on their way out
  llvm::SmallVector<Value> stageTiles; ///< shared tiles of the streamed operands
  /// Where warps share rows: rings with a tile of weights, and a vector of rows, of each of them.
  Value weightRing, vectorRing;
};

} // namespace attnc::schedule

#endif
