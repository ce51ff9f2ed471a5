#include "tests/unit/transforms/domain_interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc {

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

DomainInterpreter::DomainInterpreter(red::NestOp nest, int64_t rows, int64_t stream)
    : nest(nest), extents([=](StringRef dim) { return dim == "i" ? rows : stream; }),
      elements([](Value, ArrayRef<int64_t>) -> int64_t {
        ADD_FAILURE() << "the domain reads data";
        return 0;
      }) {}

DomainInterpreter::Result DomainInterpreter::run(int64_t iFirst, int64_t iLast, int64_t jFirst,
                                                 int64_t jLast) {
  values.clear();
  Block *block = nest.getDomainBlock();
  std::vector<int64_t> args = {0, 0, iFirst, iLast, jFirst, jLast};
  for (auto [argument, value] : llvm::zip(block->getArguments(), args))
    values[argument] = value;
  for (Operation &op : block->without_terminator())
    evaluate(op);
  auto bounds = cast<red::BoundsOp>(block->getTerminator());
  return {values[bounds.getLo()[0]], values[bounds.getHi()[0]], values[bounds.getFull()] != 0,
          !bounds.getLive() || values[bounds.getLive()] != 0};
}

static int64_t resultOf(Operation &op, const std::vector<int64_t> &x) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    EXPECT_EQ(compare.getPredicate(), arith::CmpIPredicate::sge);
    return x[0] >= x[1];
  }
  if (isa<arith::AddIOp>(op))
    return x[0] + x[1];
  if (isa<arith::SubIOp>(op))
    return x[0] - x[1];
  if (isa<arith::MulIOp>(op))
    return x[0] * x[1];
  if (isa<arith::MaxSIOp>(op))
    return std::max(x[0], x[1]);
  if (isa<arith::MinSIOp>(op))
    return std::min(x[0], x[1]);
  if (isa<arith::AndIOp>(op))
    return x[0] & x[1];
  if (isa<arith::OrIOp>(op))
    return x[0] | x[1];
  if (isa<arith::FloorDivSIOp>(op))
    return floorDivide(x[0], x[1]);
  if (isa<arith::CeilDivSIOp>(op))
    return -floorDivide(-x[0], x[1]);
  if (isa<arith::SelectOp>(op))
    return x[0] ? x[1] : x[2];
  ADD_FAILURE() << "no rule for " << op.getName().getStringRef().str();
  return 0;
}

int64_t DomainInterpreter::extreme(red::ExtremeOp op) {
  auto dims = cast<attn::ArrayType>(op.getArray().getType()).getDims();
  bool largest = op.getKind() == red::FoldKind::Max;
  int64_t result =
      largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  std::vector<int64_t> index(dims.size());
  std::function<void(size_t)> visit = [&](size_t axis) {
    if (axis == dims.size()) {
      int64_t element = elements(op.getArray(), index);
      result = largest ? std::max(result, element) : std::min(result, element);
      return;
    }
    int64_t end = std::min(values[op.getLast()[axis]] + 1, extents(dims[axis].getValue()));
    for (index[axis] = std::max<int64_t>(values[op.getFirst()[axis]], 0); index[axis] < end;
         ++index[axis])
      visit(axis + 1);
  };
  visit(0);
  return result;
}

void DomainInterpreter::evaluate(Operation &op) {
  if (isa<attn::SizeOp>(op))
    return;
  if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
    values[scalar] = extents(scalar.getArray().getDefiningOp<attn::SizeOp>().getDim());
    return;
  }
  if (auto box = dyn_cast<red::ExtremeOp>(op)) {
    values[box] = extreme(box);
    return;
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto literal = cast<IntegerAttr>(constant.getValue());
    values[constant] =
        literal.getType().isInteger(1) ? literal.getValue().isOne() : literal.getInt();
    return;
  }
  std::vector<int64_t> x;
  for (Value operand : op.getOperands())
    x.push_back(values[operand]);
  values[op.getResult(0)] = resultOf(op, x);
}

} // namespace attnc
