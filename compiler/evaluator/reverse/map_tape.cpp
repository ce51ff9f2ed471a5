#include "compiler/evaluator/reverse/map_tape.h"
#include "compiler/evaluator/float64/cursor.h"

using namespace mlir;

namespace attnc::evaluator {

/// Gives each array that is read and each op of the expression a register.
class TapeCompiler {
public:
  explicit TapeCompiler(const ArrayValues &values) : values(values) {}

  llvm::Expected<unsigned> addMap(attn::MapOp map) {
    for (auto [argument, array] :
         llvm::zip_equal(map.getBodyBlock()->getArguments(), map.getOperands())) {
      llvm::Expected<unsigned> number = addArray(array);
      if (!number)
        return number;
      numbers[argument] = *number;
    }
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      llvm::Expected<Instruction> rule = scalarRule(op);
      if (!rule)
        return rule.takeError();
      for (auto [k, operand] : llvm::enumerate(op.getOperands()))
        rule->operands[k] = numbers.at(operand);
      rule->result = numbers[op.getResult(0)] = count++;
      tape.steps.push_back({&op, *rule});
    }
    return numbers.at(map.getYielded());
  }

  llvm::Expected<unsigned> addArray(Value array) {
    if (auto found = numbers.find(array); found != numbers.end())
      return found->second;
    if (attn::MapOp map = values.expanded(array)) {
      llvm::Expected<unsigned> number = addMap(map);
      if (number)
        numbers[array] = *number;
      return number;
    }
    tape.leaves.push_back({array, values.tensor(array), count});
    return numbers[array] = count++;
  }

  MapTape finish(unsigned root) {
    tape.root = root;
    tape.registers.resize(count);
    return std::move(tape);
  }

private:
  const ArrayValues &values;
  MapTape tape;
  unsigned count = 0;
  llvm::DenseMap<Value, unsigned> numbers; // of arrays and of scalars
};

llvm::Expected<MapTape> MapTape::ofMap(attn::MapOp map, const ArrayValues &values) {
  TapeCompiler compiler(values);
  llvm::Expected<unsigned> root = compiler.addMap(map);
  if (!root)
    return root.takeError();
  return compiler.finish(*root);
}

llvm::Expected<MapTape> MapTape::ofOperand(Value array, const ArrayValues &values) {
  TapeCompiler compiler(values);
  llvm::Expected<unsigned> root = compiler.addArray(array);
  if (!root)
    return root.takeError();
  return compiler.finish(*root);
}

llvm::Error MapTape::differentiate(Adjoints &ofArrays) {
  arrays = &ofArrays;
  adjoints.assign(registers.size(), {});
  for (Leaf &leaf : leaves) {
    if (!ofArrays.isActive(leaf.array))
      continue;
    llvm::Expected<Tensor> adjoint = ofArrays.of(leaf.array);
    if (!adjoint)
      return adjoint.takeError();
    leaf.adjoint = *adjoint;
    adjoints[leaf.result].resize(kChunk);
  }
  for (Step &step : steps) {
    Operation &op = *step.op;
    auto isReached = [&](unsigned k) { return !adjoints[step.instruction.operands[k]].empty(); };
    if (!isa<FloatType>(op.getResult(0).getType()) ||
        llvm::none_of(llvm::seq(op.getNumOperands()), isReached))
      continue;
    llvm::Expected<Derivative> derivative = derivativeOf(op);
    if (!derivative)
      return derivative.takeError();
    step.derivative = *derivative;
    if (derivative->rule)
      adjoints[step.instruction.result].resize(kChunk);
  }
  return llvm::Error::success();
}

void MapTape::walk(const Space &space, llvm::function_ref<void(int64_t, int64_t)> body) {
  shape = space.shape;
  for (Leaf &leaf : leaves) {
    leaf.strides = stridesOver(leaf.values, space);
    leaf.adjointStrides = stridesOver(leaf.adjoint, space);
  }
  for (int64_t start = 0, size = space.size(); start < size; start += kChunk)
    body(start, std::min(kChunk, size - start));
}

const Register &MapTape::forward(int64_t start, int64_t count) {
  for (const Leaf &leaf : leaves)
    load(leaf, start, count);
  for (const Step &step : steps)
    step.instruction.run(step.instruction, registers, count);
  return registers[root];
}

void MapTape::load(const Leaf &leaf, int64_t start, int64_t count) {
  Register &into = registers[leaf.result];
  Cursor cursor(shape, leaf.strides, start);
  cursor.runs(count, [&](int64_t done, int64_t offset, int64_t stride, int64_t run) {
    if (leaf.values.kind == ElementKind::Real)
      copyRun(into.value.data() + done, leaf.values.value + offset, stride, run);
    else
      copyRun(into.integer.data() + done, leaf.values.integer + offset, stride, run);
  });
}

void MapTape::backward(int64_t start, int64_t count, ArrayRef<double> seed) {
  if (adjoints[root].empty())
    return;
  for (std::vector<double> &adjoint : adjoints)
    if (!adjoint.empty())
      std::fill_n(adjoint.data(), count, 0.0);
  std::copy_n(seed.data(), count, adjoints[root].data());
  for (const Step &step : llvm::reverse(steps))
    if (step.derivative.rule)
      sweepBack(step, count);
  for (const Leaf &leaf : leaves)
    if (leaf.adjoint.storage)
      addStrided(leaf.adjoint.storage->value.data(), shape, leaf.adjointStrides, start, count,
                 adjoints[leaf.result]);
}

void MapTape::sweepBack(const Step &step, int64_t count) {
  const auto &[rule, first, operandCount] = step.derivative;
  const unsigned *operands = step.instruction.operands;
  const unsigned x = operands[first], y = operands[first + operandCount - 1];
  const std::vector<double> &adjoint = adjoints[step.instruction.result];
  auto give = [&](unsigned operand, int64_t i, double share) {
    if (!adjoints[operand].empty())
      adjoints[operand][i] += arrays->counted(share);
  };
  for (int64_t i = 0; i < count; ++i) {
    if (adjoint[i] == 0)
      continue;
    Share share = rule(adjoint[i], {registers[x].value[i], registers[y].value[i],
                                    registers[operands[0]].integer[i] != 0,
                                    registers[step.instruction.result].value[i]});
    give(x, i, share.x);
    if (operandCount == 2)
      give(y, i, share.y);
  }
}

void addStrided(double *to, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, int64_t start,
                int64_t count, ArrayRef<double> values) {
  Cursor cursor(shape, strides, start);
  cursor.runs(count, [&](int64_t done, int64_t offset, int64_t stride, int64_t run) {
    for (int64_t i = 0; i < run; ++i)
      to[offset + i * stride] += values[done + i];
  });
}

void loadStrided(const double *from, ArrayRef<int64_t> shape, ArrayRef<int64_t> strides,
                 int64_t start, int64_t count, MutableArrayRef<double> values) {
  Cursor cursor(shape, strides, start);
  cursor.runs(count, [&](int64_t done, int64_t offset, int64_t stride, int64_t run) {
    copyRun(values.data() + done, from + offset, stride, run);
  });
}

} // namespace attnc::evaluator
