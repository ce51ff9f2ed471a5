// Scalars become the ops of an attn.map.
#include "compiler/frontend/program/scalar.h"
#include "dialects/Attn/Derivatives.h"

using namespace mlir;

namespace attnc {

namespace {

class Emitter {
public:
  Emitter(OpBuilder &builder, const llvm::DenseMap<Value, Value> &elements,
          arith::FastMathFlags tanhFlags)
      : builder(builder), elements(elements), tanhFlags(tanhFlags) {}

  Value emit(const Scalar *s) {
    auto it = done.find(s);
    if (it != done.end())
      return it->second;
    Value value = s->kind == Scalar::Array      ? elements.lookup(s->array)
                  : s->kind == Scalar::Constant ? constant(s->loc, s->type, s->asReal(), s->integer)
                                                : operation(*s);
    done[s] = value;
    return value;
  }

private:
  Value constant(Location loc, ScalarType type, double real, int64_t integer) {
    Type t = mlirType(builder.getContext(), type);
    TypedAttr attr = isFloat(type) ? TypedAttr(builder.getFloatAttr(t, rounded(real, t)))
                                   : TypedAttr(builder.getIntegerAttr(t, integer));
    return arith::ConstantOp::create(builder, loc, attr);
  }

  static APFloat rounded(double real, Type type) {
    APFloat value(real);
    bool lost = false;
    value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return value;
  }

  template <typename Op> Value make(Location loc, ValueRange args) {
    return Op::create(builder, loc, args[0].getType(), args);
  }
  template <typename FloatOp, typename IntOp> Value either(Location loc, ValueRange args) {
    return isa<FloatType>(args[0].getType()) ? make<FloatOp>(loc, args) : make<IntOp>(loc, args);
  }

  Value compare(Location loc, arith::CmpFPredicate real, arith::CmpIPredicate integer,
                ArrayRef<Value> args) {
    if (isa<FloatType>(args[0].getType()))
      return arith::CmpFOp::create(builder, loc, real, args[0], args[1]);
    return arith::CmpIOp::create(builder, loc, integer, args[0], args[1]);
  }

  Value negate(Location loc, Value value) {
    if (isa<FloatType>(value.getType()))
      return arith::NegFOp::create(builder, loc, value);
    return arith::SubIOp::create(builder, loc, constant(loc, ScalarType::Int, 0, 0), value);
  }

  Value toFloat(Location loc, Type type, Value value) {
    Type from = value.getType();
    if (from.isInteger(1))
      return arith::UIToFPOp::create(builder, loc, type, value);
    if (isa<IntegerType>(from))
      return arith::SIToFPOp::create(builder, loc, type, value);
    return type.isF64() ? Value(arith::ExtFOp::create(builder, loc, type, value))
                        : Value(arith::TruncFOp::create(builder, loc, type, value));
  }

  Value toInt(Location loc, Value value) {
    // arith.fptosi is poison out of range: keep its operand inside, and NaN away from it.
    ScalarType type = scalarTypeOf(value.getType());
    auto real = [&](double v) { return constant(loc, type, v, 0); };
    Value high = real(type == ScalarType::F64 ? 0x1.fffffffffffffp62 : 0x1.fffffep62);
    Value low = real(-0x1p63);
    Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
    Value inside = arith::SelectOp::create(builder, loc, isNan, real(0), value);
    inside = arith::MinimumFOp::create(builder, loc, inside, high);
    inside = arith::MaximumFOp::create(builder, loc, inside, low);
    return arith::FPToSIOp::create(builder, loc, mlirType(builder.getContext(), ScalarType::Int),
                                   inside);
  }

  Value roundTo(Location loc, Type storage, Value value) {
    Value narrow = arith::TruncFOp::create(builder, loc, storage, value);
    return arith::ExtFOp::create(builder, loc, value.getType(), narrow);
  }

  Value withTie(const Scalar &s, Value extremum) {
    if (s.tie && isFloat(s.type))
      extremum.getDefiningOp()->setAttr(attn::kTieAttr, builder.getI64IntegerAttr(*s.tie));
    return extremum;
  }

  Value operation(const Scalar &s) {
    SmallVector<Value, 3> args;
    for (const Scalar *arg : s.args)
      args.push_back(emit(arg));
    Location loc = s.loc;
    using F = arith::CmpFPredicate;
    using I = arith::CmpIPredicate;
    switch (s.op) {
    case ScalarOp::Add:
      return either<arith::AddFOp, arith::AddIOp>(loc, args);
    case ScalarOp::Sub:
      return either<attn::SubOp, arith::SubIOp>(loc, args);
    case ScalarOp::Mul:
      return either<arith::MulFOp, arith::MulIOp>(loc, args);
    case ScalarOp::Div:
      return make<arith::DivFOp>(loc, args);
    case ScalarOp::FloorDiv:
      return make<arith::FloorDivSIOp>(loc, args);
    case ScalarOp::Mod:
      return make<attn::ModOp>(loc, args);
    case ScalarOp::Pow:
      return make<math::PowFOp>(loc, args);
    case ScalarOp::Neg:
      return negate(loc, args[0]);
    case ScalarOp::Min:
      return withTie(s, either<arith::MinimumFOp, arith::MinSIOp>(loc, args));
    case ScalarOp::Max:
      return withTie(s, either<arith::MaximumFOp, arith::MaxSIOp>(loc, args));
    case ScalarOp::Abs:
      return either<math::AbsFOp, math::AbsIOp>(loc, args);
    case ScalarOp::Lt:
      return compare(loc, F::OLT, I::slt, args);
    case ScalarOp::Le:
      return compare(loc, F::OLE, I::sle, args);
    case ScalarOp::Gt:
      return compare(loc, F::OGT, I::sgt, args);
    case ScalarOp::Ge:
      return compare(loc, F::OGE, I::sge, args);
    case ScalarOp::Eq:
      return compare(loc, F::OEQ, I::eq, args);
    case ScalarOp::Ne:
      return compare(loc, F::UNE, I::ne, args);
    case ScalarOp::And:
      return make<arith::AndIOp>(loc, args);
    case ScalarOp::Or:
      return make<arith::OrIOp>(loc, args);
    case ScalarOp::Not:
      args.push_back(constant(loc, ScalarType::Bool, 0, 1));
      return make<arith::XOrIOp>(loc, args);
    case ScalarOp::Where:
      return arith::SelectOp::create(builder, loc, args[0], args[1], args[2]);
    case ScalarOp::Exp:
      return make<math::ExpOp>(loc, args);
    case ScalarOp::Exp2:
      return make<math::Exp2Op>(loc, args);
    case ScalarOp::Log:
      return make<math::LogOp>(loc, args);
    case ScalarOp::Log2:
      return make<math::Log2Op>(loc, args);
    case ScalarOp::Sqrt:
      return make<math::SqrtOp>(loc, args);
    case ScalarOp::Rsqrt:
      return make<math::RsqrtOp>(loc, args);
    case ScalarOp::Tanh:
      return math::TanhOp::create(builder, loc, args[0], tanhFlags);
    case ScalarOp::Erf:
      return make<math::ErfOp>(loc, args);
    case ScalarOp::Floor:
      return make<math::FloorOp>(loc, args);
    case ScalarOp::ToFloat:
      return toFloat(loc, mlirType(builder.getContext(), s.type), args[0]);
    case ScalarOp::ToInt:
      return toInt(loc, args[0]);
    case ScalarOp::RoundTo:
      return roundTo(loc, s.storage, args[0]);
    case ScalarOp::Rand:
      return attn::RandOp::create(builder, loc, args[0], args[1], args[2], args[3], args[4]);
    }
    return {};
  }

  OpBuilder &builder;
  const llvm::DenseMap<Value, Value> &elements;
  arith::FastMathFlags tanhFlags;
  llvm::DenseMap<const Scalar *, Value> done;
};

} // namespace

// Programs that read 16-bit floats round to 2^-9 or 2^-12 anyway: they may have tanh off by 2^-11.
static arith::FastMathFlags tanhFlags(attn::ProgramOp program) {
  bool narrow = llvm::any_of(program.getBodyBlock()->getOps<attn::InputOp>(), [](auto input) {
    Type element = input.getType().getElementType();
    return element.isF16() || element.isBF16();
  });
  return narrow ? arith::FastMathFlags::afn : arith::FastMathFlags::none;
}

Value emitMap(OpBuilder &builder, attn::ProgramOp program, Location loc, const Scalar *root) {
  if (root->kind == Scalar::Array)
    return root->array;
  SmallVector<Value> arrays = arraysOf(root);
  auto type = attn::ArrayType::get(builder.getContext(), attn::unionDims(program, arrays),
                                   mlirType(builder.getContext(), root->type));
  auto emit = [&](OpBuilder &inner, Location, ValueRange elements) {
    llvm::DenseMap<Value, Value> elementOf;
    for (auto [array, element] : llvm::zip_equal(arrays, elements))
      elementOf[array] = element;
    return Emitter(inner, elementOf, tanhFlags(program)).emit(root);
  };
  return attn::MapOp::create(builder, loc, type, arrays, emit);
}

} // namespace attnc
