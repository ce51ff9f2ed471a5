#include "compiler/schedule/warpgroup_compute.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// The number in its pipe of a part of tile `number`.
Value WarpgroupCompute::partNumber(unsigned streamed, Value number, int64_t part) {
  Value before =
      b.createOrFold<arith::MulIOp>(named("parts_before"), number, constant(scoreParts(streamed)));
  return add(before, part, "part");
}

Value WarpgroupCompute::lastPart(unsigned streamed, Value number) {
  int64_t parts = scoreParts(streamed);
  return parts == 1 ? number : partNumber(streamed, number, parts - 1);
}

// Starts the products of the parts as they arrive. A part is released when the products with it are
// complete, while those with the next one run; the last one with the scores.
void WarpgroupCompute::startParts(const Contraction &contraction, Value place, Value rows,
                                  Value number) {
  red::FoldOp fold = contraction.fold;
  Location loc = fold.getLoc();
  unsigned streamed = contraction.streamed;
  const OperandTile &operand = plan.streamed[streamed];
  Value pipe = block.streamed[streamed];
  auto tile = cast<tile::PipeType>(pipe.getType()).getTile();
  auto whole = cast<tile::SharedType>(rows.getType());
  for (int64_t part = 0, parts = scoreParts(streamed); part < parts; ++part) {
    Value at = partNumber(streamed, number, part);
    tile::AwaitOp::create(b, loc, pipe, at);
    int64_t begin = part * operand.cols;
    int64_t cols = std::min(operand.cols, operand.wholeCols() - begin);
    auto columns = tile::SharedType::get(b.getContext(), whole.getRows(), cols, whole.getElement(),
                                         whole.getPanelRows());
    Value left = tile::ColumnsOp::create(b, loc, columns, rows, constant(begin));
    Value right = tile::StageOp::create(b, loc, tile, pipe, at);
    if (cols != operand.cols) {
      auto rest = tile::SharedType::get(b.getContext(), tile.getRows(), cols, tile.getElement(),
                                        tile.getPanelRows());
      right = tile::ColumnsOp::create(b, loc, rest, right, constant(0));
    }
    tile::MmaFenceOp::create(b, loc); // behind the wait for the part, which loops
    tile::MmaStartOp::create(b, loc, place, left, right, /*transposed=*/true, /*fresh=*/part == 0);
    tile::MmaCommitOp::create(b, loc);
    if (part == 0)
      continue;
    tile::MmaWaitOp::create(b, loc, b.getI64IntegerAttr(1), ValueRange());
    tile::ReleaseOp::create(b, loc, pipe, partNumber(streamed, number, part - 1));
  }
}

// A group that lets tiles pass waits for what comes with one after the parts of the next, which
// then need slots of their own. Where there are fewer, all groups use the same tiles.
bool WarpgroupFrame::mayPassTiles() const {
  for (unsigned i = 0; i < plan.streamed.size(); ++i)
    if (int64_t parts = scoreParts(i); parts > 1 && schedule.depthStages <= parts)
      return false;
  return true;
}

// The parts of a tile that this group does not use, but for the last ones, which are released with
// the other operands.
void WarpgroupCompute::passParts(Value number) {
  for (auto [i, pipe] : llvm::enumerate(block.streamed))
    for (int64_t part = 0, parts = scoreParts(i); parts > 1 && part < parts; ++part) {
      Location loc = attn::ReadOp(plan.streamed[i].read).getLoc();
      Value at = partNumber(i, number, part);
      tile::AwaitOp::create(b, loc, pipe, at);
      if (part + 1 < parts)
        tile::ReleaseOp::create(b, loc, pipe, at);
    }
}

} // namespace attnc::schedule
