#include "compiler/codegen/cpu/loops/outline_loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::cpu {
namespace {

// Loops of one function: enough for every nest that a person writes.
constexpr unsigned kMostLoops = 64;

/// Consecutive ops of a block whose results nobody else uses.
using Chunk = SmallVector<Operation *>;

class BlockOutliner {
public:
  BlockOutliner(LLVM::LLVMFuncOp function, Block &block, unsigned &number)
      : function(function), block(block), number(number) {}

  void run() {
    if (countLoops() <= kMostLoops)
      return;
    hoistArithmetic();
    for (const Chunk &chunk : divide())
      outline(chunk);
  }

private:
  static unsigned loopsIn(Operation &op) {
    unsigned loops = 0;
    op.walk([&](scf::ForOp) { ++loops; });
    return loops;
  }

  unsigned countLoops() const {
    unsigned loops = 0;
    for (Operation &op : block)
      loops += loopsIn(op);
    return loops;
  }

  // Arithmetic on what was known before the first loop moves there, so that no chunk owns it.
  void hoistArithmetic() {
    auto first = llvm::find_if(block, [](Operation &op) { return isa<scf::ForOp>(op); });
    llvm::SmallPtrSet<Operation *, 32> late;
    for (Operation &op : llvm::make_early_inc_range(llvm::make_range(first, block.end()))) {
      bool movable = isPure(&op) && !op.getNumRegions() && !op.hasTrait<OpTrait::IsTerminator>() &&
                     llvm::none_of(op.getOperands(),
                                   [&](Value v) { return late.contains(v.getDefiningOp()); });
      if (movable)
        op.moveBefore(&*first);
      else
        late.insert(&op);
    }
  }

  // Greedily: a chunk ends where it has enough loops and nothing behind it uses its results.
  std::vector<Chunk> divide() {
    std::vector<Chunk> chunks;
    Chunk chunk;
    llvm::SmallPtrSet<Operation *, 16> awaited; // users of the chunk's results that are yet to come
    unsigned loops = 0;
    bool started = false;
    for (Operation &op : block.without_terminator()) {
      started |= isa<scf::ForOp>(op);
      if (!started)
        continue;
      chunk.push_back(&op);
      loops += loopsIn(op);
      awaited.erase(&op);
      for (Operation *user : op.getUsers())
        awaited.insert(block.findAncestorOpInBlock(*user));
      if (loops >= kMostLoops && awaited.empty()) {
        chunks.push_back(std::move(chunk));
        chunk.clear();
        loops = 0;
      }
    }
    return chunks;
  }

  void outline(const Chunk &chunk) {
    llvm::SetVector<Value> captured = capturesOf(chunk);
    Location loc = function.getLoc();
    OpBuilder b(function.getContext());
    b.setInsertionPoint(function);
    SmallVector<Value> arguments;
    SmallVector<Type> types;
    for (Value value : captured)
      if (!value.getDefiningOp<arith::ConstantOp>()) {
        arguments.push_back(value);
        types.push_back(value.getType());
      }
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types);
    std::string name = (function.getName() + "_part" + Twine(number++)).str();
    auto part = LLVM::LLVMFuncOp::create(b, loc, name, type, LLVM::Linkage::Internal);
    part.setNoInline(true);
    b.setInsertionPoint(chunk.front());
    LLVM::CallOp::create(b, loc, part, arguments);
    Block *body = part.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    IRMapping inside;
    inside.map(arguments, body->getArguments());
    for (Value value : captured)
      if (auto constant = value.getDefiningOp<arith::ConstantOp>())
        inside.map(value, b.clone(*constant)->getResult(0));
    for (Operation *op : chunk) {
      op->moveBefore(body, body->end());
      op->walk([&](Operation *inner) {
        for (OpOperand &operand : inner->getOpOperands())
          if (Value value = inside.lookupOrNull(operand.get()))
            operand.set(value);
      });
    }
    b.setInsertionPointToEnd(body);
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

  // What the chunk uses of values from before it.
  llvm::SetVector<Value> capturesOf(const Chunk &chunk) {
    llvm::SmallPtrSet<Operation *, 32> own(chunk.begin(), chunk.end());
    llvm::SetVector<Value> captured;
    for (Operation *op : chunk)
      op->walk([&](Operation *inner) {
        for (Value value : inner->getOperands()) {
          Operation *owner = value.getParentBlock()->getParentOp();
          bool inChunk = own.contains(value.getDefiningOp());
          for (; !inChunk && owner && owner != block.getParentOp(); owner = owner->getParentOp())
            inChunk = own.contains(owner);
          if (!inChunk)
            captured.insert(value);
        }
      });
    return captured;
  }

  LLVM::LLVMFuncOp function;
  Block &block;
  unsigned &number;
};

} // namespace

void outlineLoops(LLVM::LLVMFuncOp function) {
  // Inner blocks first: what they have left counts for the block around them.
  SmallVector<Block *> blocks;
  function.walk<WalkOrder::PostOrder>([&](Block *block) { blocks.push_back(block); });
  unsigned number = 0;
  for (Block *block : blocks)
    BlockOutliner(function, *block, number).run();
}

} // namespace attnc::cpu
