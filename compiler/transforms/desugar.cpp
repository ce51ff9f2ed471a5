#include "compiler/transforms/desugar.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

// Names what a statement's sugar computes on the way: `p` gives `p_max` and `p_sum`.
Location derived(Location loc, StringRef suffix) {
  StringRef name = specName(loc);
  return renamed(loc, name.empty() ? suffix.drop_front() : (name + suffix).str());
}

Value floatConstant(OpBuilder &b, Location loc, Type type, double value) {
  return arith::ConstantOp::create(b, loc, FloatAttr::get(type, value));
}

struct Sugar {
  OpBuilder b;
  Location loc;
  ProgramOp program;
  Value operand;
  ArrayAttr dims;

  Type element() { return cast<attn::ArrayType>(operand.getType()).getElementType(); }

  attn::ArrayType typeOf(ValueRange arrays) {
    return attn::ArrayType::get(b.getContext(), unionDims(program, arrays), element());
  }

  Value reduce(ReduceKind kind, Value array, Location at) {
    auto type = cast<attn::ArrayType>(array.getType());
    SmallVector<StringAttr> kept;
    for (StringAttr dim : type.getDims())
      if (!llvm::is_contained(dims, dim))
        kept.push_back(dim);
    auto result = attn::ArrayType::get(b.getContext(), kept, type.getElementType());
    return ReduceOp::create(b, at, result, kind, dims, array);
  }

  Value map(Location at, ValueRange arrays,
            function_ref<Value(OpBuilder &, Location, ValueRange)> emit) {
    return MapOp::create(b, at, typeOf(arrays), arrays, emit);
  }

  Value max() { return reduce(ReduceKind::Max, operand, derived(loc, "_max")); }

  // exp(x - max): a row without keys has max = -inf and weights of 0.
  Value weights(Value max) {
    return map(derived(loc, "_exp"), {operand, max},
               [](OpBuilder &b, Location at, ValueRange x) -> Value {
                 Value shifted = SubOp::create(b, at, x[0], x[1]);
                 return math::ExpOp::create(b, at, shifted);
               });
  }

  Value sum(Value weights) { return reduce(ReduceKind::Add, weights, derived(loc, "_sum")); }

  Value softmax() {
    Value weight = weights(max());
    Value total = sum(weight);
    Value inverse =
        map(derived(loc, "_inv"), {total}, [](OpBuilder &b, Location at, ValueRange x) -> Value {
          Type type = x[0].getType();
          Value zero = floatConstant(b, at, type, 0.0);
          Value one = floatConstant(b, at, type, 1.0);
          Value empty = arith::CmpFOp::create(b, at, arith::CmpFPredicate::OEQ, x[0], zero);
          Value inverse = arith::DivFOp::create(b, at, one, x[0]);
          return arith::SelectOp::create(b, at, empty, zero, inverse);
        });
    return map(loc, {weight, inverse}, [](OpBuilder &b, Location at, ValueRange x) -> Value {
      return arith::MulFOp::create(b, at, x[0], x[1]);
    });
  }

  Value logSumExp() {
    Value maximum = max();
    Value total = sum(weights(maximum));
    return map(loc, {maximum, total}, [](OpBuilder &b, Location at, ValueRange x) -> Value {
      Value log = math::LogOp::create(b, at, x[1]);
      return arith::AddFOp::create(b, at, x[0], log);
    });
  }

  Value mean() {
    SmallVector<Value> arrays = {reduce(ReduceKind::Add, operand, derived(loc, "_sum"))};
    auto size = attn::ArrayType::get(b.getContext(), {}, b.getI64Type());
    for (StringAttr dim : dims.getAsRange<StringAttr>())
      arrays.push_back(SizeOp::create(b, loc, size, dim));
    return map(loc, arrays, [](OpBuilder &b, Location at, ValueRange x) -> Value {
      Value count = x[1];
      for (Value size : x.drop_front(2))
        count = arith::MulIOp::create(b, at, count, size);
      count = arith::SIToFPOp::create(b, at, x[0].getType(), count);
      return arith::DivFOp::create(b, at, x[0], count);
    });
  }
};

} // namespace

// What a softmax is taken of gets a name from the statement if the spec gives it none.
static void nameLogits(Operation *sugar) {
  Operation *operand = sugar->getOperand(0).getDefiningOp();
  auto reduce = dyn_cast<ReduceOp>(sugar);
  if (reduce && reduce.getKind() == ReduceKind::Mean)
    return;
  if (specName(operand->getLoc()).empty())
    operand->setLoc(derived(sugar->getLoc(), "_logits"));
}

void desugar(ProgramOp program) {
  SmallVector<Operation *> sugar;
  program.walk([&](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    if (isa<SoftmaxOp>(op) || (reduce && (reduce.getKind() == ReduceKind::Mean ||
                                          reduce.getKind() == ReduceKind::LogSumExp)))
      sugar.push_back(op);
  });
  for (Operation *op : sugar) {
    nameLogits(op);
    Sugar rewrite{OpBuilder(op), op->getLoc(), program, op->getOperand(0),
                  op->getAttrOfType<ArrayAttr>("dims")};
    Value plain;
    if (isa<SoftmaxOp>(op))
      plain = rewrite.softmax();
    else
      plain =
          cast<ReduceOp>(op).getKind() == ReduceKind::Mean ? rewrite.mean() : rewrite.logSumExp();
    op->getResult(0).replaceAllUsesWith(plain);
    op->erase();
  }
}

} // namespace attnc
