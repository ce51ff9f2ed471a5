// What the lanes of a warp answer together, and bits of words.
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace attnc::interpreter {
namespace {

void addBallot(CodeBuilder &builder, tile::BallotOp op) {
  Block &body = *op.getBodyBlock();
  unsigned lane = builder.word(body.getArgument(0));
  unsigned start = builder.piece(body);
  SmallVector<unsigned> answers, words;
  for (Value answer : body.getTerminator()->getOperands())
    answers.push_back(builder.word(answer));
  for (Value word : op.getWords())
    words.push_back(builder.word(word));
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    SmallVector<uint32_t> bits(words.size(), 0);
    for (unsigned number = 0; number < 32; ++number) {
      warp.words[lane].i = number;
      unsigned pc = start;
      if (machine.runCode(warp, pc) == Outcome::Fault)
        return Outcome::Fault;
      for (auto [word, answer] : llvm::zip(bits, answers))
        word |= uint32_t(warp.words[answer].i != 0) << number;
    }
    for (auto [word, value] : llvm::zip(words, bits))
      warp.words[word].i = int32_t(value);
    return Outcome::Done;
  });
}

void addFirstBit(CodeBuilder &builder, tile::FirstBitOp op) {
  unsigned word = builder.word(op.getWord()), result = builder.word(op.getResult());
  builder.step(op, false, [=](Machine &machine, Warp &warp) {
    if (warp.words[word].i == 0)
      return machine.fail(warp, op, "finds no bit that is set");
    warp.words[result].i = llvm::countr_zero(uint32_t(warp.words[word].i));
    return Outcome::Done;
  });
}

void addWithoutFirstBit(CodeBuilder &builder, tile::WithoutFirstBitOp op) {
  unsigned word = builder.word(op.getWord()), result = builder.word(op.getResult());
  builder.step(op, false, [=](Machine &, Warp &warp) {
    uint32_t bits = warp.words[word].i;
    warp.words[result].i = int32_t(bits & (bits - 1));
    return Outcome::Done;
  });
}

void addHasBit(CodeBuilder &builder, tile::HasBitOp op) {
  unsigned word = builder.word(op.getWord()), number = builder.word(op.getNumber());
  unsigned result = builder.word(op.getResult());
  builder.step(op, false, [=](Machine &, Warp &warp) {
    warp.words[result].i = uint32_t(warp.words[word].i) >> (warp.words[number].i & 31) & 1;
    return Outcome::Done;
  });
}

} // namespace

bool addBallotStep(CodeBuilder &builder, Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::BallotOp op) { return addBallot(builder, op), true; })
      .Case([&](tile::FirstBitOp op) { return addFirstBit(builder, op), true; })
      .Case([&](tile::WithoutFirstBitOp op) { return addWithoutFirstBit(builder, op), true; })
      .Case([&](tile::HasBitOp op) { return addHasBit(builder, op), true; })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::interpreter
