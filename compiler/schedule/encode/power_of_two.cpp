#include "compiler/schedule/encode/power_of_two.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Of f32: exponents whose reciprocals are numbers, also over 2^lowered.
static constexpr int64_t kExponentMask = 0x7f800000, kExponentOne = 0x00800000;
static constexpr int64_t kLeastExponent = 16, kMostExponent = 253, kReciprocals = 254;

std::pair<Value, Value> powerOfTwo(OpBuilder &b, Location loc, Value x, int64_t lowered) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  auto named = [&](StringRef name) { return attn::renamed(loc, name); };
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  bits = arith::AndIOp::create(b, loc, bits, constant(kExponentMask));
  bits = arith::MaxSIOp::create(b, loc, bits, constant(kLeastExponent * kExponentOne));
  bits = arith::MinSIOp::create(b, loc, bits, constant(kMostExponent * kExponentOne));
  bits = arith::SubIOp::create(b, named("power_bits"), bits, constant(lowered * kExponentOne));
  Value inverse = arith::SubIOp::create(b, loc, constant(kReciprocals * kExponentOne), bits);
  return {arith::BitcastOp::create(b, named("power"), b.getF32Type(), bits),
          arith::BitcastOp::create(b, named("inverse"), b.getF32Type(), inverse)};
}

} // namespace attnc::schedule
