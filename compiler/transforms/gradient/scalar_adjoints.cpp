#include "compiler/transforms/gradient/scalar_adjoints.h"
#include "dialects/Attn/Derivatives.h"
#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// The reverse sweep through the ops of a region, behind them.
class ScalarSweep {
public:
  ScalarSweep(ImplicitLocOpBuilder &b, Value source, Value yielded, Value gradient)
      : b(b), source(source) {
    gradients[yielded] = gradient;
  }

  /// The gradient of the source, null if it is 0.
  Result<Value> run(ArrayRef<Operation *> ops) {
    findActive(ops);
    for (Operation *op : llvm::reverse(ops))
      if (Value gradient = gradients.lookup(op->getResult(0)); gradient && isActive(op))
        if (Status status = pass(op, gradient); !status)
          return status.error();
    return gradients.lookup(source);
  }

private:
  // What depends on the source through real numbers.
  void findActive(ArrayRef<Operation *> ops) {
    active.insert(source);
    for (Operation *op : ops)
      if (isa<FloatType>(op->getResult(0).getType()) &&
          llvm::any_of(op->getOperands(), [&](Value x) { return active.contains(x); }))
        active.insert(op->getResult(0));
  }
  bool isActive(Operation *op) { return active.contains(op->getResult(0)); }

  Status pass(Operation *op, Value gradient) {
    if (Value z = exponentOfOnePlus(op); z && active.contains(z)) {
      Value share = b.createOrFold<arith::MulFOp>(shareOfOnePlus(op, gradient), sigmoid(z));
      add(z, share);
      if (isa<arith::DivFOp>(op) && active.contains(op->getOperand(0)))
        add(op->getOperand(0), *cast<ScalarProperties>(op).buildDerivative(b, 0, gradient));
      return {};
    }
    auto properties = dyn_cast<ScalarProperties>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!active.contains(operand.get()))
        continue;
      Derivative derivative =
          properties ? properties.buildDerivative(b, operand.getOperandNumber(), gradient)
                     : Derivative();
      if (!derivative)
        return noDerivative(op);
      if (Value share = *derivative)
        add(operand.get(), share);
    }
    return {};
  }

  /// The z of x / (1 + exp z) and of log(1 + exp z), or null. Through the sum and the exponential
  /// their gradients would leave the range of numbers long before they vanish.
  static Value exponentOfOnePlus(Operation *op) {
    if (!isa<arith::DivFOp, math::LogOp>(op))
      return {};
    auto sum = op->getOperands().back().getDefiningOp<arith::AddFOp>();
    for (unsigned one : {0u, 1u})
      if (sum && matchPattern(sum->getOperand(one), m_OneFloat()))
        if (auto exponential = sum->getOperand(1 - one).getDefiningOp<math::ExpOp>())
          return exponential.getOperand();
    return {};
  }

  /// The derivative by z without its last factor, exp z / (1 + exp z).
  Value shareOfOnePlus(Operation *op, Value gradient) {
    return isa<math::LogOp>(op) ? gradient : negated(b, times(b, gradient, op->getResult(0)));
  }

  /// 1 / (1 + exp(-z))
  Value sigmoid(Value z) {
    auto turned = z.getDefiningOp<arith::NegFOp>();
    Value less = turned ? turned.getOperand() : negated(b, z);
    Value one = arith::ConstantOp::create(b, b.getFloatAttr(z.getType(), 1));
    Value sum = arith::AddFOp::create(b, one, math::ExpOp::create(b, less));
    return arith::DivFOp::create(b, one, sum);
  }

  void add(Value value, Value share) {
    Value &sum = gradients[value];
    sum = sum ? Value(arith::AddFOp::create(b, sum, share)) : share;
  }

  static Error noDerivative(Operation *op) {
    std::string place = specPlace(op->getLoc());
    return {ErrorKind::Spec,
            (place.empty() ? "" : place + ": ") + "'" + op->getName().getStringRef().str() +
                "' has no derivative, and a gradient has to pass through it",
            "ask for gradients of inputs that do not enter it, or write it with functions of "
            "docs/spec.md"};
  }

  ImplicitLocOpBuilder &b;
  Value source;
  llvm::DenseMap<Value, Value> gradients;
  llvm::DenseSet<Value> active;
};

/// The same map without what its result does not need: ops, and operands.
Value trimmed(MapOp map) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*map.getBodyBlock())))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(map.getNumOperands());
  for (BlockArgument scalar : map.getBodyBlock()->getArguments())
    if (scalar.use_empty())
      unused.set(scalar.getArgNumber());
  map.getBodyBlock()->eraseArguments(unused);
  map->eraseOperands(unused);
  Dims dims = unionDims(programOf(map), map.getOperands());
  map.getResult().setType(
      attn::ArrayType::get(map.getContext(), dims, map.getType().getElementType()));
  return map;
}

} // namespace

Result<Value> adjointOfOperand(ArrayBuilder &arrays, MapOp map, unsigned operand, Value gradient) {
  SmallVector<Value> operands = llvm::to_vector(map.getOperands());
  operands.push_back(gradient);
  Result<Value> adjoint = Value();
  Value result = arrays.map(
      operands, elementOf(map.getOperand(operand)),
      [&](ImplicitLocOpBuilder &b, ValueRange scalars) -> Value {
        IRMapping mapping;
        mapping.map(map.getBodyBlock()->getArguments(), scalars.drop_back());
        SmallVector<Operation *> ops;
        for (Operation &op : map.getBodyBlock()->without_terminator())
          ops.push_back(b.clone(op, mapping));
        ScalarSweep sweep(b, scalars[operand], mapping.lookup(map.getYielded()), scalars.back());
        adjoint = sweep.run(ops);
        if (adjoint && *adjoint)
          return *adjoint;
        return arith::ConstantOp::create(b, b.getFloatAttr(elementOf(map.getOperand(operand)), 0));
      });
  if (!adjoint || !*adjoint) {
    result.getDefiningOp()->erase();
    return adjoint;
  }
  return trimmed(cast<MapOp>(result.getDefiningOp()));
}

} // namespace attnc
