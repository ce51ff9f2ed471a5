// The builder of portable stream kernels.
#ifndef ATTNC_COMPILER_SCHEDULE_PORTABLE_WARP_LOWERING_H
#define ATTNC_COMPILER_SCHEDULE_PORTABLE_WARP_LOWERING_H

#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/stream_lowering.h"

namespace attnc::schedule {

/// The tensor's name in generated code.
std::string sourceName(attn::ReadOp read);

/// The portable kernel: every warp copies, multiplies and folds its own rows.
class WarpLowering : public StreamLowering {
public:
  WarpLowering(red::NestOp nest, StreamPlan plan, PortableSchedule schedule,
               const KernelSignature &signature, tile::KernelOp kernel, mlir::OpBuilder &builder)
      : StreamLowering(nest, std::move(plan),
                       {schedule.rowTile, schedule.streamTile, schedule.rowTile / schedule.warps,
                        schedule.rescaleThreshold, /*padded=*/true, /*pack=*/1,
                        schedule.headDimTile},
                       signature, kernel, builder),
        schedule(schedule) {}

  void build();

private:
  void locateBlock();
  void placeTiles();
  void boundStream();
  Value operandBase(const OperandTile &operand);
  Value operandEnd(const OperandTile &operand, mlir::StringAttr along);
  void copyOperand(const OperandTile &operand, Value base, Value first, Value end, Value into,
                   Value columns = {});
  void startFirstCopies();
  void startCopies(Value index, Value slot);
  void loopOverStream();
  void loopOverLive();
  void step(Value index, Value slot, Value next, Value isKnownFull = {});
  Value multiply(const Contraction &contraction);
  void foldWeights();
  void storeFragment(Value array, Value result, bool last);

  // warp_parts.cpp: operands that are cut along their inner dims.
  bool tilesDepth();
  Value streamedBase(unsigned number);
  void fillResident(const OperandTile &operand);
  void copyStreamed(unsigned number, Value first, Value slot);
  void awaitCopies();
  Value advance(Value index, Value slot);
  void startFirstParts();
  void startPart(Value index, Value part, Value number);
  void copyScorePart(unsigned number, Value first, Value part, Value slot);
  void tabulateStreamed();
  void multiplyParts(Value index, Value slot, Value next);
  void multiplyPart(const Contraction &contraction, Value part, Value number);

  // stream_inputs.cpp: tensors with both dims that arrive as tiles.
  struct StagedRing {
    StagedInput input;
    Value ring, base;
  };
  /// Places them in shared memory from `offset` on.
  void placeInputs(int64_t offset);
  void copyInput(const StagedRing &from, Value first, Value slot);
  void beginInputs(Value slot);

  PortableSchedule schedule;
  llvm::DenseMap<mlir::Operation *, Value>
      resident;                                ///< shared tile of a row x inner operand, by source
  llvm::SmallVector<Value> rings, bases, ends; ///< of the streamed operands
  Value tileIndex;
  /// The tiles whose copies run, where tiles are skipped.
  struct {
    llvm::SmallVector<Value> numbers, full;
    LiveTiles left; ///< the last of them and those after it
  } ahead;
  llvm::SmallVector<StagedRing> staged;
  llvm::SmallVector<Value> stageTiles; ///< shared tiles of the streamed operands
};

} // namespace attnc::schedule

#endif
