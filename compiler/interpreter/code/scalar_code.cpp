// Scalar ops, with the arithmetic of the device: f32 rounds to f32, integers wrap.
#include "compiler/evaluator/float64/predicates.h"
#include "compiler/interpreter/code/kernel_code.h"
#include "dialects/Attn/Random.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace attnc::interpreter {
namespace {

using Run = Instruction::Run;

template <class T> T get(Word word) {
  if constexpr (std::is_same_v<T, float>)
    return word.f;
  else if constexpr (std::is_same_v<T, double>)
    return word.d;
  else
    return static_cast<T>(word.i);
}

template <class T> Word put(T value) {
  Word word;
  if constexpr (std::is_same_v<T, float>)
    word.f = value;
  else if constexpr (std::is_same_v<T, double>)
    word.d = value;
  else
    word.i = value;
  return word;
}

template <class T, auto F> void unary(const Instruction &in, Word *words) {
  words[in.result] = put<T>(F(get<T>(words[in.a])));
}
template <class T, auto F> void binary(const Instruction &in, Word *words) {
  words[in.result] = put<T>(F(get<T>(words[in.a]), get<T>(words[in.b])));
}
template <class T, auto F> void ternary(const Instruction &in, Word *words) {
  words[in.result] = put<T>(F(get<T>(words[in.a]), get<T>(words[in.b]), get<T>(words[in.c])));
}
template <class From, class To> void convert(const Instruction &in, Word *words) {
  words[in.result] = put<To>(static_cast<To>(get<From>(words[in.a])));
}
// A number of a 16-bit type is kept as the float that it equals.
template <class From, const llvm::fltSemantics &(*semantics)()>
void narrow(const Instruction &in, Word *words) {
  llvm::APFloat value(get<From>(words[in.a]));
  bool lost = false;
  value.convert(semantics(), llvm::APFloat::rmNearestTiesToEven, &lost);
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
  words[in.result] = put(value.convertToFloat());
}

/// The instance for a scalar type.
template <auto F> Run realFunction(Type type) {
  return type.isF64() ? unary<double, F> : unary<float, F>;
}
template <auto F> Run reals(Type type) {
  return type.isF64() ? binary<double, F> : binary<float, F>;
}
template <auto F> Run integers(Type type) {
  return type.isInteger(32) ? binary<int32_t, F> : binary<int64_t, F>;
}

template <auto F> Run bits(Type type) {
  return type.isInteger(1) ? binary<bool, F> : integers<F>(type);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

constexpr auto wrapAdd = []<class T>(T x, T y) -> T {
  T z;
  __builtin_add_overflow(x, y, &z);
  return z;
};
constexpr auto wrapSub = []<class T>(T x, T y) -> T {
  T z;
  __builtin_sub_overflow(x, y, &z);
  return z;
};
constexpr auto wrapMul = []<class T>(T x, T y) -> T {
  T z;
  __builtin_mul_overflow(x, y, &z);
  return z;
};
// The device's quotient by 0 has all bits set; the smallest integer by -1 is itself.
constexpr auto quotient = []<class T>(T x, T y) -> T {
  return y == 0 ? T(-1) : y == -1 ? wrapSub(T(0), x) : x / y;
};
constexpr auto remainder = []<class T>(T x, T y) -> T { return y == 0 || y == -1 ? T(0) : x % y; };
constexpr auto wholeQuotient = []<class T>(T x, T y) -> T {
  using U = std::make_unsigned_t<T>;
  return y == 0 ? T(-1) : T(U(x) / U(y));
};
constexpr auto wholeRemainder = []<class T>(T x, T y) -> T {
  using U = std::make_unsigned_t<T>;
  return y == 0 ? T(0) : T(U(x) % U(y));
};
constexpr auto floorQuotient = []<class T>(T x, T y) -> T {
  T q = quotient(x, y);
  return wrapMul(q, y) != x && (x < 0) != (y < 0) ? q - 1 : q;
};
constexpr auto floorModulus = []<class T>(T x, T y) -> T {
  T rest = remainder(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
};
constexpr auto larger = [](auto x, auto y) { return x > y ? x : y; };
constexpr auto smaller = [](auto x, auto y) { return x < y ? x : y; };
constexpr auto maximum = [](auto x, auto y) { return x > y || x != x ? x : y; };
constexpr auto minimum = [](auto x, auto y) { return x < y || x != x ? x : y; };
/// -inf stays -inf whatever is taken from it.
constexpr auto minus = []<class T>(T x, T y) -> T { return x == -T(INFINITY) ? x : x - y; };

/// Of an f32 as an i32, or the other way round.
template <class From, class To> void bitcast(const Instruction &in, Word *words) {
  words[in.result] = put(std::bit_cast<To>(get<From>(words[in.a])));
}

void select(const Instruction &in, Word *words) {
  words[in.result] = words[in.a].i ? words[in.b] : words[in.c];
}

void randomNumber(const Instruction &in, Word *words) {
  words[in.result] =
      put(attn::uniform(words[in.a].i, words[in.b].i, words[in.c].i, words[in.d].i, words[in.e].i));
}

void compareIntegers(const Instruction &in, Word *words) {
  words[in.result].i =
      orders(static_cast<arith::CmpIPredicate>(in.predicate), words[in.a].i, words[in.b].i);
}

template <class T> void compareReals(const Instruction &in, Word *words) {
  words[in.result].i = orders(static_cast<arith::CmpFPredicate>(in.predicate), get<T>(words[in.a]),
                              get<T>(words[in.b]));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

template <class From> Run convertTo(Type to) {
  if constexpr (std::is_floating_point_v<From>) {
    if (to.isF16())
      return narrow<From, llvm::APFloat::IEEEhalf>;
    if (to.isBF16())
      return narrow<From, llvm::APFloat::BFloat>;
  }
  if (to.isF32())
    return convert<From, float>;
  if (to.isF64())
    return convert<From, double>;
  if (to.isInteger(1))
    return convert<From, bool>;
  return to.isInteger(32) ? convert<From, int32_t> : convert<From, int64_t>;
}
Run conversion(Type from, Type to) {
  if (from.isF32() || from.isF16() || from.isBF16())
    return convertTo<float>(to);
  if (from.isF64())
    return convertTo<double>(to);
  if (from.isInteger(1))
    return convertTo<bool>(to);
  return from.isInteger(32) ? convertTo<int32_t>(to) : convertTo<int64_t>(to);
}

// An extension of i1 that is signed gives -1 for true.
void spreadBit(const Instruction &in, Word *words) { words[in.result].i = -words[in.a].i; }

Run arithRun(Operation *op, Type type) {
  return TypeSwitch<Operation *, Run>(op)
      .Case([&](arith::AddFOp) { return reals<[](auto x, auto y) { return x + y; }>(type); })
      .Case([&](arith::SubFOp) { return reals<[](auto x, auto y) { return x - y; }>(type); })
      .Case([&](arith::MulFOp) { return reals<[](auto x, auto y) { return x * y; }>(type); })
      .Case([&](arith::DivFOp) { return reals<[](auto x, auto y) { return x / y; }>(type); })
      .Case([&](arith::RemFOp) {
        return reals<[](auto x, auto y) { return std::fmod(x, y); }>(type);
      })
      .Case([&](arith::MaximumFOp) { return reals<maximum>(type); })
      .Case([&](arith::MinimumFOp) { return reals<minimum>(type); })
      .Case([&](arith::NegFOp) { return realFunction<[](auto x) { return -x; }>(type); })
      .Case([&](arith::AddIOp) { return integers<wrapAdd>(type); })
      .Case([&](arith::SubIOp) { return integers<wrapSub>(type); })
      .Case([&](arith::MulIOp) { return integers<wrapMul>(type); })
      .Case([&](arith::DivSIOp) { return integers<quotient>(type); })
      .Case([&](arith::RemSIOp) { return integers<remainder>(type); })
      .Case([&](arith::DivUIOp) { return integers<wholeQuotient>(type); })
      .Case([&](arith::RemUIOp) { return integers<wholeRemainder>(type); })
      .Case([&](arith::FloorDivSIOp) { return integers<floorQuotient>(type); })
      .Case([&](arith::MaxSIOp) { return integers<larger>(type); })
      .Case([&](arith::MinSIOp) { return integers<smaller>(type); })
      .Case([&](arith::AndIOp) { return bits<[](auto x, auto y) { return x & y; }>(type); })
      .Case([&](arith::OrIOp) { return bits<[](auto x, auto y) { return x | y; }>(type); })
      .Case([&](arith::ShRSIOp) { return bits<[](auto x, auto y) { return x >> y; }>(type); })
      .Case([&](arith::XOrIOp) { return bits<[](auto x, auto y) { return x ^ y; }>(type); })
      .Case([&](arith::CmpIOp) -> Run { return compareIntegers; })
      .Case([&](arith::CmpFOp cmp) -> Run {
        return cmp.getLhs().getType().isF64() ? compareReals<double> : compareReals<float>;
      })
      .Case([&](arith::SelectOp) -> Run { return select; })
      .Case([&](arith::ExtSIOp extend) -> Run {
        Type from = extend.getIn().getType();
        return from.isInteger(1) ? spreadBit : conversion(from, type);
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtUIOp, arith::TruncIOp,
            arith::ExtFOp, arith::TruncFOp>(
          [&](auto op) { return conversion(op.getIn().getType(), type); })
      .Case([&](arith::BitcastOp) -> Run {
        return type.isF32() ? bitcast<int32_t, float> : bitcast<float, int32_t>;
      })
      .Default([](Operation *) -> Run { return nullptr; });
}

Run mathRun(Operation *op, Type type) {
  return TypeSwitch<Operation *, Run>(op)
      .Case([&](math::ExpOp) { return realFunction<[](auto x) { return std::exp(x); }>(type); })
      .Case([&](math::Exp2Op) { return realFunction<[](auto x) { return std::exp2(x); }>(type); })
      .Case([&](math::LogOp) { return realFunction<[](auto x) { return std::log(x); }>(type); })
      .Case([&](math::Log2Op) { return realFunction<[](auto x) { return std::log2(x); }>(type); })
      .Case([&](math::TanhOp) { return realFunction<[](auto x) { return std::tanh(x); }>(type); })
      .Case([&](math::ErfOp) { return realFunction<[](auto x) { return std::erf(x); }>(type); })
      .Case([&](math::SqrtOp) { return realFunction<[](auto x) { return std::sqrt(x); }>(type); })
      .Case([&](math::RsqrtOp) {
        return realFunction<[](auto x) { return 1 / std::sqrt(x); }>(type);
      })
      .Case([&](math::ExpM1Op) { return realFunction<[](auto x) { return std::expm1(x); }>(type); })
      .Case([&](math::Log1pOp) { return realFunction<[](auto x) { return std::log1p(x); }>(type); })
      .Case([&](math::SinOp) { return realFunction<[](auto x) { return std::sin(x); }>(type); })
      .Case([&](math::CosOp) { return realFunction<[](auto x) { return std::cos(x); }>(type); })
      .Case([&](math::AbsFOp) { return realFunction<[](auto x) { return std::fabs(x); }>(type); })
      .Case([&](math::FloorOp) { return realFunction<[](auto x) { return std::floor(x); }>(type); })
      .Case([&](math::CeilOp) { return realFunction<[](auto x) { return std::ceil(x); }>(type); })
      .Case([&](math::RoundEvenOp) {
        return realFunction<[](auto x) { return std::nearbyint(x); }>(type);
      })
      .Case([&](math::RoundOp) { return realFunction<[](auto x) { return std::round(x); }>(type); })
      .Case([&](math::TruncOp) { return realFunction<[](auto x) { return std::trunc(x); }>(type); })
      .Case(
          [&](math::PowFOp) { return reals<[](auto x, auto y) { return std::pow(x, y); }>(type); })
      .Case([&](math::FmaOp) -> Run {
        constexpr auto fma = [](auto x, auto y, auto z) { return std::fma(x, y, z); };
        return type.isF64() ? ternary<double, fma> : ternary<float, fma>;
      })
      .Case([&](math::AbsIOp) -> Run {
        constexpr auto magnitude = []<class T>(T x) -> T { return x < 0 ? wrapSub(T(0), x) : x; };
        return type.isInteger(32) ? unary<int32_t, magnitude> : unary<int64_t, magnitude>;
      })
      .Default([](Operation *) -> Run { return nullptr; });
}

} // namespace

std::optional<Instruction> scalarInstruction(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  Type type = op->getResult(0).getType();
  Instruction instruction;
  instruction.kind = Instruction::Kind::Scalar;
  instruction.op = op;
  if (isa<attn::SubOp>(op))
    instruction.run = reals<minus>(type);
  else if (isa<attn::ModOp>(op))
    instruction.run = integers<floorModulus>(type);
  else if (isa<attn::RandOp>(op))
    instruction.run = randomNumber;
  else if (isa<arith::ArithDialect>(op->getDialect()))
    instruction.run = arithRun(op, type);
  else if (isa<math::MathDialect>(op->getDialect()))
    instruction.run = mathRun(op, type);
  if (!instruction.run)
    return std::nullopt;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = static_cast<int64_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.predicate = static_cast<int64_t>(compare.getPredicate());
  return instruction;
}

unsigned runScalars(const KernelCode &code, unsigned pc, Word *words) {
  const Instruction *instructions = code.instructions.data();
  for (;;) {
    const Instruction &in = instructions[pc];
    switch (in.kind) {
    case Instruction::Kind::Scalar:
      in.run(in, words);
      ++pc;
      break;
    case Instruction::Kind::Jump:
      pc = in.target;
      break;
    case Instruction::Kind::JumpUnless:
      pc = words[in.a].i ? pc + 1 : in.target;
      break;
    default:
      return pc;
    }
  }
}

} // namespace attnc::interpreter
