// What the lanes of a warp answer together, and bits of words.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

void KernelPrinter::printBallot(tile::BallotOp ballot) {
  comment(ballot.getLoc());
  Block &body = *ballot.getBodyBlock();
  if (!body.getArgument(0).use_empty())
    line("const i32 " + declare(body.getArgument(0), "lane") + " = lane();");
  printBlock(body);
  auto yield = cast<tile::YieldOp>(body.getTerminator());
  for (auto [word, answer] : llvm::zip(ballot.getWords(), yield.getValues())) {
    std::string answered = text(answer);
    line("const i32 " + declare(word, "word") + " = ballotLanes(" + answered + ");");
  }
}

Text KernelPrinter::bitText(Operation &op) {
  return TypeSwitch<Operation *, Text>(&op)
      .Case([&](tile::FirstBitOp first) -> Text {
        return {"firstBit(" + text(first.getWord()) + ")"};
      })
      .Case([&](tile::WithoutFirstBitOp rest) -> Text {
        return {"withoutFirstBit(" + text(rest.getWord()) + ")"};
      })
      .Case([&](tile::HasBitOp has) -> Text {
        return {"hasBit(" + text(has.getWord()) + ", " + text(has.getNumber()) + ")"};
      });
}

} // namespace attnc::cuda
