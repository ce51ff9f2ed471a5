#include "compiler/evaluator/tolerance/perturbation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// splitmix64 (Steele, Lea and Flood 2014), of a counter.
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

double signOf(uint64_t word) { return word >> 63 ? -1.0 : 1.0; }

/// Numbers that every implementation has alike.
class ExactNumbers {
public:
  bool array(Value value) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    return known[value] = computed(value);
  }

  bool scalar(attn::MapOp map, Value value) {
    if (!isa<FloatType>(value.getType()))
      return true; // where it came from a float, that was refused
    if (auto argument = dyn_cast<BlockArgument>(value))
      return array(map.getOperand(argument.getArgNumber()));
    Operation *op = value.getDefiningOp();
    if (isa<arith::NegFOp, math::AbsFOp, arith::ExtFOp, arith::MaximumFOp, arith::MinimumFOp,
            arith::SelectOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value x) { return scalar(map, x); });
    return isa<arith::ConstantOp>(op);
  }

private:
  bool computed(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto map = dyn_cast<attn::MapOp>(op))
      return scalar(map, map.getYielded());
    if (auto param = dyn_cast<attn::ParamOp>(op))
      return !param.getDefaultValue();
    if (isa<attn::ReadOp>(op))
      return llvm::all_of(op->getOperands(), [&](Value x) { return array(x); });
    return isa<attn::InputOp, attn::IndexOp, attn::SizeOp>(op) ||
           !isa<FloatType>(cast<attn::ArrayType>(value.getType()).getElementType());
  }

  llvm::DenseMap<Value, bool> known;
};

bool jumps(Operation &op) {
  if (isa<arith::TruncFOp>(op))
    return op.getResult(0).getType().isF16() || op.getResult(0).getType().isBF16();
  return isa<arith::CmpFOp, arith::FPToSIOp, arith::FPToUIOp, math::FloorOp, math::CeilOp,
             math::RoundOp, math::RoundEvenOp, math::TruncOp>(op);
}

} // namespace

void perturb(Tensor &array, Perturbation how, uint64_t number) {
  if (!array.error || array.kind != ElementKind::Real)
    return;
  uint64_t key = mixed(how.seed * 2 + how.coherent) ^ mixed(~number);
  std::vector<double> &value = array.storage->value, &error = array.storage->error;
  for (size_t i = 0; i < value.size(); ++i) {
    double sign = how.coherent ? signOf(mixed(key)) * (std::signbit(value[i]) ? -1.0 : 1.0)
                               : signOf(mixed(key + i));
    if (std::isfinite(error[i]))
      value[i] += sign * error[i];
    error[i] = 0;
  }
  dropZeroErrors(array);
}

bool isContinuous(attn::ProgramOp program) {
  ExactNumbers exact;
  WalkResult walked = program.getBody().walk([&](Operation *op) {
    auto map = dyn_cast<attn::MapOp>(op->getParentOp());
    if (!map || !jumps(*op))
      return WalkResult::advance();
    bool isExact = llvm::all_of(op->getOperands(), [&](Value x) { return exact.scalar(map, x); });
    return isExact ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walked.wasInterrupted();
}

} // namespace attnc::evaluator
