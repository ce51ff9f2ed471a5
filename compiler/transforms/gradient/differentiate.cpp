#include "compiler/transforms/gradient/differentiate.h"
#include "compiler/transforms/analysis/tensor_sizes.h"
#include "compiler/transforms/gradient/reduction_adjoints.h"
#include "compiler/transforms/gradient/scalar_adjoints.h"
#include "compiler/transforms/gradient/shifts.h"
#include "compiler/transforms/gradient/stable_weights.h"
#include "compiler/transforms/read_adjoints/read_adjoint.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

/// Of a program: how many times it was differentiated.
static constexpr StringLiteral kOrderAttr = "attn.gradient_order";

std::string gradientName(StringRef name, unsigned order) {
  return fmt::format("grad{}_{}", order == 1 ? "" : std::to_string(order), name.str());
}

unsigned gradientOrder(ProgramOp program) {
  auto order = program->getAttrOfType<IntegerAttr>(kOrderAttr);
  return order ? order.getInt() : 0;
}

namespace {

/// The inputs and params of real numbers, by name, in order.
llvm::MapVector<StringRef, Value> differentiable(ProgramOp program) {
  llvm::MapVector<StringRef, Value> values;
  for (Operation &op : *program.getBodyBlock()) {
    if (auto input = dyn_cast<InputOp>(op); input && isReal(input))
      values[input.getName()] = input;
    if (auto param = dyn_cast<ParamOp>(op); param && isReal(param))
      values[param.getName()] = param;
  }
  return values;
}

/// "rename the input at spec.json:3:12"
std::string renameAdvice(Operation *op) {
  StringRef kind = isa<InputOp>(op) ? "input" : isa<ParamOp>(op) ? "param" : "output";
  std::string place = specPlace(op->getLoc());
  return fmt::format("rename the {}{}", kind.str(), place.empty() ? "" : " at " + place);
}

/// "o of bool, n of i32"
std::string typesOf(ProgramOp program) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(program.getBodyBlock()->getOps<OutputOp>(), out, [&](OutputOp output) {
    out << output.getName() << " of ";
    if (output.getType().isInteger(1))
      out << "bool";
    else
      out << output.getType();
  });
  return text;
}

class ReverseMode {
public:
  ReverseMode(ProgramOp program, ArrayRef<std::string> wanted, Differentiation how)
      : program(program), wanted(wanted), how(how), order(gradientOrder(program) + 1),
        arrays(program), inputs(program) {
    for (auto input : program.getBodyBlock()->getOps<InputOp>())
      inputs.add(dimsOf(input));
  }

  Result<std::vector<std::string>> run() {
    if (Status status = findWanted(); !status)
      return status.error();
    if (Status status = checkNames(); !status)
      return status.error();
    SmallVector<Value> references;
    if (!how.asWritten && order == 1) // the marks of gradients would be lost
      references = stabiliseWeights(program);
    SmallVector<Operation *> ops;
    for (Operation &op : *program.getBodyBlock())
      ops.push_back(&op);
    shifts = cancellingShifts(program);
    shifts.insert_range(references);
    findActive(ops);
    for (Operation *op : ops)
      if (auto output = dyn_cast<OutputOp>(op); output && isReal(output.getValue()))
        takeOutput(output);
    for (Operation *op : llvm::reverse(ops))
      if (Status status = pass(op); !status)
        return status.error();
    std::vector<std::string> independent;
    for (auto [name, value] : llvm::zip_equal(wanted, sources)) {
      if (!gradients.contains(value))
        independent.push_back(name);
      giveGradient(name, value);
    }
    program->setAttr(kOrderAttr, arrays.builder().getI64IntegerAttr(order));
    return independent;
  }

private:
  //===--- the interface
  //-----------------------------------------------------------------------===//

  Status findWanted() {
    auto known = differentiable(program);
    for (size_t i = 0; i < wanted.size(); ++i) {
      auto found = known.find(wanted[i]);
      if (found == known.end())
        return invalidArgument(
            "'" + wanted[i] + "' is no input or param of real numbers, so it has no gradient",
            fmt::format(
                "those that have one are {}",
                fmt::join(llvm::map_range(known, [](auto &k) { return k.first.str(); }), ", ")));
      if (llvm::is_contained(wanted.take_front(i), wanted[i]))
        return invalidArgument("the gradient of '" + wanted[i] + "' is asked for twice",
                               "leave one of them out");
      sources.push_back(found->second);
    }
    return {};
  }

  std::string gradientName(StringRef name) const { return attnc::gradientName(name, order); }

  Status checkNames() {
    llvm::StringMap<Operation *> taken;
    auto outputs = program.getBodyBlock()->getOps<OutputOp>();
    for (Operation &op : *program.getBodyBlock())
      if (isa<InputOp, ParamOp, OutputOp>(op))
        taken.try_emplace(op.getAttrOfType<StringAttr>("name").getValue(), &op);
    bool hasReal = llvm::any_of(outputs, [](OutputOp o) { return isReal(o.getValue()); });
    if (!hasReal)
      return invalidArgument("the program has no output of real numbers, so nothing has a gradient",
                             "it has " + typesOf(program) +
                                 "; gradients are those of outputs of f16, bf16, f32 or f64");
    std::vector<std::pair<std::string, Operation *>> added;
    for (OutputOp output : outputs)
      if (isReal(output.getValue()))
        added.emplace_back(gradientName(output.getName()), output);
    for (auto [name, source] : llvm::zip_equal(wanted, sources))
      added.emplace_back(gradientName(name), source.getDefiningOp());
    for (const auto &[name, op] : added)
      if (auto [other, isNew] = taken.try_emplace(name, op); !isNew)
        return invalidArgument("the name '" + name + "', which a gradient is to have, is taken",
                               renameAdvice(other->second));
    return {};
  }

  void takeOutput(OutputOp output) {
    arrays.setLocation(renamed(output.getLoc(), gradientName(output.getName())));
    OpBuilder &b = arrays.builder();
    auto type = attn::ArrayType::get(b.getContext(), dimNames(output.getDims()), output.getType());
    Value input = InputOp::create(b, arrays.location(), type, gradientName(output.getName()));
    addTo(output.getValue(), arrays.read(input));
  }

  void giveGradient(StringRef name, Value value) {
    arrays.setLocation(renamed(value.getLoc(), gradientName(name)));
    Value gradient = gradients.lookup(value);
    if (!gradient)
      gradient = arrays.constant(computeType(elementOf(value)), 0);
    gradient = arrays.broadcast(gradient, dimsOf(value));
    SmallVector<Attribute> dims(dimsOf(value).begin(), dimsOf(value).end());
    OpBuilder &b = arrays.builder();
    OutputOp::create(b, arrays.location(), gradientName(name), gradient, b.getArrayAttr(dims),
                     elementOf(value));
  }

  //===--- the sweep
  //---------------------------------------------------------------------------===//

  /// What depends on the sources through real numbers, but for what cancels.
  void findActive(ArrayRef<Operation *> ops) {
    active.insert(sources.begin(), sources.end());
    for (Operation *op : ops)
      if (op->getNumResults() == 1 && isReal(op->getResult(0)) &&
          !shifts.contains(op->getResult(0)) &&
          llvm::any_of(op->getOperands(), [&](Value x) { return active.contains(x); }))
        active.insert(op->getResult(0));
  }

  Status pass(Operation *op) {
    if (op->getNumResults() != 1 || isa<InputOp, ParamOp>(op) || !active.contains(op->getResult(0)))
      return {};
    Value gradient = gradients.lookup(op->getResult(0));
    if (!gradient)
      return {};
    arrays.setLocation(op->getLoc());
    if (auto map = dyn_cast<MapOp>(op))
      return passMap(map, gradient);
    Value source = op->getOperand(0);
    if (auto read = dyn_cast<ReadOp>(op))
      addTo(source, adjointOfSource(arrays, read, gradient));
    else if (auto softmax = dyn_cast<SoftmaxOp>(op))
      addTo(source, adjointOfSoftmax(arrays, softmax, gradient));
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      addTo(source, adjointOfReduction(arrays, reduce, gradient, how.forMore));
    return {};
  }

  Status passMap(MapOp map, Value gradient) {
    for (auto [number, operand] : llvm::enumerate(map.getOperands())) {
      if (!active.contains(operand))
        continue;
      Result<Value> share = adjointOfOperand(arrays, map, number, gradient);
      if (!share)
        return share.error();
      if (*share) // each of the operand's elements is used all along the other dims
        addTo(operand, sumInSteps(*share, without(dimsOf(map.getResult()), dimsOf(operand))));
    }
    return {};
  }

  /// The sum over `dims`, one sum after the other where several are dynamic: first over the one
  /// without which an array fits a tensor, then over one at a time. A single sum for each element
  /// of a small result would leave most of a machine idle.
  Value sumInSteps(Value array, ArrayRef<StringAttr> dims) {
    Dims first, rest;
    for (StringAttr dim : dims)
      (program.lookupDim(dim).isStatic() ? first : rest).push_back(dim);
    Dims kept = without(dimsOf(array), first);
    if (!inputs.fit(kept)) {
      const StringAttr *large =
          llvm::find_if(rest, [&](StringAttr dim) { return inputs.fit(without(kept, {dim})); });
      if (large == rest.end())
        return arrays.sum(array, dims);
      first.push_back(*large);
      rest.erase(large);
    }
    Value sum = first.empty() ? array : arrays.sum(array, first);
    for (StringAttr dim : llvm::reverse(rest))
      sum = arrays.sum(sum, {dim});
    return sum;
  }

  void addTo(Value value, Value share) {
    Value &gradient = gradients[value];
    if (!gradient) {
      nameAfter(value, share);
      gradient = share;
      return;
    }
    gradient = arrays.add(gradient, share);
  }

  /// A gradient is called after its value, where that has a name.
  void nameAfter(Value value, Value gradient) {
    StringRef name = specName(value.getLoc());
    if (!name.empty() && !isa<InputOp>(gradient.getDefiningOp()) &&
        !name.starts_with(gradientName("")))
      gradient.setLoc(renamed(gradient.getLoc(), gradientName(name)));
  }

  ProgramOp program;
  ArrayRef<std::string> wanted;
  Differentiation how;
  unsigned order;
  ArrayBuilder arrays;
  TensorSizes inputs;
  SmallVector<Value> sources; // those of `wanted`
  llvm::DenseSet<Value> active, shifts;
  llvm::DenseMap<Value, Value> gradients; // so far
};

} // namespace

Result<std::vector<std::string>> differentiate(ProgramOp program, ArrayRef<std::string> wanted,
                                               Differentiation how) {
  return ReverseMode(program, wanted, how).run();
}

void keepGradientsOnly(ProgramOp program, ArrayRef<std::string> wanted) {
  llvm::StringSet<> kept;
  for (const std::string &name : wanted)
    kept.insert(gradientName(name, gradientOrder(program)));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*program.getBodyBlock())))
    if (auto output = dyn_cast<OutputOp>(op);
        output ? !kept.contains(output.getName()) : isOpTriviallyDead(&op))
      op.erase();
}

} // namespace attnc
