#include "compiler/transforms/gradient/recomputed_values.h"
#include "compiler/transforms/derivation/spec_text.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// What depends on some inputs, also through nests.
class Dependents {
public:
  Dependents(ProgramOp program, const std::set<std::string> &inputs) {
    for (Operation &op : *program.getBodyBlock())
      if (auto input = dyn_cast<InputOp>(op); input && inputs.contains(input.getName().str()))
        all.insert(input.getResult());
      else
        follow(&op);
  }

  bool contains(Value value) const { return all.contains(value); }
  bool usesSome(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value value) { return contains(value); });
  }

private:
  void follow(Operation *op) {
    if (auto nest = dyn_cast<red::NestOp>(op))
      return followNest(nest);
    if (usesSome(op))
      all.insert_range(op->getResults());
  }

  void followNest(red::NestOp nest) {
    for (Operation &op : nest.getBodyBlock()->without_terminator())
      follow(&op);
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (auto [result, value] : llvm::zip_equal(nest.getResults(), yield.getValues()))
      if (contains(value))
        all.insert(result);
  }

  llvm::DenseSet<Value> all;
};

/// What is read, if a value is a computed one under other dims.
Value withoutReads(Value value) {
  while (auto read = value.getDefiningOp<ReadOp>()) {
    if (read.getSource().getDefiningOp<InputOp>())
      break;
    value = read.getSource();
  }
  return value;
}

bool isComputed(Value value) {
  auto type = cast<attn::ArrayType>(value.getType());
  return isa<FloatType>(type.getElementType()) && !type.isScalar() &&
         isa<MapOp, red::FoldOp>(value.getDefiningOp());
}

using Values = llvm::SetVector<Value>;

void collectChain(Value value, const Values &others, Values &chain) {
  if (!chain.insert(value) || value.getDefiningOp<red::FoldOp>())
    return;
  for (Value operand : value.getDefiningOp()->getOperands())
    if (Value source = withoutReads(operand); isComputed(source) && !others.contains(source))
      collectChain(source, others, chain);
}

RecomputedValue describe(Value value, const Values &others) {
  auto type = cast<attn::ArrayType>(value.getType());
  RecomputedValue described;
  described.name = specTextOf(value);
  described.element = type.getElementType();
  described.dims = llvm::to_vector(type.getDims());
  Values chain;
  collectChain(value, others, chain);
  for (Value link : chain)
    described.places.push_back(link.getLoc());
  return described;
}

/// The places of what a nest computes without the inputs.
llvm::DenseSet<Location> placesIn(red::NestOp nest, const Dependents &dependents) {
  llvm::DenseSet<Location> places;
  for (Operation &op : *nest.getBodyBlock())
    if (op.getNumResults() == 1 && !dependents.contains(op.getResult(0)))
      places.insert(op.getLoc());
  return places;
}

} // namespace

std::vector<RecomputedValue> recomputedValues(ProgramOp program,
                                              const std::set<std::string> &later) {
  Dependents dependents(program, later);
  Values needed;
  for (Operation &op : *program.getBodyBlock())
    if (dependents.usesSome(&op))
      for (Value operand : op.getOperands())
        if (Value value = withoutReads(operand); !dependents.contains(value) && isComputed(value))
          needed.insert(value);
  std::vector<RecomputedValue> values;
  for (Operation &op : *program.getBodyBlock()) { // in the order of the forward program
    if (op.getNumResults() != 1 || !needed.contains(op.getResult(0)))
      continue;
    RecomputedValue value = describe(op.getResult(0), needed);
    auto same = llvm::find_if(values, [&](const RecomputedValue &other) {
      return other.places.front() == value.places.front() && other.dims == value.dims;
    });
    if (same == values.end())
      values.push_back(std::move(value));
    else
      ++same->count;
  }
  return values;
}

std::vector<std::vector<bool>> findInNests(ProgramOp program, const std::set<std::string> &later,
                                           ArrayRef<RecomputedValue> values) {
  Dependents dependents(program, later);
  std::vector<std::vector<bool>> found;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    llvm::DenseSet<Location> places = placesIn(nest, dependents);
    std::vector<bool> &its = found.emplace_back();
    for (const RecomputedValue &value : values)
      its.push_back(llvm::any_of(value.places, [&](Location at) { return places.contains(at); }));
  }
  return found;
}

} // namespace attnc
