#include "compiler/evaluator/float64/scalar_program.h"
#include "compiler/evaluator/float64/cursor.h"
#include "compiler/evaluator/float64/emulated.h"
#include "dialects/Attn/SpecLocation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::evaluator {

std::string placePrefix(Location loc) {
  std::string place = attn::specPlace(loc);
  return place.empty() ? place : place + ": ";
}

llvm::Error locatedAt(Operation &op, llvm::Error error) {
  if (!error)
    return error;
  std::string message = llvm::toString(std::move(error));
  std::string place = placePrefix(op.getLoc());
  // An error inside a nest or an expanded map has its place already.
  if (place.empty() || StringRef(message).starts_with(place))
    return llvm::createStringError(message);
  return llvm::createStringError(place + message);
}

namespace {

Tensor grossAsValues(const Tensor &tensor) {
  Tensor gross = tensor;
  gross.value = tensor.gross;
  gross.error = gross.gross = nullptr;
  return gross;
}

} // namespace

/// Builds a ScalarProgram in two steps: instructions with one virtual register each, then the
/// assignment of registers, which are reused after their last use.
class ScalarCompiler {
public:
  explicit ScalarCompiler(const ArraySource &source) : source(source) {}

  llvm::Expected<unsigned> addScalar(attn::MapOp map, Value root) {
    llvm::DenseSet<Operation *> needed = backwardSlice(root);
    auto numberOf = [&](Value value) -> llvm::Expected<unsigned> {
      if (auto found = numbers.find(value); found != numbers.end())
        return found->second;
      auto argument = cast<BlockArgument>(value);
      llvm::Expected<unsigned> number = addOperand(map.getOperand(argument.getArgNumber()));
      if (number)
        numbers[value] = *number;
      return number;
    };
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      if (!needed.contains(&op))
        continue;
      llvm::Expected<Instruction> rule = scalarRule(op);
      if (!rule)
        return rule.takeError();
      const Tensor *contest = contestOf(map, op);
      if (contest)
        rule = ownExtremumRule(cast<arith::CmpFOp>(op).getPredicate());
      for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
        llvm::Expected<unsigned> number = numberOf(operand);
        if (!number)
          return number.takeError();
        rule->operands[i] = *number;
      }
      if (contest)
        rule->operands[2] = appendLoad(*contest);
      numbers[op.getResult(0)] = append(*rule, op.getNumOperands() + (contest ? 1 : 0));
    }
    return numberOf(root);
  }

  /// The gross magnitude of a float that addScalar has met, if that is not its magnitude. Terms are
  /// taken apart where the passes of the compiler may do so (transforms/algebra/terms.h): at sums
  /// that both vary along a dim and depend on a reduction over it.
  std::optional<unsigned> grossOf(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return grossOfArray(map.getOperand(argument.getArgNumber()));
    if (auto found = gross.find(scalar); found != gross.end())
      return found->second;
    std::optional<unsigned> number = grossOfOp(map, *scalar.getDefiningOp());
    return gross[scalar] = number;
  }

  ScalarProgram finish(unsigned root, std::optional<unsigned> grossRoot, ElementKind kind) {
    assignRegisters(root, grossRoot);
    program.resultKind = kind;
    return std::move(program);
  }

private:
  static llvm::DenseSet<Operation *> backwardSlice(Value root) {
    llvm::DenseSet<Operation *> needed;
    SmallVector<Value> open{root};
    while (!open.empty())
      if (Operation *op = open.pop_back_val().getDefiningOp(); op && needed.insert(op).second)
        open.append(op->operand_begin(), op->operand_end());
    return needed;
  }

  // Where the extremum that `op` compares an element of its own array with is contested, or null.
  const Tensor *contestOf(attn::MapOp map, Operation &op) {
    auto compare = dyn_cast<arith::CmpFOp>(op);
    auto x = compare ? dyn_cast<BlockArgument>(compare.getLhs()) : BlockArgument();
    auto y = compare ? dyn_cast<BlockArgument>(compare.getRhs()) : BlockArgument();
    if (!x || !y)
      return nullptr;
    Value left = map.getOperand(x.getArgNumber()), right = map.getOperand(y.getArgNumber());
    const Tensor *contest = source.contestOf(right, left);
    return contest ? contest : source.contestOf(left, right);
  }

  unsigned appendLoad(const Tensor &tensor) {
    Instruction load;
    load.leaf = program.leaves.size();
    program.leaves.push_back(tensor);
    return append(load, 0);
  }

  llvm::Expected<unsigned> addOperand(Value array) {
    if (auto found = arrays.find(array); found != arrays.end())
      return found->second;
    unsigned number;
    if (attn::MapOp map = source.expanded(array)) {
      llvm::Expected<unsigned> expanded = addScalar(map, map.getYielded());
      if (!expanded)
        return expanded;
      number = *expanded;
    } else {
      number = appendLoad(source.tensor(array));
    }
    arrays[array] = number;
    return number;
  }

  std::optional<unsigned> grossOfArray(Value array) {
    if (attn::MapOp map = source.expanded(array))
      return grossOf(map, map.getYielded());
    if (auto found = gross.find(array); found != gross.end())
      return found->second;
    std::optional<unsigned> number;
    if (const Tensor &tensor = source.tensor(array); tensor.gross)
      number = appendLoad(grossAsValues(tensor));
    return gross[array] = number;
  }

  std::optional<unsigned> grossOfOp(attn::MapOp map, Operation &op) {
    if (isa<arith::NegFOp>(op))
      return grossOf(map, op.getOperand(0));
    bool sum = isa<arith::AddFOp, arith::SubFOp, attn::SubOp>(op);
    bool select = isa<arith::SelectOp>(op) && isa<FloatType>(op.getResult(0).getType());
    if (!sum && !select && !isa<arith::MulFOp, arith::DivFOp>(op))
      return std::nullopt;
    Value x = op.getOperand(select ? 1 : 0), y = op.getOperand(select ? 2 : 1);
    std::optional<unsigned> left = grossOf(map, x), right = grossOf(map, y);
    if (isa<arith::DivFOp>(op))
      return left ? apply(grossQuotientRule(), {*left, numbers.at(y)}) : left;
    if (!left && !right && !(sum && mixesReduction(map, op.getResult(0))))
      return std::nullopt;
    unsigned of[] = {left ? *left : magnitudeOf(x), right ? *right : magnitudeOf(y)};
    if (select)
      return apply(llvm::cantFail(scalarRule(op)), {numbers.at(op.getOperand(0)), of[0], of[1]});
    return apply(sum ? grossSumRule() : grossProductRule(), {of[0], of[1]});
  }

  unsigned magnitudeOf(Value scalar) { return apply(magnitudeRule(), {numbers.at(scalar)}); }

  /// True if `scalar` varies along a dim and depends on a reduction over it.
  bool mixesReduction(attn::MapOp map, Value scalar) {
    DimSet dims, reduced;
    llvm::DenseSet<Operation *> slice = backwardSlice(scalar);
    for (BlockArgument argument : map.getBodyBlock()->getArguments())
      if (llvm::any_of(argument.getUsers(), [&](Operation *op) { return slice.contains(op); })) {
        Value array = map.getOperand(argument.getArgNumber());
        dims.insert_range(cast<attn::ArrayType>(array.getType()).getDims());
        reduced.insert_range(source.reducedBefore(array));
      }
    return llvm::any_of(dims, [&](StringAttr dim) { return reduced.contains(dim); });
  }

  unsigned apply(Instruction rule, ArrayRef<unsigned> operands) {
    llvm::copy(operands, rule.operands);
    return append(rule, operands.size());
  }

  unsigned append(Instruction instruction, unsigned operandCount) {
    instruction.result = program.instructions.size();
    program.instructions.push_back(instruction);
    operandCounts.push_back(operandCount);
    return instruction.result;
  }

  void assignRegisters(unsigned root, std::optional<unsigned> grossRoot) {
    std::vector<unsigned> lastUse(program.instructions.size(), 0);
    for (auto [i, instruction] : llvm::enumerate(program.instructions))
      for (unsigned k = 0; k < operandCounts[i]; ++k)
        lastUse[instruction.operands[k]] = i;
    lastUse[root] = program.instructions.size();
    if (grossRoot)
      lastUse[*grossRoot] = program.instructions.size();
    std::vector<unsigned> assigned(program.instructions.size());
    std::vector<unsigned> freed;
    for (auto [i, instruction] : llvm::enumerate(program.instructions)) {
      // The result's register is taken first: an instruction never writes over its operands.
      if (freed.empty())
        freed.push_back(program.registerCount++);
      assigned[i] = freed.back();
      freed.pop_back();
      llvm::SmallDenseSet<unsigned> dead;
      for (unsigned k = 0; k < operandCounts[i]; ++k) {
        unsigned operand = instruction.operands[k];
        instruction.operands[k] = assigned[operand];
        if (lastUse[operand] == i && dead.insert(operand).second)
          freed.push_back(assigned[operand]);
      }
      instruction.result = assigned[i];
    }
    program.resultRegister = assigned[root];
    if (grossRoot)
      program.grossRegister = assigned[*grossRoot];
  }

  const ArraySource &source;
  ScalarProgram program;
  DenseMap<Value, unsigned> arrays, numbers;
  DenseMap<Value, std::optional<unsigned>> gross; // of scalars, and of arrays that are stored
  std::vector<unsigned> operandCounts;
};

llvm::Expected<ScalarProgram> ScalarProgram::compile(attn::MapOp map, Value scalar,
                                                     const ArraySource &arrays) {
  ScalarCompiler compiler(arrays);
  llvm::Expected<unsigned> root = compiler.addScalar(map, scalar);
  if (!root)
    return root.takeError();
  return compiler.finish(*root, compiler.grossOf(map, scalar), kindOf(scalar.getType()));
}

ScalarProgram ScalarProgram::apply(Instruction rule, ArrayRef<Tensor> arrays) {
  ScalarProgram program;
  for (const Tensor &array : arrays) {
    Instruction load;
    load.leaf = load.result = program.leaves.size();
    rule.operands[load.leaf] = load.result;
    program.leaves.push_back(array);
    program.instructions.push_back(load);
  }
  rule.result = program.resultRegister = arrays.size();
  program.instructions.push_back(rule);
  program.registerCount = arrays.size() + 1;
  return program;
}

ScalarProgram ScalarProgram::identity(const Tensor &array) {
  ScalarProgram program;
  program.leaves.push_back(array);
  program.instructions.emplace_back();
  program.registerCount = 1;
  program.resultKind = array.kind;
  if (array.gross) {
    Instruction load;
    load.leaf = load.result = 1;
    program.leaves.push_back(grossAsValues(array));
    program.instructions.push_back(load);
    program.registerCount = 2;
    program.grossRegister = 1;
  }
  return program;
}

ScalarProgram ScalarProgram::product(const Tensor &x, const Tensor &y, double unit) {
  ScalarProgram program = apply(productRule(unit), {x, y});
  if (!x.gross && !y.gross)
    return program;
  Instruction times = grossProductRule();
  for (unsigned k : {0u, 1u}) {
    const Tensor &array = k ? y : x;
    Instruction magnitude = array.gross ? Instruction() : magnitudeRule();
    magnitude.operands[0] = k;
    if (array.gross) {
      magnitude.leaf = program.leaves.size();
      program.leaves.push_back(grossAsValues(array));
    }
    magnitude.result = times.operands[k] = program.registerCount++;
    program.instructions.push_back(magnitude);
  }
  times.result = program.registerCount++;
  program.instructions.push_back(times);
  program.grossRegister = times.result;
  return program;
}

SmallVector<StringAttr> ScalarProgram::dims() const {
  llvm::SetVector<StringAttr> all;
  for (const Tensor &leaf : leaves)
    all.insert(leaf.dims.begin(), leaf.dims.end());
  return all.takeVector();
}

void ScalarProgram::walk(ArrayRef<StringAttr> dims, ArrayRef<int64_t> shape) {
  walkShape.assign(shape.begin(), shape.end());
  leafStrides.clear();
  for (const Tensor &leaf : leaves) {
    Extents strides;
    for (StringAttr dim : dims)
      strides.push_back(leaf.strideOf(dim));
    leafStrides.push_back(std::move(strides));
  }
}

void ScalarProgram::load(const Instruction &instruction, Register &into, int64_t start,
                         int64_t count) const {
  const Tensor &leaf = leaves[instruction.leaf];
  if (!leaf.error)
    std::fill_n(into.error.data(), count, 0.0);
  Cursor cursor(walkShape, leafStrides[instruction.leaf], start);
  cursor.runs(count, [&](int64_t done, int64_t offset, int64_t stride, int64_t run) {
    if (leaf.kind == ElementKind::Real)
      copyRun(into.value.data() + done, leaf.value + offset, stride, run);
    else
      copyRun(into.integer.data() + done, leaf.integer + offset, stride, run);
    if (leaf.error)
      copyRun(into.error.data() + done, leaf.error + offset, stride, run);
  });
}

const Register &ScalarProgram::run(std::vector<Register> &registers, int64_t start,
                                   int64_t count) const {
  for (const Instruction &instruction : instructions) {
    if (!instruction.run) {
      load(instruction, registers[instruction.result], start, count);
      continue;
    }
    instruction.run(instruction, registers, count);
    if (emulated)
      roundAll(registers[instruction.result].value, count, instruction.unit);
  }
  return registers[resultRegister];
}

} // namespace attnc::evaluator
