#include "compiler/transforms/domain/index_arithmetic.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc {

Value IndexArithmetic::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value IndexArithmetic::boolean(bool value) {
  return arith::ConstantOp::create(b, loc, b.getBoolAttr(value));
}

std::optional<int64_t> IndexArithmetic::literal(Value value) {
  APInt constant;
  if (!value || !value.getType().isInteger(64) || !matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

IndexArithmetic::Key IndexArithmetic::keyOf(Value value) {
  if (std::optional<int64_t> constant = literal(value))
    return {nullptr, *constant};
  return {value.getAsOpaquePointer(), 0};
}

Value IndexArithmetic::once(Op op, ArrayRef<Value> operands, llvm::function_ref<Value()> build) {
  std::vector<Key> key;
  for (Value operand : operands)
    key.push_back(keyOf(operand));
  Value &value = known[{op, key}];
  if (!value || literal(value))
    value = build();
  return value;
}

Value IndexArithmetic::add(Value x, Value y) {
  return once(Op::Add, {x, y}, [&] { return b.createOrFold<arith::AddIOp>(loc, x, y); });
}

Value IndexArithmetic::sub(Value x, Value y) {
  return once(Op::Sub, {x, y}, [&] { return b.createOrFold<arith::SubIOp>(loc, x, y); });
}

Value IndexArithmetic::mul(Value x, Value y) {
  return once(Op::Mul, {x, y}, [&] { return b.createOrFold<arith::MulIOp>(loc, x, y); });
}

Value IndexArithmetic::max(Value x, Value y) {
  return once(Op::Max, {x, y}, [&] { return b.createOrFold<arith::MaxSIOp>(loc, x, y); });
}

Value IndexArithmetic::min(Value x, Value y) {
  return once(Op::Min, {x, y}, [&] { return b.createOrFold<arith::MinSIOp>(loc, x, y); });
}

Value IndexArithmetic::floorDiv(Value x, Value y) {
  return once(Op::FloorDiv, {x, y}, [&] { return b.createOrFold<arith::FloorDivSIOp>(loc, x, y); });
}

// Kernels have the quotient that is rounded down alone.
Value IndexArithmetic::ceilDiv(Value x, Value y) {
  Value zero = constant(0);
  return sub(zero, floorDiv(sub(zero, x), y));
}

Value IndexArithmetic::mod(Value x, Value y) { return sub(x, mul(floorDiv(x, y), y)); }

Value IndexArithmetic::notNegative(Value x) {
  Value zero = constant(0);
  return once(Op::NotNegative, {x}, [&] {
    return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, x, zero);
  });
}

Value IndexArithmetic::both(Value x, Value y) {
  return once(Op::Both, {x, y}, [&] { return b.createOrFold<arith::AndIOp>(loc, x, y); });
}

Value IndexArithmetic::either(Value x, Value y) {
  return once(Op::Either, {x, y}, [&] { return b.createOrFold<arith::OrIOp>(loc, x, y); });
}

Value IndexArithmetic::select(Value condition, Value yes, Value no) {
  return once(Op::Select, {condition, yes, no},
              [&] { return b.createOrFold<arith::SelectOp>(loc, condition, yes, no); });
}

} // namespace attnc
