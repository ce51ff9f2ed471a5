// Products of warpgroups: started, committed, waited for.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/code/matrix.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::interpreter {
namespace {

/// A product as one warp sees it: its 16 rows of a, all of b.
struct StartMma {
  tile::MmaStartOp op;
  unsigned c, a, b;
  std::optional<TileLayout> aLayout; ///< of the warp's part; none for an operand in registers
  TileLayout bLayout;
  unsigned aFirst = 0;    ///< column of an operand in registers
  unsigned aCols, bCols;  ///< that are read
  unsigned firstWarp = 0; ///< of the role
  bool aTransposed, transposed, fresh;

  StartMma(CodeBuilder &builder, tile::MmaStartOp op)
      : op(op), c(builder.place(op.getC())), b(builder.word(op.getB())),
        bLayout(op.getB().getType()), aTransposed(op.getATransposed()),
        transposed(op.getTransposed()), fresh(op.getFresh()) {
    if (builder.role())
      firstWarp = builder.role().getFirst();
    if (auto tile = dyn_cast<tile::SharedType>(op.getA().getType())) {
      a = builder.word(op.getA());
      aLayout.emplace(tile);
      aCols = aTransposed ? 16 : llvm::alignTo(tile.getCols(), 16);
      if (!aTransposed)
        aLayout->rows = 16;
    } else {
      a = builder.operand(op.getA(), aFirst);
      aCols = cast<tile::OperandType>(op.getA().getType()).getDepth();
    }
    bCols = transposed ? llvm::alignTo(bLayout.cols, 16) : op.getC().getType().getCols();
  }

  Outcome operator()(Machine &machine, Warp &warp) const {
    if (checkRegisters(machine, warp) == Outcome::Fault ||
        checkGroup(machine, warp) == Outcome::Fault)
      return Outcome::Fault;
    uint32_t number = ++warp.started;
    Access by{warp.agent(Warp::Products), number, op, /*async=*/true};
    if ((aLayout &&
         machine.readTile(warp, *warp.block, aBase(warp), *aLayout, aCols, by) == Outcome::Fault) ||
        machine.readTile(warp, *warp.block, warp.words[b].i, bLayout, bCols, by) == Outcome::Fault)
      return Outcome::Fault;
    Place &result = warp.places[c];
    result.product = number;
    result.written = true;
    if (!aLayout)
      warp.places[a].reader = number;
    warp.products.push_back(
        {number, [this, &warp, from = aLayout ? aBase(warp) : 0,
                  with = uint32_t(warp.words[b].i)](Machine &) { perform(warp, from, with); }});
    return Outcome::Done;
  }

private:
  uint32_t aBase(const Warp &warp) const {
    uint32_t part = (warp.number - firstWarp) % 4 * 16;
    return warp.words[a].i + (aTransposed ? aLayout->columns(part) : aLayout->strip(part));
  }

  Outcome checkRegisters(Machine &machine, Warp &warp) const {
    const Place &result = warp.places[c];
    if (!fresh && !result.written)
      return machine.fail(warp, op, "adds to registers that nothing has written");
    if (result.product <= warp.complete && result.touched >= warp.fences)
      return machine.fail(warp, op,
                          "writes registers that other instructions have used since the last "
                          "tile.mma_fence");
    if (aLayout)
      return Outcome::Done;
    const Place &operand = warp.places[a];
    if (!operand.written)
      return machine.fail(warp, op, "reads registers that nothing has written");
    if (operand.touched >= warp.fences)
      return machine.fail(warp, op,
                          "reads registers that other instructions have written since the last "
                          "tile.mma_fence");
    return Outcome::Done;
  }

  // The four warps of a warpgroup start the same products in the same order.
  Outcome checkGroup(Machine &machine, Warp &warp) const {
    std::vector<Issue> &issues = warp.block->issues[warp.number / 4];
    Issue issue{op, aLayout ? warp.words[a].i : 0, warp.words[b].i};
    if (warp.started == issues.size())
      issues.push_back(issue);
    else if (issues[warp.started] != issue)
      return machine.fail(warp, op,
                          "is not the product that another warp of the warpgroup has started: " +
                              machine.code.describe(issues[warp.started].op));
    return Outcome::Done;
  }

  void perform(Warp &warp, uint32_t from, uint32_t with) const {
    SharedMemory &memory = warp.block->memory;
    Place &result = warp.places[c];
    Matrix left = aLayout ? Matrix::ofTile(memory, from, *aLayout, aCols)
                          : Matrix::ofPlace(warp.places[a], aFirst, aCols);
    if (aTransposed)
      left = left.transposed();
    Matrix right = Matrix::ofTile(memory, with, bLayout, bCols);
    if (fresh)
      llvm::fill(result.elements, 0.0f);
    addProduct(result, left, transposed ? right.transposed() : right);
  }
};

void addMmaWait(CodeBuilder &builder, tile::MmaWaitOp op) {
  SmallVector<unsigned> settled;
  for (Value place : op.getSettled())
    settled.push_back(builder.place(place));
  uint32_t pending = op.getPending();
  builder.step(op, true, [=](Machine &machine, Warp &warp) {
    if (warp.closed.size() > pending)
      warp.complete = std::max(warp.complete, warp.closed[warp.closed.size() - 1 - pending]);
    machine.finishProducts(warp, warp.complete);
    warp.view.seen[warp.agent(Warp::Products)] = warp.complete;
    for (unsigned number : settled) {
      Place &place = warp.places[number];
      if (place.product > warp.complete)
        return machine.fail(warp, op,
                            "names registers whose product it does not wait for, or that no "
                            "tile.mma_commit has closed");
      place.settled = place.product;
    }
    return Outcome::Done;
  });
}

} // namespace

bool addProductStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::MmaStartOp op) {
        // Pending products refer to the step, which lives as long as the code.
        auto start = std::make_shared<const StartMma>(builder, op);
        builder.step(op, true,
                     [start](Machine &machine, Warp &warp) { return (*start)(machine, warp); });
        return true;
      })
      .Case([&](tile::MmaFenceOp op) {
        builder.step(op, false, [](Machine &, Warp &warp) {
          ++warp.fences;
          return Outcome::Done;
        });
        return true;
      })
      .Case([&](tile::MmaCommitOp op) {
        builder.step(op, false, [](Machine &, Warp &warp) {
          warp.closed.push_back(warp.started);
          return Outcome::Done;
        });
        return true;
      })
      .Case([&](tile::MmaWaitOp op) { return addMmaWait(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
