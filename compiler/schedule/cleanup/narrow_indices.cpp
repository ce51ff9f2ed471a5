#include "compiler/schedule/cleanup/narrow_indices.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

// Wide enough for any operation on i64 operands that are themselves in range.
using Wide = __int128;

struct Range {
  Wide lo, hi;
  bool within(const Range &outer) const { return lo >= outer.lo && hi <= outer.hi; }
};

constexpr Range kInt32 = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
constexpr Range kInt64 = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
// Tiles reach beyond the extent by less than the largest tile.
constexpr Range kIndex = {0, kLargestExtent + (1 << 12)};

Range productOf(Range x, Range y) {
  Wide corners[] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
  return {*llvm::min_element(corners), *llvm::max_element(corners)};
}

// Rounded down or towards 0, of a divisor that is at least `least`, which is positive.
Range quotientOf(Range x, Wide least) {
  return {x.lo < 0 ? (x.lo - least + 1) / least : 0, x.hi > 0 ? x.hi / least : 0};
}

class Narrowing {
public:
  explicit Narrowing(tile::KernelOp kernel) : kernel(kernel) {
    auto facts = kernel->getAttrOfType<DictionaryAttr>(kCleanUpAttr);
    for (auto size : facts.getAs<ArrayAttr>("sizes").getAsRange<IntegerAttr>())
      ranges[kernel.getBodyBlock()->getArgument(size.getInt())] = kIndex;
  }

  void run() {
    SmallVector<Operation *> ops;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      ops.push_back(op);
      if (op->removeDiscardableAttr(kIndexAttr))
        ranges[op->getResult(0)] = kIndex;
    });
    for (Operation *op : ops)
      rewrite(op);
    ops.clear();
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      divideFaster(op);
  }

private:
  Range rangeOf(Value value) {
    if (auto found = ranges.find(value); found != ranges.end())
      return found->second;
    Range whole = value.getType().isInteger(32) ? kInt32 : kInt64;
    Range range = compute(value, whole);
    if (!range.within(whole))
      range = whole;
    ranges[value] = range;
    return range;
  }

  Range compute(Value value, Range whole) {
    if (auto arg = dyn_cast<BlockArgument>(value))
      return isa<tile::MapOp, tile::TabulateOp, tile::CopyRowsOp>(arg.getOwner()->getParentOp())
                 ? kIndex
                 : whole;
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return {constant.getSExtValue(), constant.getSExtValue()};
    Operation *op = value.getDefiningOp();
    auto x = [&] { return rangeOf(op->getOperand(0)); };
    auto y = [&] { return rangeOf(op->getOperand(1)); };
    return TypeSwitch<Operation *, Range>(op)
        .Case<arith::ExtSIOp, arith::TruncIOp>([&](auto) { return x(); })
        .Case([&](arith::AddIOp) { return Range{x().lo + y().lo, x().hi + y().hi}; })
        .Case([&](arith::SubIOp) { return Range{x().lo - y().hi, x().hi - y().lo}; })
        .Case([&](arith::MulIOp) { return productOf(x(), y()); })
        .Case([&](arith::MinSIOp) {
          return Range{std::min(x().lo, y().lo), std::min(x().hi, y().hi)};
        })
        .Case([&](arith::MaxSIOp) {
          return Range{std::max(x().lo, y().lo), std::max(x().hi, y().hi)};
        })
        .Case([&](arith::SelectOp select) {
          Range a = rangeOf(select.getTrueValue()), b = rangeOf(select.getFalseValue());
          return Range{std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
        })
        .Case<arith::DivSIOp, arith::FloorDivSIOp>(
            [&](auto) { return y().lo >= 1 ? quotientOf(x(), y().lo) : whole; })
        .Case([&](math::AbsIOp) { return Range{0, std::max(x().hi, -x().lo)}; })
        .Case([&](attn::ModOp) { return y().lo >= 1 ? Range{0, y().hi - 1} : whole; })
        .Default([&](Operation *) { return whole; });
  }

  bool fits(Value value) { return value.getType().isInteger(64) && rangeOf(value).within(kInt32); }

  // `value` as i32.
  Value narrow(OpBuilder &b, Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return arith::ConstantOp::create(b, value.getLoc(),
                                       b.getI32IntegerAttr(constant.getSExtValue()));
    if (auto extended = value.getDefiningOp<arith::ExtSIOp>())
      if (extended.getIn().getType().isInteger(32))
        return extended.getIn();
    return arith::TruncIOp::create(b, value.getLoc(), b.getI32Type(), value);
  }

  void rewrite(Operation *op) {
    bool known = isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp,
                     arith::DivSIOp, arith::FloorDivSIOp, arith::SelectOp, arith::CmpIOp,
                     arith::SIToFPOp, attn::ModOp, math::AbsIOp>(op);
    auto isWide = [](Value v) { return v.getType().isInteger(64); };
    if (!known || llvm::none_of(op->getOperands(), isWide) ||
        !llvm::all_of(op->getOperands(), [&](Value v) { return !isWide(v) || fits(v); }))
      return;
    Value result = op->getResult(0);
    if (isWide(result) && !fits(result))
      return;
    if (auto cmp = dyn_cast<arith::CmpIOp>(op);
        cmp && cmp.getPredicate() > arith::CmpIPredicate::sge)
      return; // an unsigned comparison sees the bits
    OpBuilder b(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isWide(operand) ? narrow(b, operand) : operand);
    if (!isWide(result)) {
      op->setOperands(operands);
      return;
    }
    OperationState state(op->getLoc(), op->getName(), operands, b.getI32Type(), {});
    Operation *narrowed = b.create(state);
    ranges[narrowed->getResult(0)] = rangeOf(result);
    Value extended =
        arith::ExtSIOp::create(b, op->getLoc(), b.getI64Type(), narrowed->getResult(0));
    ranges[extended] = rangeOf(result);
    result.replaceAllUsesWith(extended);
  }

  // The rest of a number that may be negative: that of the number and a multiple of the divisor, as
  // far as the sum is one of 32 bits without a sign.
  void restOfSigned(Operation *op, llvm::function_ref<void(Value)> replace) {
    Value x = op->getOperand(0), y = op->getOperand(1);
    APInt divisor;
    if (!x.getType().isInteger(32) || !matchPattern(y, m_ConstantInt(&divisor)))
      return;
    Range range = rangeOf(x);
    Wide by = divisor.getSExtValue(), multiple = (by - 1 - range.lo) / by * by;
    if (multiple > kInt32.hi || range.hi + multiple > Wide(std::numeric_limits<uint32_t>::max()))
      return;
    OpBuilder b(op);
    Value offset = arith::ConstantOp::create(b, op->getLoc(),
                                             b.getI32IntegerAttr(static_cast<int64_t>(multiple)));
    Value raised = arith::AddIOp::create(b, op->getLoc(), x, offset);
    ranges[raised] = kInt32;
    replace(arith::RemUIOp::create(b, op->getLoc(), raised, y));
  }

  // Division by what is positive, rounded down: shifts and masks of bits where the divisor is a
  // power of 2, and without a sign where the dividend is not negative.
  void divideFaster(Operation *op) {
    bool isRest = isa<attn::ModOp>(op);
    if (!isRest && !isa<arith::FloorDivSIOp>(op))
      return;
    Value x = op->getOperand(0), y = op->getOperand(1);
    if (rangeOf(y).lo < 1)
      return;
    OpBuilder b(op);
    auto literal = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(b, op->getLoc(), b.getIntegerAttr(y.getType(), value));
    };
    auto replace = [&](Value by) {
      ranges[by] = rangeOf(op->getResult(0));
      op->getResult(0).replaceAllUsesWith(by);
    };
    APInt divisor;
    if (matchPattern(y, m_ConstantInt(&divisor)) && divisor.isPowerOf2())
      replace(isRest
                  ? arith::AndIOp::create(b, op->getLoc(), x, literal(divisor.getSExtValue() - 1))
                        .getResult()
                  : arith::ShRSIOp::create(b, op->getLoc(), x, literal(divisor.logBase2())));
    else if (isRest && rangeOf(x).lo < 0)
      restOfSigned(op, replace);
    else if (rangeOf(x).lo >= 0)
      replace(isRest ? arith::RemUIOp::create(b, op->getLoc(), x, y).getResult()
                     : arith::DivUIOp::create(b, op->getLoc(), x, y));
  }

  tile::KernelOp kernel;
  llvm::DenseMap<Value, Range> ranges;
};

} // namespace

void narrowIndices(tile::KernelOp kernel) { Narrowing(kernel).run(); }

} // namespace attnc::schedule
