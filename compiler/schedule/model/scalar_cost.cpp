#include "compiler/schedule/model/scalar_cost.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::schedule {

ScalarCost scalarCost(Operation *op) {
  return llvm::TypeSwitch<Operation *, ScalarCost>(op)
      .Case<arith::ConstantOp>([](auto) { return ScalarCost{}; })
      .Case<math::Exp2Op, math::Log2Op, math::TanhOp, math::SqrtOp, math::RsqrtOp>(
          [](auto) { return ScalarCost{1, 0}; })
      .Case<math::ExpOp, math::LogOp, math::SinOp, math::CosOp, arith::DivFOp>(
          [](auto) { return ScalarCost{1, 1}; })
      .Case<math::PowFOp>([](auto) { return ScalarCost{2, 1}; })
      .Case<attn::RandOp>([](auto) { return ScalarCost{0, 21}; }) // a block of 84 for four
      .Case<math::ErfOp>([](auto) { return ScalarCost{1, 12}; })
      .Case<arith::SIToFPOp, arith::FPToSIOp>(
          [](auto) { return ScalarCost{0, 2}; }) // half the rate
      .Case<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
          [](auto) { return ScalarCost{1, 16}; })
      .Default([](auto) { return ScalarCost{0, 1}; });
}

} // namespace attnc::schedule
