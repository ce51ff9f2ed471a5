#include "compiler/transforms/gradient/reduction_adjoints.h"
#include "compiler/transforms/arrays/substitution.h"
#include "dialects/Attn/Derivatives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

using Emitter = ImplicitLocOpBuilder;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static Value constantOf(Emitter &b, Value like, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(like.getType(), value));
}

static Value isEqual(Emitter &b, Value x, double value) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, constantOf(b, x, value));
}

/// gradient / count
static Value adjointOfMean(ArrayBuilder &arrays, ReduceOp reduce, Value gradient) {
  SmallVector<Value> operands = {gradient};
  for (StringAttr dim : dimNames(reduce.getDims()))
    operands.push_back(arrays.size(dim));
  return arrays.map(operands, elementOf(gradient), [](Emitter &b, ValueRange x) -> Value {
    Value count = x[1];
    for (Value size : x.drop_front(2))
      count = arith::MulIOp::create(b, count, size);
    return arith::DivFOp::create(b, x[0], arith::SIToFPOp::create(b, x[0].getType(), count));
  });
}

/// To the elements that are the result; none where all are masked.
static Value adjointOfExtremum(ArrayBuilder &arrays, ReduceOp reduce, Value gradient) {
  Type real = elementOf(gradient);
  Value equal = arrays.equal(reduce.getOperand(), reduce.getResult());
  double nothing = reduce.getKind() == ReduceKind::Max ? -kInfinity : kInfinity;
  Value isResult = arrays.map(
      {equal, reduce.getResult()}, elementOf(equal), [&](Emitter &b, ValueRange x) -> Value {
        Value exists =
            arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, x[1], constantOf(b, x[1], nothing));
        return arith::AndIOp::create(b, x[0], exists);
      });
  Value one = arrays.where(isResult, arrays.constant(real, 1));
  Value count = arrays.sum(one, dimNames(reduce.getDims()));
  Value share = arrays.map({gradient, count}, real, [](Emitter &b, ValueRange x) -> Value {
    return arith::DivFOp::create(b, x[0], x[1]);
  });
  return arrays.where(isResult, share);
}

/// The product of the other elements: where one is 0, that of those that are not; where two are, 0.
/// A gradient of 0 stays 0 beside a product that is infinite.
static Value adjointOfProduct(ArrayBuilder &arrays, ReduceOp reduce, Value gradient) {
  Type real = elementOf(gradient);
  Dims dims = dimNames(reduce.getDims());
  Value x = reduce.getOperand();
  Value nonzero = arrays.map({x}, real, [](Emitter &b, ValueRange s) -> Value {
    return arith::SelectOp::create(b, isEqual(b, s[0], 0), constantOf(b, s[0], 1), s[0]);
  });
  Value isZero = arrays.map({x}, real, [](Emitter &b, ValueRange s) -> Value {
    return arith::SelectOp::create(b, isEqual(b, s[0], 0), constantOf(b, s[0], 1),
                                   constantOf(b, s[0], 0));
  });
  Value product = arrays.reduce(ReduceKind::Mul, nonzero, dims);
  Value zeros = arrays.sum(isZero, dims);
  return arrays.map({gradient, x, product, zeros}, real, [](Emitter &b, ValueRange s) -> Value {
    Value mine = isEqual(b, s[1], 0), none = isEqual(b, s[3], 0), one = isEqual(b, s[3], 1);
    Value zero = constantOf(b, s[0], 0);
    Value whole = arith::MulFOp::create(b, s[0], s[2]);
    Value only = arith::SelectOp::create(b, arith::AndIOp::create(b, mine, one), whole, zero);
    Value share = arith::SelectOp::create(b, none, arith::DivFOp::create(b, whole, s[1]), only);
    return unlessZero(b, s[0], share);
  });
}

/// True where each index along `dims` is the one along `others`.
static Value isSamePlace(ArrayBuilder &arrays, ArrayRef<StringAttr> dims,
                         ArrayRef<StringAttr> others) {
  Value same;
  for (auto [dim, other] : llvm::zip_equal(dims, others)) {
    Value equal = arrays.equal(arrays.index(dim), arrays.index(other));
    same = !same
               ? equal
               : arrays.map({same, equal}, elementOf(equal), [](Emitter &b, ValueRange x) -> Value {
                   return arith::AndIOp::create(b, x[0], x[1]);
                 });
  }
  return same;
}

/// The same as adjointOfProduct: a product over copies of the dims without the element itself.
static Value adjointOfProductByPairs(ArrayBuilder &arrays, ReduceOp reduce, Value gradient) {
  Dims dims = dimNames(reduce.getDims()), copies;
  Substitution at;
  for (StringAttr dim : dims) {
    copies.push_back(arrays.addDim(dim));
    at[dim] = arrays.index(copies.back());
  }
  Value factors =
      arrays.map({isSamePlace(arrays, dims, copies), substitute(arrays, reduce.getOperand(), at)},
                 elementOf(gradient), [](Emitter &b, ValueRange x) -> Value {
                   return arith::SelectOp::create(b, x[0], constantOf(b, x[1], 1), x[1]);
                 });
  return arrays.times(gradient, arrays.reduce(ReduceKind::Mul, factors, copies));
}

Value adjointOfReduction(ArrayBuilder &arrays, ReduceOp reduce, Value gradient, bool forMore) {
  switch (reduce.getKind()) {
  case ReduceKind::Add:
    return gradient;
  case ReduceKind::Mean:
    return adjointOfMean(arrays, reduce, gradient);
  case ReduceKind::LogSumExp: {
    Value weights =
        SoftmaxOp::create(arrays.builder(), arrays.location(), reduce.getOperand().getType(),
                          reduce.getDims(), reduce.getOperand());
    return arrays.times(weights, gradient);
  }
  case ReduceKind::Mul:
    return forMore ? adjointOfProductByPairs(arrays, reduce, gradient)
                   : adjointOfProduct(arrays, reduce, gradient);
  case ReduceKind::Max:
  case ReduceKind::Min:
    return adjointOfExtremum(arrays, reduce, gradient);
  case ReduceKind::And:
  case ReduceKind::Or:
    break;
  }
  llvm_unreachable("conditions have no gradient");
}

Value adjointOfSoftmax(ArrayBuilder &arrays, SoftmaxOp softmax, Value gradient) {
  Value p = softmax.getResult();
  Value centre = arrays.sum(arrays.times(p, gradient), dimNames(softmax.getDims()));
  Value centred =
      arrays.map({gradient, centre}, elementOf(p),
                 [](Emitter &b, ValueRange x) -> Value { return SubOp::create(b, x[0], x[1]); });
  return arrays.times(p, centred);
}

} // namespace attnc
