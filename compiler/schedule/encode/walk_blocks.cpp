#include "compiler/schedule/encode/walk_blocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// Computes extents of a grid where the kernel knows the sizes.
class GridExtents {
public:
  GridExtents(OpBuilder &b, Location loc, const KernelMemory &memory)
      : b(b), loc(loc), memory(memory) {}

  /// An i64.
  Value of(Attribute extent) {
    if (auto number = dyn_cast<IntegerAttr>(extent))
      return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(number.getInt()));
    auto list = cast<ArrayAttr>(extent);
    StringRef op = cast<StringAttr>(list[0]).getValue();
    if (op == "size")
      return memory.extent(b, loc, cast<StringAttr>(list[1]));
    Value x = of(list[1]), y = of(list[2]);
    if (op == "mul")
      return arith::MulIOp::create(b, loc, x, y);
    if (op == "add")
      return arith::AddIOp::create(b, loc, x, y);
    assert(op == "ceildiv" && "grids of nests have no other operations");
    Value one = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(1));
    Value below = arith::SubIOp::create(b, loc, y, one);
    return arith::DivSIOp::create(b, loc, arith::AddIOp::create(b, loc, x, below), y);
  }

private:
  OpBuilder &b;
  Location loc;
  const KernelMemory &memory;
};

} // namespace

void walkBlocks(tile::KernelOp kernel, red::NestOp nest, const KernelSignature &signature,
                int64_t most) {
  Block *body = kernel.getBodyBlock();
  SmallVector<tile::BlockOp> numbers;
  kernel.walk([&](tile::BlockOp op) { numbers.push_back(op); });
  if (numbers.empty() || kernel.getGrid().size() != 1)
    return;
  Location loc = kernel.getLoc();
  OpBuilder b(kernel.getContext());
  auto rest = body->getOperations().begin();
  b.setInsertionPointToStart(body);
  Attribute blocks = kernel.getGrid()[0];
  KernelMemory memory(nest, signature, kernel);
  Value first = tile::BlockOp::create(b, numbers.front().getLoc());
  Value end =
      arith::TruncIOp::create(b, loc, b.getI32Type(), GridExtents(b, loc, memory).of(blocks));
  Value step = tile::GridSizeOp::create(b, loc);
  auto loop = scf::ForOp::create(b, numbers.front().getLoc(), first, end, step);
  Block *inner = loop.getBody();
  inner->getOperations().splice(inner->getTerminator()->getIterator(), body->getOperations(), rest,
                                body->end());
  for (tile::BlockOp number : numbers) {
    number.getResult().replaceAllUsesWith(loop.getInductionVar());
    number.erase();
  }
  // Shared memory is that of the next block.
  b.setInsertionPoint(inner->getTerminator());
  tile::BarrierOp::create(b, loc);
  kernel.setGridAttr(b.getArrayAttr({gridApply("min", b.getI64IntegerAttr(most), blocks)}));
}

} // namespace attnc::schedule
