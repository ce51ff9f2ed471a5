#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "dialects/Attn/Random.h"
#include "dialects/Attn/ScalarProperties.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;

namespace attnc::cpu {

Value floatConstant(OpBuilder &b, Location loc, Type type, double v) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, v));
}

Value intConstant(OpBuilder &b, Location loc, Type type, int64_t v) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
}

Value index64(OpBuilder &b, Location loc, int64_t v) {
  return intConstant(b, loc, b.getI64Type(), v);
}

// Round to nearest even: add half a unit, less one if the kept part is even. NaN keeps its sign and
// becomes quiet (the addition could carry it into infinity). The machine's own conversion would
// flush numbers below the normal range, and where there is none LLVM calls a library for it.
Value bf16Bits(OpBuilder &b, Location loc, Value value) {
  auto constant = [&](int64_t v) { return intConstant(b, loc, b.getI32Type(), v); };
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), value);
  Value high = arith::ShRUIOp::create(b, loc, bits, constant(16));
  Value odd = arith::AndIOp::create(b, loc, high, constant(1));
  Value bias = arith::AddIOp::create(b, loc, odd, constant(0x7FFF));
  Value sum = arith::AddIOp::create(b, loc, bits, bias);
  Value rounded = arith::ShRUIOp::create(b, loc, sum, constant(16));
  Value quiet = arith::OrIOp::create(b, loc, high, constant(0x40));
  Value nan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(b, loc, nan, quiet, rounded);
  return arith::TruncIOp::create(b, loc, b.getIntegerType(16), chosen);
}

static Value emitSub(OpBuilder &b, attn::SubOp sub, Value x, Value y) {
  Location loc = sub.getLoc();
  if (sub->hasAttr(attn::kPlainAttr))
    return arith::SubFOp::create(b, loc, x, y);
  Value low = floatConstant(b, loc, x.getType(), -std::numeric_limits<double>::infinity());
  Value absorbs = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, low);
  Value difference = arith::SubFOp::create(b, loc, x, y);
  return arith::SelectOp::create(b, loc, absorbs, low, difference);
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

namespace {
// Short names for the arithmetic of polynomials. Contraction to fma is allowed: it only helps.
struct F32 {
  OpBuilder &b;
  Location loc;

  Value c(double v) { return floatConstant(b, loc, b.getF32Type(), v); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y, contract()); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y, contract()); }
  // Without contraction: where the rounding of the result matters.
  Value addExactly(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value subExactly(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return add(mul(x, y), z); }
  // x clamped to [low, high]; NaN stays.
  Value clamp(Value x, double low, double high) {
    Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, c(low));
    x = arith::SelectOp::create(b, loc, below, c(low), x);
    Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, c(high));
    return arith::SelectOp::create(b, loc, above, c(high), x);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value i32(int64_t v) { return intConstant(b, loc, b.getI32Type(), v); }
  // 2^n for -126 <= n <= 127.
  Value powerOfTwo(Value n) {
    Value biased = arith::AddIOp::create(b, loc, n, i32(127));
    Value shifted = arith::ShLIOp::create(b, loc, biased, i32(23));
    return arith::BitcastOp::create(b, loc, b.getF32Type(), shifted);
  }
  arith::FastMathFlagsAttr contract() {
    return arith::FastMathFlagsAttr::get(b.getContext(), arith::FastMathFlags::contract);
  }
};

// x rounded to an integer: as a float and, without a conversion that NaN would make undefined, as
// an i32, by adding 1.5 * 2^23.
struct Rounded {
  Value asFloat, asInt;
};
} // namespace

static Rounded roundToInteger(F32 f, Value x) {
  constexpr double kMagic = 12582912.0;
  Value shifted = f.addExactly(x, f.c(kMagic));
  Value n = arith::SubIOp::create(f.b, f.loc, f.bits(shifted), f.i32(0x4B400000));
  return {f.subExactly(shifted, f.c(kMagic)), n};
}

// e^r * 2^n for |r| <= ln(2)/2. The polynomial is the Taylor series with its coefficients moved to
// the minimax of the interval (Cephes, expf). 2^n is applied in two steps, so that results below
// the normal range are rounded once and those past the range become inf.
static Value scaledExp(F32 f, Value r, Value n) {
  static constexpr double kTail[] = {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                     4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1};
  Value p = f.c(kTail[0]);
  for (double coefficient : llvm::ArrayRef(kTail).drop_front())
    p = f.fma(p, r, f.c(coefficient));
  Value y = f.add(f.fma(p, f.mul(r, r), r), f.c(1.0));
  Value half = arith::ShRSIOp::create(f.b, f.loc, n, f.i32(1));
  Value rest = arith::SubIOp::create(f.b, f.loc, n, half);
  Value scaled = arith::MulFOp::create(f.b, f.loc, y, f.powerOfTwo(half));
  return arith::MulFOp::create(f.b, f.loc, scaled, f.powerOfTwo(rest));
}

// Within 2 ulp of f32; 0 at -inf, inf past the range, NaN at NaN. For f64 the C library's function.
static Value emitExp(OpBuilder &b, Location loc, Value x) {
  if (!x.getType().isF32())
    return math::ExpOp::create(b, loc, x);
  F32 f{b, loc};
  x = f.clamp(x, -104.0, 89.0);
  Rounded n = roundToInteger(f, f.mul(x, f.c(1.44269504088896341)));
  // ln 2 in two parts; the first has so few bits that n times it is exact.
  Value r = f.fma(n.asFloat, f.c(-0.693359375), x);
  r = f.fma(n.asFloat, f.c(2.12194440e-4), r);
  return scaledExp(f, r, n.asInt);
}

static Value emitExp2(OpBuilder &b, Location loc, Value x) {
  if (!x.getType().isF32())
    return math::Exp2Op::create(b, loc, x);
  F32 f{b, loc};
  x = f.clamp(x, -150.0, 129.0);
  Rounded n = roundToInteger(f, x);
  Value r = f.mul(f.subExactly(x, n.asFloat), f.c(0.693147180559945309));
  return scaledExp(f, r, n.asInt);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

// Division must not trap, whatever the data.
static Value safeDivisor(OpBuilder &b, Location loc, Value y) {
  if (auto constant = y.getDefiningOp<arith::ConstantIntOp>(); constant && constant.value() > 0)
    return y;
  Value zero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, index64(b, loc, 0));
  return arith::SelectOp::create(b, loc, zero, index64(b, loc, 1), y);
}

namespace {
struct FloorDivision {
  Value quotient, remainder;
};
} // namespace

// Floor division from the truncating one: where the signs of a non-zero remainder and the divisor
// differ, the quotient is one less and the remainder one divisor more.
static FloorDivision emitFloorDivision(OpBuilder &b, Location loc, Value x, Value y) {
  y = safeDivisor(b, loc, y);
  Value q = arith::DivSIOp::create(b, loc, x, y);
  Value r = arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, q, y));
  Value zero = index64(b, loc, 0);
  Value inexact = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, r, zero);
  Value signs = arith::XOrIOp::create(b, loc, r, y);
  Value differ = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, signs, zero);
  Value adjust = arith::AndIOp::create(b, loc, inexact, differ);
  Value lower = arith::SubIOp::create(b, loc, q, index64(b, loc, 1));
  Value higher = arith::AddIOp::create(b, loc, r, y);
  return {arith::SelectOp::create(b, loc, adjust, lower, q),
          arith::SelectOp::create(b, loc, adjust, higher, r)};
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

namespace {
// 32-bit words of Philox, as attn::philox computes them.
struct Words {
  OpBuilder &b;
  Location loc;

  Value word(uint32_t v) { return intConstant(b, loc, b.getI32Type(), static_cast<int32_t>(v)); }
  Value low(Value wide) { return arith::TruncIOp::create(b, loc, b.getI32Type(), wide); }
  Value after(Value wide, int64_t bits) {
    return arith::ShRUIOp::create(b, loc, wide, index64(b, loc, bits));
  }
  Value high(Value wide) { return low(after(wide, 32)); }
  Value product(uint32_t factor, Value x) {
    Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), x);
    return arith::MulIOp::create(b, loc, wide, index64(b, loc, factor));
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value mix(Value x, Value y, Value key) {
    return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y), key);
  }
  Value bit(Value x, int64_t mask) {
    Value masked = arith::AndIOp::create(b, loc, x, index64(b, loc, mask));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, masked, index64(b, loc, 0));
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
};
} // namespace

// attn::uniform of a seed and four indices. Signs do not matter to words: everything wraps.
static Value emitRandom(OpBuilder &b, Location loc, ValueRange in) {
  using attn::Philox;
  Words w{b, loc};
  Value key[] = {w.low(in[0]), w.high(in[0])};
  Value fours = arith::ShLIOp::create(b, loc, w.low(w.after(in[4], 4)), w.word(2));
  Value pair = arith::AndIOp::create(b, loc, w.low(w.after(in[4], 1)), w.word(3));
  Value c[] = {w.low(in[1]), w.low(in[2]), w.low(in[3]), w.add(fours, pair)};
  for (int round = 0; round < Philox::kRounds; ++round) {
    Value p = w.product(Philox::kMultiplier0, c[0]), q = w.product(Philox::kMultiplier1, c[2]);
    Value next[] = {w.mix(w.high(q), c[1], key[0]), w.low(q), w.mix(w.high(p), c[3], key[1]),
                    w.low(p)};
    llvm::copy(next, c);
    key[0] = w.add(key[0], w.word(Philox::kStep0));
    key[1] = w.add(key[1], w.word(Philox::kStep1));
  }
  Value second = w.bit(in[4], 8);
  Value even = w.choose(second, c[2], c[0]), odd = w.choose(second, c[3], c[1]);
  Value word = w.choose(w.bit(in[4], 1), odd, even);
  Value top = arith::ShRUIOp::create(b, loc, word, w.word(8));
  Value real = arith::UIToFPOp::create(b, loc, b.getF32Type(), top);
  return arith::MulFOp::create(b, loc, real, floatConstant(b, loc, b.getF32Type(), 0x1p-24));
}

//===----------------------------------------------------------------------===//
// Scalar ops
//===----------------------------------------------------------------------===//

// A call of the C library's `name` (with an f for f32) on floats.
static Value callLibrary(OpBuilder &b, Location loc, StringRef name, ValueRange operands) {
  Type type = operands.front().getType();
  std::string symbol = name.str() + (type.isF32() ? "f" : "");
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types(operands.size(), type);
    LLVM::LLVMFuncOp::create(b, loc, symbol, LLVM::LLVMFunctionType::get(type, types));
  }
  return LLVM::CallOp::create(b, loc, TypeRange(type), symbol, operands).getResult();
}

void emitScalarOp(OpBuilder &b, Operation &op, IRMapping &mapping) {
  Location loc = op.getLoc();
  SmallVector<Value> in;
  for (Value operand : op.getOperands())
    in.push_back(mapping.lookup(operand));
  Value result =
      llvm::TypeSwitch<Operation *, Value>(&op)
          .Case<attn::SubOp>([&](auto sub) { return emitSub(b, sub, in[0], in[1]); })
          .Case<attn::ModOp>(
              [&](auto) { return emitFloorDivision(b, loc, in[0], in[1]).remainder; })
          .Case<arith::FloorDivSIOp>(
              [&](auto) { return emitFloorDivision(b, loc, in[0], in[1]).quotient; })
          .Case<arith::DivSIOp, arith::RemSIOp>([&](auto) {
            in[1] = safeDivisor(b, loc, in[1]);
            OperationState state(loc, op.getName(), in, op.getResultTypes());
            return b.create(state)->getResult(0);
          })
          .Case<arith::TruncFOp>([&](arith::TruncFOp narrow) -> Value {
            if (!narrow.getType().isBF16())
              return b.clone(op, mapping)->getResult(0);
            return arith::BitcastOp::create(b, loc, narrow.getType(), bf16Bits(b, loc, in[0]));
          })
          .Case<attn::RandOp>([&](auto) { return emitRandom(b, loc, in); })
          .Case<math::ExpOp>([&](auto) { return emitExp(b, loc, in[0]); })
          .Case<math::Exp2Op>([&](auto) { return emitExp2(b, loc, in[0]); })
          .Case<math::ErfOp>([&](auto) { return callLibrary(b, loc, "erf", in); })
          .Case<math::TanhOp>([&](auto) { return callLibrary(b, loc, "tanh", in); })
          .Default([&](Operation *) { return b.clone(op, mapping)->getResult(0); });
  mapping.map(op.getResult(0), result);
}

} // namespace attnc::cpu
