#include "compiler/schedule/nest/domain_slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;

namespace attnc::schedule {

SmallVector<Operation *> domainSlice(red::NestOp nest, ValueRange wanted) {
  Block *block = nest.getDomainBlock();
  llvm::SmallDenseSet<Operation *> needed;
  SmallVector<Value> work(wanted.begin(), wanted.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == block && needed.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  SmallVector<Operation *> ops;
  for (Operation &op : *block)
    if (needed.contains(&op))
      ops.push_back(&op);
  return ops;
}

bool rowsHaveParts(red::NestOp nest) {
  Block *block = nest.getDomainBlock();
  if (!block || nest.getRow().size() != 1)
    return false;
  auto bounds = cast<red::BoundsOp>(block->getTerminator());
  ValueRange rows = block->getArguments().slice(nest.getGrid().size(), 2);
  auto dependsOnRows = [&](Value bound) {
    return llvm::any_of(domainSlice(nest, bound), [&](Operation *op) {
      return llvm::any_of(op->getOperands(),
                          [&](Value operand) { return llvm::is_contained(rows, operand); });
    });
  };
  return llvm::all_of(bounds.getLo(), dependsOnRows) && llvm::all_of(bounds.getHi(), dependsOnRows);
}

bool readsTensors(red::NestOp nest, ValueRange wanted) {
  return llvm::any_of(domainSlice(nest, wanted),
                      [](Operation *op) { return isa<red::ExtremeOp>(op); });
}

Value liveCondition(red::NestOp nest) {
  Block *block = nest.getDomainBlock();
  return block ? cast<red::BoundsOp>(block->getTerminator()).getLive() : Value();
}

// Rows and stream indices that tiles for tensor cores have at least.
static constexpr int64_t kSmallTile = 32;

// Whoever asks which part an index belongs to does not say that its indices are decided together.
static bool findsPart(Operation *division) {
  return llvm::all_of(division->getUsers(), [](Operation *user) {
    auto extreme = dyn_cast<red::ExtremeOp>(user);
    return extreme && extreme.getOfParts();
  });
}

std::optional<DecidedTogether> decidedTogether(red::NestOp nest) {
  if (!nest.getDomainBlock())
    return std::nullopt;
  auto bounds = cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
  SmallVector<Value> wanted = llvm::to_vector(bounds.getLo());
  llvm::append_range(wanted, bounds.getHi());
  if (Value live = bounds.getLive())
    wanted.push_back(live);
  if (!readsTensors(nest, wanted))
    return std::nullopt;
  DecidedTogether together = {0, 0};
  auto arguments = nest.getDomainBlock()->getArguments().drop_front(nest.getGrid().size());
  for (Operation *op : domainSlice(nest, wanted)) {
    auto division = dyn_cast<arith::FloorDivSIOp>(op);
    APInt divisor;
    if (!division || !matchPattern(division.getRhs(), m_ConstantInt(&divisor)) || findsPart(op))
      continue;
    if (division.getLhs() == arguments[0])
      together.rows = std::gcd(together.rows, divisor.getSExtValue());
    if (division.getLhs() == arguments[2])
      together.stream = std::gcd(together.stream, divisor.getSExtValue());
  }
  if (!together.stream)
    together.stream = together.rows;
  bool areSmall = together.rows < kSmallTile || together.stream < kSmallTile;
  return areSmall ? std::nullopt : std::optional(together);
}

Value emptyExtreme(OpBuilder &b, Location loc, red::FoldKind kind) {
  int64_t value = kind == red::FoldKind::Max ? std::numeric_limits<int64_t>::min()
                                             : std::numeric_limits<int64_t>::max();
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value furtherExtreme(OpBuilder &b, Location loc, red::FoldKind kind, Value known, Value element) {
  if (element.getType().isInteger(1))
    element = arith::ExtUIOp::create(b, loc, b.getI64Type(), element);
  if (kind == red::FoldKind::Max)
    return arith::MaxSIOp::create(b, loc, known, element);
  return arith::MinSIOp::create(b, loc, known, element);
}

} // namespace attnc::schedule
