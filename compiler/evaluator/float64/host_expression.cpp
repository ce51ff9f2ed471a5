// Scalars of a program that the host evaluates when shapes are bound.
#include "compiler/evaluator/float64/host_expression.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc {
namespace {

// The operation of a scalar op whose operands carry over one by one, or nothing.
std::optional<ExprOp> plainOperation(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<ExprOp>>(op)
      .Case<arith::AddIOp, arith::AddFOp>([](auto) { return ExprOp::Add; })
      .Case<arith::SubIOp, arith::SubFOp, attn::SubOp>([](auto) { return ExprOp::Sub; })
      .Case<arith::MulIOp, arith::MulFOp>([](auto) { return ExprOp::Mul; })
      .Case<arith::FloorDivSIOp>([](auto) { return ExprOp::FloorDiv; })
      .Case<attn::ModOp>([](auto) { return ExprOp::Mod; })
      .Case<arith::DivFOp>([](auto) { return ExprOp::Div; })
      .Case<arith::MaxSIOp, arith::MaximumFOp>([](auto) { return ExprOp::Max; })
      .Case<arith::MinSIOp, arith::MinimumFOp>([](auto) { return ExprOp::Min; })
      .Case<arith::NegFOp>([](auto) { return ExprOp::Neg; })
      .Case<math::SqrtOp>([](auto) { return ExprOp::Sqrt; })
      .Case<math::RsqrtOp>([](auto) { return ExprOp::Rsqrt; })
      .Case<math::ExpOp>([](auto) { return ExprOp::Exp; })
      .Case<math::LogOp>([](auto) { return ExprOp::Log; })
      .Case<math::PowFOp>([](auto) { return ExprOp::Pow; })
      .Case<arith::AndIOp>([](auto) { return ExprOp::And; })
      .Case<arith::OrIOp>([](auto) { return ExprOp::Or; })
      .Case<arith::SelectOp>([](auto) { return ExprOp::Select; })
      .Default([](auto) { return std::nullopt; });
}

std::optional<ExprOp> comparison(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return ExprOp::Eq;
    case arith::CmpIPredicate::ne:
      return ExprOp::Ne;
    case arith::CmpIPredicate::slt:
      return ExprOp::Lt;
    case arith::CmpIPredicate::sle:
      return ExprOp::Le;
    case arith::CmpIPredicate::sgt:
      return ExprOp::Gt;
    case arith::CmpIPredicate::sge:
      return ExprOp::Ge;
    default:
      return std::nullopt;
    }
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpFPredicate::OEQ:
      return ExprOp::Eq;
    case arith::CmpFPredicate::UNE:
    case arith::CmpFPredicate::ONE:
      return ExprOp::Ne;
    case arith::CmpFPredicate::OLT:
      return ExprOp::Lt;
    case arith::CmpFPredicate::OLE:
      return ExprOp::Le;
    case arith::CmpFPredicate::OGT:
      return ExprOp::Gt;
    case arith::CmpFPredicate::OGE:
      return ExprOp::Ge;
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Error unsupported(Operation *op) {
  std::string place = attn::specPlace(op->getLoc());
  return invalidArgument(
      (place.empty() ? "" : place + ": ") + "'" + op->getName().stripDialect().str() +
          "' cannot be evaluated when shapes are bound",
      "use sizes, lets, params and arithmetic in lets, defaults and requirements");
}

// An expression is a tree: what is shared is written at each use, which can be any number of times.
constexpr unsigned kMostOperations = 1 << 16;

Error tooLong(Operation *op) {
  std::string place = attn::specPlace(op->getLoc());
  return invalidArgument((place.empty() ? "" : place + ": ") + "more than " +
                             std::to_string(kMostOperations) +
                             " operations, each counted wherever its result is used",
                         "use fewer lets that use one let more than once");
}

Result<Expr> ofArray(Value scalar, unsigned &left);

Result<Expr> ofConstant(arith::ConstantOp constant) {
  if (auto literal = dyn_cast<FloatAttr>(constant.getValue()))
    return Expr::constant(literal.getValueAsDouble());
  auto literal = cast<IntegerAttr>(constant.getValue());
  return Expr::constant(literal.getType().isInteger(1) ? std::int64_t(literal.getValue().isOne())
                                                       : literal.getInt());
}

Result<Expr> ofScalar(attn::MapOp map, Value scalar, unsigned &left) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return ofArray(map.getOperand(argument.getArgNumber()), left);
  Operation *op = scalar.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return ofConstant(constant);
  if (isa<arith::SIToFPOp>(op)) // integers and reals mix freely on the host
    return ofScalar(map, op->getOperand(0), left);
  if (left == 0)
    return tooLong(op);
  --left;
  std::vector<Expr> operands;
  for (Value operand : op->getOperands()) {
    Result<Expr> e = ofScalar(map, operand, left);
    if (!e)
      return e.error();
    operands.push_back(std::move(*e));
  }
  if (isa<arith::XOrIOp>(op) && scalar.getType().isInteger(1))
    return Expr::apply(ExprOp::Ne, std::move(operands));
  std::optional<ExprOp> operation = plainOperation(op);
  if (!operation)
    operation = comparison(op);
  if (!operation)
    return unsupported(op);
  return Expr::apply(*operation, std::move(operands));
}

Result<Expr> ofArray(Value scalar, unsigned &left) {
  Operation *op = scalar.getDefiningOp();
  if (auto map = dyn_cast<attn::MapOp>(op))
    return ofScalar(map, map.getYielded(), left);
  if (auto param = dyn_cast<attn::ParamOp>(op))
    return Expr::param(param.getName().str());
  if (auto size = dyn_cast<attn::SizeOp>(op)) {
    attn::DimAttr dim = attn::programOf(op).lookupDim(size.getDimAttr());
    return dim.isStatic() ? Expr::constant(dim.getExtent()) : Expr::size(size.getDim().str());
  }
  return unsupported(op);
}

} // namespace

Result<Expr> hostExpression(Value scalar) {
  unsigned left = kMostOperations;
  return ofArray(scalar, left);
}

} // namespace attnc
