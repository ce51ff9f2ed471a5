#include "compiler/transforms/pass_states.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {

static attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

std::string listDims(ArrayRef<StringAttr> dims) {
  std::string text;
  for (StringAttr dim : dims)
    text += (text.empty() ? "" : ", ") + dim.getValue().str();
  return text;
}

std::string nameOf(Value value, StringRef otherwise) {
  StringRef name = specName(value.getLoc());
  return name.empty() ? otherwise.str() : name.str();
}

void replaceFold(FoldOp fold, Value value) {
  fold.getResult().replaceAllUsesWith(value);
  fold.erase();
}

Value PassStates::runningMax(OpBuilder &b, Value exponent) {
  for (FoldOp state : pass.states)
    if (state.getKind() == FoldKind::Max && state.getFactors().front() == exponent)
      return state;
  return makeState(b, FoldKind::Max, {exponent}, Value(), Value(),
                   renamed(exponent.getLoc(), nameOf(exponent, "exponent") + "_max"));
}

Value PassStates::makeState(OpBuilder &b, FoldKind kind, ArrayRef<Value> factors, Value exponent,
                            Value reference, Location loc) {
  SmallVector<Value> arrays(factors);
  if (exponent)
    arrays.push_back(exponent);
  return known(FoldOp::create(b, loc, stateType(b, arrays), kind,
                              b.getArrayAttr({pass.stream.begin(), pass.stream.end()}), factors,
                              exponent, reference));
}

// Of a sum of products of `arrays`.
attn::ArrayType PassStates::stateType(OpBuilder &b, ArrayRef<Value> arrays) {
  SmallVector<StringAttr> dims;
  for (StringAttr dim : unionDims(program, arrays))
    if (!llvm::is_contained(pass.stream, dim))
      dims.push_back(dim);
  return attn::ArrayType::get(b.getContext(), dims, arrayType(arrays.front()).getElementType());
}

// `state`, or the state that the pass has already and that is the same.
Value PassStates::known(FoldOp state) {
  for (FoldOp other : pass.states)
    if (OperationEquivalence::isEquivalentTo(other, state, OperationEquivalence::IgnoreLocations)) {
      state.erase();
      return other;
    }
  pass.states.push_back(state);
  return state;
}

// 1 for each element of the stream.
Value PassStates::ones(OpBuilder &b, FoldOp fold) {
  Type element = fold.getType().getElementType();
  SmallVector<Value> indices;
  for (StringAttr dim : pass.stream)
    indices.push_back(IndexOp::create(
        b, fold.getLoc(), attn::ArrayType::get(b.getContext(), dim, b.getI64Type()), dim));
  auto type = attn::ArrayType::get(b.getContext(), unionDims(program, indices), element);
  return MapOp::create(b, renamed(fold.getLoc(), "one"), type, indices,
                       [&](OpBuilder &inner, Location at, ValueRange) -> Value {
                         return arith::ConstantOp::create(inner, at, FloatAttr::get(element, 1));
                       });
}

Value PassStates::makeMoment(OpBuilder &b, FoldOp sum, Value base, Value centre,
                             ArrayRef<Value> lower, Location loc) {
  SmallVector<Value> arrays = sum.termOperands();
  arrays.append({base, centre});
  auto moment =
      FoldOp::create(b, loc, stateType(b, arrays), FoldKind::Add, sum.getDims(), sum.getFactors(),
                     sum.getExponent(), sum.getReference(), base, centre, lower);
  return known(moment);
}

void PassStates::note(std::string text) {
  if (!llvm::is_contained(pass.notes, text))
    pass.notes.push_back(std::move(text));
}

void PassStates::noteState(FoldOp fold) {
  note("`" + nameOf(fold, "a fold") + "`: " + red::stringifyFoldKind(fold.getKind()).str() +
       " over " + listDims(dimNames(fold.getDims())) +
       ", kept as a running value (the fold is associative)");
}

void PassStates::noteTerm(FoldOp fold, const Term &term, Value exponent, Value reference) {
  std::string name = nameOf(fold, "a fold");
  if (reference)
    note("`" + name + "`: sums weights exp(" + nameOf(exponent, "x") + " - " +
         nameOf(reference, "max") + "), rescaled by exp(old - new) when the maximum " +
         "moves (exp turns the sum into a product, and the product distributes over +)");
  else
    note("`" + name + "`: its sum over " + listDims(pass.stream) + " is a running value");
  if (!term.outer.empty())
    note("`" + name + "`: factors that do not vary along " + listDims(pass.stream) +
         " are applied once, after the stream (* distributes over +)");
}

} // namespace attnc
