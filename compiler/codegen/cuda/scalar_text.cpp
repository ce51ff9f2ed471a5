#include "compiler/codegen/cuda/scalar_text.h"
#include "dialects/Attn/Attn.h"
#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc::cuda {

std::string typeText(Type type) { return tile::elementType(type).cuda.str(); }

// The shortest decimal that reads back as the value.
static std::string shortest(double value, bool single) {
  for (int digits = 1; digits <= 17; ++digits) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    double back = single ? std::strtof(text.c_str(), nullptr) : std::strtod(text.c_str(), nullptr);
    if (back == value) {
      if (text.find_first_of(".e") == std::string::npos)
        text += ".0";
      return text + (single ? "f" : "");
    }
  }
  llvm_unreachable("17 digits tell any two doubles apart");
}

static Text realLiteral(APFloat value, bool single) {
  if (value.isNaN())
    return {"__uint_as_float(0x7fc00000u)"};
  Binding binding = value.isNegative() ? Binding::Unary : Binding::Primary;
  if (value.isInfinity())
    return {value.isNegative() ? "-kInfinity" : "kInfinity", binding};
  bool lost = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return {shortest(value.convertToDouble(), single), binding};
}

Text literal(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return realLiteral(real.getValue(), !real.getType().isF64());
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return {integer.getValue().isZero() ? "false" : "true"};
  int64_t number = integer.getInt();
  if (number == std::numeric_limits<int64_t>::min())
    return {"(-9223372036854775807LL - 1)"};
  std::string text = std::to_string(number);
  if (number != static_cast<int32_t>(number))
    text += "LL";
  return {text, number < 0 ? Binding::Unary : Binding::Primary};
}

static Text infix(StringRef symbol, Binding binding, ArrayRef<Text> x) {
  // Left to right, so the right operand must bind more tightly.
  auto tighter = static_cast<Binding>(static_cast<int>(binding) - 1);
  return {x[0].within(binding) + " " + symbol.str() + " " + x[1].within(tighter), binding};
}

static Text call(StringRef function, ArrayRef<Text> x) {
  std::string text = function.str() + "(";
  for (auto [i, operand] : llvm::enumerate(x))
    text += (i ? ", " : "") + operand.text;
  return {text + ")"};
}

// The type is spelled out because literals are ints.
static Text integerCall(StringRef function, Operation *op, ArrayRef<Text> x) {
  return call(function.str() + "<" + typeText(op->getResult(0).getType()) + ">", x);
}

static Text convert(Type from, Type type, ArrayRef<Text> x) {
  auto isNarrow = [](Type t) { return tile::elementType(t).isNarrow; };
  if (isNarrow(from)) {
    Text single = call("toF32", x);
    return type.isF32() ? single : call(typeText(type), single);
  }
  if (!isNarrow(type))
    return call(typeText(type), x);
  return call("fromF32<" + typeText(type) + ">", from.isF32() ? x[0] : call("f32", x));
}

// Division of numbers that are not negative is faster without a sign.
static Text unsignedInfix(StringRef symbol, Type type, ArrayRef<Text> x) {
  std::string casted = type.isInteger(32) ? "u32" : "u64";
  Text operands[] = {call(casted, x[0]), call(casted, x[1])};
  return call(typeText(type), infix(symbol, Binding::Multiply, operands));
}

// Of bits of integers; always in brackets, since few know how tightly these operators bind.
static Text bitwise(StringRef symbol, ArrayRef<Text> x) {
  return {"(" + x[0].within(Binding::Unary) + " " + symbol.str() + " " +
          x[1].within(Binding::Unary) + ")"};
}

// A negative constant is subtracted.
static Text addIntegers(arith::AddIOp op, ArrayRef<Text> x) {
  auto constant = op.getRhs().getDefiningOp<arith::ConstantOp>();
  StringRef number = x[1].text;
  if (!constant || !number.consume_front("-"))
    return infix("+", Binding::Add, x);
  return infix("-", Binding::Add, {x[0], Text{number.str()}});
}

static Text compareIntegers(arith::CmpIOp op, ArrayRef<Text> x) {
  using P = arith::CmpIPredicate;
  switch (op.getPredicate()) {
  case P::eq:
    return infix("==", Binding::Equal, x);
  case P::ne:
    return infix("!=", Binding::Equal, x);
  case P::slt:
    return infix("<", Binding::Compare, x);
  case P::sle:
    return infix("<=", Binding::Compare, x);
  case P::sgt:
    return infix(">", Binding::Compare, x);
  case P::sge:
    return infix(">=", Binding::Compare, x);
  default:
    break;
  }
  std::string type = op.getLhs().getType().isInteger(32) ? "u32" : "u64";
  Text casted[] = {call(type, x[0]), call(type, x[1])};
  StringRef symbol = op.getPredicate() == P::ult   ? "<"
                     : op.getPredicate() == P::ule ? "<="
                     : op.getPredicate() == P::ugt ? ">"
                                                   : ">=";
  return infix(symbol, Binding::Compare, casted);
}

// An unordered predicate is the negation of the opposite ordered one.
static Text compareReals(arith::CmpFPredicate predicate, ArrayRef<Text> x) {
  using P = arith::CmpFPredicate;
  auto negated = [&](P opposite) -> Text {
    return {"!(" + compareReals(opposite, x).text + ")", Binding::Unary};
  };
  switch (predicate) {
  case P::OEQ:
    return infix("==", Binding::Equal, x);
  case P::UNE:
    return infix("!=", Binding::Equal, x);
  case P::OLT:
    return infix("<", Binding::Compare, x);
  case P::OLE:
    return infix("<=", Binding::Compare, x);
  case P::OGT:
    return infix(">", Binding::Compare, x);
  case P::OGE:
    return infix(">=", Binding::Compare, x);
  case P::ULT:
    return negated(P::OGE);
  case P::ULE:
    return negated(P::OGT);
  case P::UGT:
    return negated(P::OLE);
  case P::UGE:
    return negated(P::OLT);
  case P::UEQ:
    return negated(P::ONE);
  case P::ONE: {
    Text sides[] = {infix("<", Binding::Compare, x), infix(">", Binding::Compare, x)};
    return infix("||", Binding::Or, sides);
  }
  case P::UNO: {
    Text sides[] = {infix("!=", Binding::Equal, {x[0], x[0]}),
                    infix("!=", Binding::Equal, {x[1], x[1]})};
    return infix("||", Binding::Or, sides);
  }
  case P::ORD:
    return negated(P::UNO);
  case P::AlwaysTrue:
    return {"true"};
  case P::AlwaysFalse:
    return {"false"};
  }
  llvm_unreachable("all predicates are handled");
}

static bool isTrueConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto attr = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  return attr && attr.getType().isInteger(1) && !attr.getValue().isZero();
}

/// No sum takes it in, as a fused multiply-add would.
static Text exactProduct(Type type, ArrayRef<Text> x) {
  return call(type.isF64() ? "__dmul_rn" : "__fmul_rn", x);
}

// 1 / x of an element: marked by the clean-up of kernels.
static bool isReciprocal(arith::DivFOp division) {
  return division.getType().isF32() && matchPattern(division.getLhs(), m_OneFloat()) &&
         arith::bitEnumContainsAll(division.getFastmath(), arith::FastMathFlags::arcp);
}

static FailureOr<Text> arithText(Operation *op, ArrayRef<Text> x) {
  bool logical = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  return TypeSwitch<Operation *, FailureOr<Text>>(op)
      .Case([&](arith::AddFOp) { return infix("+", Binding::Add, x); })
      .Case([&](arith::AddIOp add) { return addIntegers(add, x); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return infix("-", Binding::Add, x); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) {
        return op->hasAttr(attn::kExactAttr) ? exactProduct(op->getResult(0).getType(), x)
                                             : infix("*", Binding::Multiply, x);
      })
      .Case([&](arith::DivFOp division) {
        if (!isReciprocal(division))
          return infix("/", Binding::Multiply, x);
        bool isOfNormal =
            arith::bitEnumContainsAll(division.getFastmath(), arith::FastMathFlags::afn);
        return call(isOfNormal ? "normalReciprocal" : "reciprocal", x[1]);
      })
      .Case([&](arith::DivSIOp) { return infix("/", Binding::Multiply, x); })
      .Case([&](arith::RemSIOp) { return infix("%", Binding::Multiply, x); })
      .Case([&](arith::DivUIOp) { return unsignedInfix("/", op->getResult(0).getType(), x); })
      .Case([&](arith::RemUIOp) { return unsignedInfix("%", op->getResult(0).getType(), x); })
      .Case([&](arith::RemFOp) { return call("fmodf", x); })
      .Case(
          [&](arith::NegFOp) { return Text{"-" + x[0].within(Binding::Primary), Binding::Unary}; })
      .Case([&](arith::FloorDivSIOp) { return integerCall("floorDivide", op, x); })
      .Case([&](arith::MaxSIOp) { return integerCall("max", op, x); })
      .Case([&](arith::MinSIOp) { return integerCall("min", op, x); })
      .Case([&](arith::MaximumFOp) { return call("max", x); })
      .Case([&](arith::MinimumFOp) { return call("min", x); })
      .Case([&](arith::AndIOp) -> FailureOr<Text> {
        return logical ? infix("&&", Binding::And, x) : bitwise("&", x);
      })
      .Case([&](arith::OrIOp) -> FailureOr<Text> {
        return logical ? infix("||", Binding::Or, x) : bitwise("|", x);
      })
      .Case([&](arith::ShRSIOp) { return bitwise(">>", x); })
      .Case([&](arith::XOrIOp xor_) -> FailureOr<Text> {
        if (isTrueConstant(xor_.getRhs()))
          return Text{"!" + x[0].within(Binding::Unary), Binding::Unary};
        return logical ? infix("!=", Binding::Equal, x) : FailureOr<Text>();
      })
      .Case([&](arith::CmpIOp cmp) { return compareIntegers(cmp, x); })
      .Case([&](arith::CmpFOp cmp) { return compareReals(cmp.getPredicate(), x); })
      .Case([&](arith::SelectOp) {
        return Text{x[0].within(Binding::Or) + " ? " + x[1].within(Binding::Or) + " : " +
                        x[2].within(Binding::Conditional),
                    Binding::Conditional};
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::ExtUIOp,
            arith::TruncIOp, arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return convert(op->getOperand(0).getType(), op->getResult(0).getType(), x); })
      .Case([&](arith::BitcastOp cast) {
        return call(cast.getType().isF32() ? "__int_as_float" : "__float_as_int", x);
      })
      .Default([&](Operation *) -> FailureOr<Text> { return failure(); });
}

// `fast` functions of the device headers serve where the op allows approximation; others are
// CUDA's.
static FailureOr<Text> mathText(Operation *op, ArrayRef<Text> x) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  bool fast =
      flags && flags.getFastMathFlagsAttr() &&
      arith::bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
  bool wide = op->getResult(0).getType().isF64();
  auto exact = [&](StringRef name) { return call(wide ? "::" + name.str() : name.str() + "f", x); };
  auto either = [&](StringRef name) { return fast ? call(name, x) : exact(name); };
  return TypeSwitch<Operation *, FailureOr<Text>>(op)
      .Case([&](math::ExpOp) { return either("exp"); })
      .Case([&](math::Exp2Op) { return either("exp2"); })
      .Case([&](math::LogOp) { return either("log"); })
      .Case([&](math::Log2Op) { return either("log2"); })
      .Case([&](math::TanhOp) { return either("tanh"); })
      .Case([&](math::ErfOp) { return exact("erf"); })
      .Case([&](math::SqrtOp) { return exact("sqrt"); })
      .Case([&](math::RsqrtOp) { return exact("rsqrt"); })
      .Case([&](math::ExpM1Op) { return exact("expm1"); })
      .Case([&](math::Log1pOp) { return exact("log1p"); })
      .Case([&](math::SinOp) { return exact("sin"); })
      .Case([&](math::CosOp) { return exact("cos"); })
      .Case([&](math::AbsFOp) { return exact("fabs"); })
      .Case([&](math::FloorOp) { return exact("floor"); })
      .Case([&](math::CeilOp) { return exact("ceil"); })
      .Case([&](math::RoundEvenOp) { return exact("rint"); })
      .Case([&](math::RoundOp) { return exact("round"); })
      .Case([&](math::TruncOp) { return exact("trunc"); })
      .Case([&](math::PowFOp) { return exact("pow"); })
      .Case([&](math::FmaOp) { return exact("fma"); })
      .Case([&](math::AbsIOp) { return integerCall("magnitude", op, x); })
      .Default([&](Operation *) -> FailureOr<Text> { return failure(); });
}

FailureOr<Text> scalarText(Operation *op, ArrayRef<Text> x) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return literal(constant.getValue());
  FailureOr<Text> text = failure();
  if (isa<arith::ArithDialect>(op->getDialect()))
    text = arithText(op, x);
  else if (isa<math::MathDialect>(op->getDialect()))
    text = mathText(op, x);
  else if (isa<attn::SubOp>(op))
    text = op->hasAttr(attn::kPlainAttr)      ? infix("-", Binding::Add, x)
           : op->hasAttr(attn::kExponentAttr) ? call("exponent", x)
                                              : call("minus", x);
  else if (isa<attn::ModOp>(op))
    text = integerCall("floorModulus", op, x);
  else if (isa<attn::RandOp>(op))
    text = call("uniform", x);
  if (failed(text))
    op->emitOpError("cannot be written in CUDA C++");
  return text;
}

} // namespace attnc::cuda
