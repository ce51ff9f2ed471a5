// Two groups that share rows and exchange weights.
#ifndef ATTNC_COMPILER_SCHEDULE_STEPS_SEESAW_STEPS_H
#define ATTNC_COMPILER_SCHEDULE_STEPS_SEESAW_STEPS_H

#include "compiler/schedule/steps/steps_lowering.h"

namespace attnc::schedule {

/// The steps of a seesaw. A group has half of a block's columns of the states, and every other tile
/// of the stream. It computes the weights of its own tile against the reference that it proposes,
/// hands both to its peer, and multiplies both groups' weights with its columns. Where a proposal
/// is not what was agreed on before, which is rare, everything that was summed or handed over is
/// rescaled to the larger of the two. In a cluster a group's scores are the sums of both blocks,
/// which are the same to the bit: all blocks decide alike.
class SeesawSteps : public StepsLowering {
public:
  using StepsLowering::StepsLowering;

protected:
  void locateGroup() override;
  Value groupRow() override { return constant(0); }
  void placeShared() override;
  void placeRegisters() override;
  void beginStreamTile() override;
  void fetchStreamed() override;
  Value depthBegin() override;
  void describeSteps() override;
  void completeRowTile() override;

private:
  /// The tiles of a streamed operand of states: the peer's and the group's own.
  enum Whose { Peer, Own };

  Value peer();
  tile::FetchOp fetchValues(const OperandMap &map, unsigned streamed, Whose whose);
  void createExchange();
  template <class Op> tile::StepOp partialStep(llvm::StringRef name);
  tile::StepOp convertNextStep();
  tile::StepOp handOverStep();
  tile::StepOp agreeStep();
  Value proposalsDiffer();
  void followPeer(unsigned number);
  llvm::SmallVector<tile::StepOp> valueSteps(Whose whose);
  Value columnsOf(Value weights, int64_t first, int64_t count, mlir::Location loc);
  tile::StepOp takeOverStep();
  llvm::SmallVector<std::pair<Value, red::FoldOp>> sharedRows();
  void mergeShares(Value place, red::FoldOp fold, llvm::ArrayRef<Value> vectors);

  unsigned weight = 0; ///< that states multiply
  Value next;          ///< operand: the weights of the group's next tile
  llvm::SmallVector<Value> agreed,
      proposed;              ///< rows, of each reference: of what is summed, the peer's
  tile::ExchangeOp exchange; ///< the weights, and a vector for each reference
  llvm::SmallVector<std::array<Value, 2>> vectors; ///< of each group, for each of sharedRows()
  llvm::DenseMap<std::pair<unsigned, unsigned>, tile::FetchOp> valuesOf; ///< by operand and Whose
};

} // namespace attnc::schedule

#endif
