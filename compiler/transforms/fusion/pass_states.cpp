#include "compiler/transforms/fusion/pass_states.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Red/Cancellation.h"
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

Location namedAfter(Value value, StringRef suffix, Location loc) {
  StringRef name = specName(value.getLoc());
  return name.empty() ? loc : renamed(loc, (name + suffix).str());
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
                   namedAfter(exponent, "_max", exponent.getLoc()));
}

Value PassStates::makeState(OpBuilder &b, FoldKind kind, ArrayRef<Value> factors, Value exponent,
                            Value reference, Location loc) {
  SmallVector<Value> arrays(factors);
  if (exponent)
    arrays.push_back(exponent);
  auto state = FoldOp::create(b, loc, stateType(b, arrays), kind,
                              b.getArrayAttr({pass.stream.begin(), pass.stream.end()}), factors,
                              exponent, reference);
  return known(joined && kind == FoldKind::Add ? red::withCancellationOf(joined, state) : state);
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
  return known(red::withCancellationOf(sum, moment));
}

void PassStates::record(derivation::Rule rule, FoldOp fold,
                        std::map<std::string, std::string> details) {
  derivation::Step step =
      derivation::stepAt(rule, fold.getLoc(), specTextOf(fold), std::move(details));
  if (!llvm::is_contained(pass.derivation, step))
    pass.derivation.push_back(std::move(step));
}

void PassStates::recordState(FoldOp fold) {
  record(derivation::Rule::State, fold,
         {{"kind", operationWord(fold).str()}, {"dims", listDims(dimNames(fold.getDims()))}});
}

void PassStates::recordCut(FoldOp fold, const Refusal &why) {
  std::map<std::string, std::string> details = {
      {"dims", listDims(pass.stream)}, {"operation", why.operation}, {"property", why.property}};
  if (!why.expression.empty())
    details["expression"] = why.expression;
  if (!why.result.empty())
    details["result"] = why.result;
  if (why.line)
    details["line"] = std::to_string(why.line);
  record(derivation::Rule::Cut, fold, std::move(details));
}

static std::string overDims(ArrayRef<StringAttr> dims) {
  return dims.empty() ? "no dim that is known only at run time" : "(" + listDims(dims) + ")";
}

Refusal PassStates::whyApart(FoldOp fold, ArrayRef<StringAttr> own, ArrayRef<StringAttr> ofPass) {
  return {operationWord(fold).str(), definitionOf(fold), "",
          "it is parallel over " + overDims(own) + ", the pass over " + overDims(ofPass) +
              "; folds share a pass only if they are parallel over the same dims"};
}

Refusal PassStates::whyLate(FoldOp fold, const Pass &last) {
  return {operationWord(fold).str(), definitionOf(fold), "",
          "it takes what is known only when another pass over " + listDims(last.stream) +
              " has ended, and that waits for this one"};
}

Refusal PassStates::whyApart(FoldOp fold) {
  SmallVector<StringAttr> dims = dimNames(fold.getDims());
  bool isInner = llvm::all_of(dims, [&](StringAttr d) { return program.lookupDim(d).isStatic(); });
  return {
      operationWord(fold).str(), definitionOf(fold), "",
      "it runs over " + listDims(dims) + ", and what it takes is known only when a pass over " +
          listDims(pass.stream) + " has ended; " +
          (isInner ? "it takes more than what that leaves for each row" : "a pass has one stream")};
}

} // namespace attnc
