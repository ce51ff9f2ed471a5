#include "compiler/evaluator/reverse/array_values.h"
#include "compiler/evaluator/float64/read.h"
#include "compiler/evaluator/inputs/binding.h"
#include "compiler/evaluator/reverse/map_tape.h"
#include "compiler/evaluator/reverse/row_rules.h"

#include <numeric>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Maps expanded into one another stay shallow: compilation of an expression recurses through them.
constexpr unsigned kMaxExpandedDepth = 32;

} // namespace

llvm::Expected<Tensor> makeZeros(Memory &memory, const Space &space, ElementKind kind) {
  llvm::Expected<Tensor> zeros = makeTensor(memory, space.dims, space.shape, kind);
  if (zeros)
    dropZeroErrors(*zeros);
  return zeros;
}

bool isSum(attn::ReduceOp reduce) {
  return isa<FloatType>(reduce.getType().getElementType()) &&
         (reduce.getKind() == attn::ReduceKind::Add || reduce.getKind() == attn::ReduceKind::Mean);
}

RowOffsets::RowOffsets(const Tensor &array, const Space &kept, const Space &reduced)
    : rows(offsetsOf(kept.shape, stridesOver(array, kept))),
      elements(offsetsOf(reduced.shape, stridesOver(array, reduced))) {}

ArrayValues::ArrayValues(attn::ProgramOp program, const EvalInputs &inputs,
                         std::map<std::string, int64_t> extents, Memory &memory)
    : program(program), inputs(inputs), extents(std::move(extents)), memory(memory) {}

llvm::Error ArrayValues::compute() {
  for (Operation &op : *program.getBodyBlock())
    if (llvm::Error error = locatedAt(op, computeOp(op)))
      return error;
  return llvm::Error::success();
}

attn::MapOp ArrayValues::expanded(Value array) const {
  return expandedDepth.contains(array) ? array.getDefiningOp<attn::MapOp>() : attn::MapOp();
}

Space ArrayValues::spaceOf(ArrayRef<StringAttr> dims) const {
  Space space;
  for (StringAttr dim : dims) {
    space.dims.push_back(dim);
    space.shape.push_back(extents.at(dim.str()));
  }
  return space;
}

std::pair<Space, Space> ArrayValues::keptAndReduced(Value array, ArrayAttr reduced) const {
  SmallVector<StringAttr> gone = attn::dimNames(reduced), kept;
  for (StringAttr dim : cast<attn::ArrayType>(array.getType()).getDims())
    if (!llvm::is_contained(gone, dim))
      kept.push_back(dim);
  return {spaceOf(attn::canonicalDims(program, kept)), spaceOf(gone)};
}

llvm::Error ArrayValues::computeOp(Operation &op) {
  if (isa<attn::OutputOp, attn::ExtentOp>(op)) // an extent has been bound before
    return llvm::Error::success();
  if (auto require = dyn_cast<attn::RequireOp>(op))
    return checkRequire(require);
  if (auto map = dyn_cast<attn::MapOp>(op); map && isExpanded(map)) {
    unsigned depth = 0;
    for (Value operand : map.getOperands())
      depth = std::max(depth, expandedDepth.lookup(operand));
    expandedDepth[map.getResult()] = depth + 1;
    return llvm::Error::success();
  }
  Result value = valueOf(op);
  if (!value)
    return value.takeError();
  arrays[op.getResult(0)] = std::move(*value);
  return llvm::Error::success();
}

llvm::Error ArrayValues::checkRequire(attn::RequireOp require) {
  const Tensor &condition = tensor(require.getCondition());
  for (int64_t offset : offsetsOf(condition.shape, condition.strides))
    if (!condition.integer[offset])
      return llvm::createStringError("require '%s' does not hold", require.getText().str().c_str());
  return llvm::Error::success();
}

ArrayValues::Result ArrayValues::valueOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](attn::InputOp input) { return bindInput(input, inputs); })
      .Case([&](attn::ParamOp param) { return paramValue(param); })
      .Case([&](attn::SizeOp size) {
        return scalar(ElementKind::Whole, static_cast<double>(extents.at(size.getDim().str())));
      })
      .Case([&](attn::IndexOp index) { return indexValue(index); })
      .Case([&](attn::ReadOp read) { return readValue(read); })
      .Case([&](attn::MapOp map) { return mapValue(map); })
      .Case([&](attn::ReduceOp reduce) { return reduceValue(reduce); })
      .Case([&](attn::SoftmaxOp softmax) { return softmaxValue(softmax); })
      .Default([](Operation *op) -> Result {
        return llvm::createStringError("the reverse mode has no rule for %s",
                                       op->getName().getStringRef().str().c_str());
      });
}

ArrayValues::Result ArrayValues::scalar(ElementKind kind, double value) {
  Result result = makeZeros(memory, {}, kind);
  if (!result)
    return result;
  if (kind == ElementKind::Real)
    result->storage->value[0] = value;
  else
    result->storage->integer[0] = truncated({value, 0}).value;
  return result;
}

ArrayValues::Result ArrayValues::paramValue(attn::ParamOp param) {
  llvm::Expected<std::optional<double>> passed = bindParam(param, inputs);
  if (!passed)
    return passed.takeError();
  ElementKind kind = kindOf(param.getType().getElementType());
  if (*passed)
    return scalar(kind, **passed);
  if (!param.getDefaultValue())
    return llvm::createStringError("param '%s' has no default and is not passed",
                                   param.getName().str().c_str());
  Tensor value = tensor(param.getDefaultValue());
  if (kind == ElementKind::Real)
    if (llvm::Error error = checkRange(param, *value.value))
      return error;
  return value;
}

ArrayValues::Result ArrayValues::indexValue(attn::IndexOp index) {
  Result result = makeZeros(memory, spaceOf(index.getType().getDims()), ElementKind::Whole);
  if (result)
    std::iota(result->storage->integer.begin(), result->storage->integer.end(), 0);
  return result;
}

ArrayValues::Result ArrayValues::readValue(attn::ReadOp read) {
  const Tensor &source = tensor(read.getSource());
  std::vector<Subscript> subscripts;
  for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis) {
    Subscript subscript{source.shape[axis], source.strides[axis], read.subscriptDim(axis), {}};
    if (Value index = read.subscriptValue(axis))
      subscript.index = tensor(index);
    subscripts.push_back(std::move(subscript));
  }
  std::optional<double> otherwise;
  if (read.getOtherwise())
    otherwise = read.getOtherwise()->convertToDouble();
  return readAt({memory, /*threads=*/1}, source, subscripts, spaceOf(read.getType().getDims()),
                otherwise);
}

ArrayValues::Result ArrayValues::mapValue(attn::MapOp map) {
  llvm::Expected<MapTape> tape = MapTape::ofMap(map, *this);
  if (!tape)
    return tape.takeError();
  Space space = spaceOf(map.getType().getDims());
  Result result = makeZeros(memory, space, kindOf(map.getType().getElementType()));
  if (!result)
    return result;
  tape->walk(space, [&](int64_t start, int64_t count) {
    const Register &elements = tape->forward(start, count);
    if (result->kind == ElementKind::Real)
      std::copy_n(elements.value.data(), count, result->storage->value.data() + start);
    else
      std::copy_n(elements.integer.data(), count, result->storage->integer.data() + start);
  });
  return result;
}

ArrayValues::Result ArrayValues::reduceValue(attn::ReduceOp reduce) {
  if (isSum(reduce))
    return sumValue(reduce);
  const Tensor &array = tensor(reduce.getOperand());
  if (array.kind != ElementKind::Real && (reduce.getKind() == attn::ReduceKind::Mean ||
                                          reduce.getKind() == attn::ReduceKind::LogSumExp))
    return llvm::createStringError("the reverse mode has no %s of integers",
                                   attn::stringifyReduceKind(reduce.getKind()).str().c_str());
  auto [kept, reduced] = keptAndReduced(reduce.getOperand(), reduce.getDims());
  Result result = makeZeros(memory, kept, array.kind);
  if (!result)
    return result;
  RowOffsets offsets(array, kept, reduced);
  std::vector<double> reals;
  std::vector<int64_t> wholes;
  for (auto [r, row] : llvm::enumerate(offsets.rows))
    if (array.kind == ElementKind::Real) {
      gatherRow(array.value, row, offsets.elements, reals);
      result->storage->value[r] = reduceRow(reduce.getKind(), reals);
    } else {
      gatherRow(array.integer, row, offsets.elements, wholes);
      result->storage->integer[r] = reduceRow(reduce.getKind(), wholes);
    }
  return result;
}

ArrayValues::Result ArrayValues::sumValue(attn::ReduceOp reduce) {
  llvm::Expected<MapTape> tape = MapTape::ofOperand(reduce.getOperand(), *this);
  if (!tape)
    return tape.takeError();
  auto [kept, reduced] = keptAndReduced(reduce.getOperand(), reduce.getDims());
  Result result = makeZeros(memory, kept, ElementKind::Real);
  if (!result)
    return result;
  Space space = spaceOf(reduce.getOperand().getType().getDims());
  Extents strides = stridesOver(*result, space);
  std::vector<double> &sums = result->storage->value;
  tape->walk(space, [&](int64_t start, int64_t count) {
    addStrided(sums.data(), space.shape, strides, start, count, tape->forward(start, count).value);
  });
  if (reduce.getKind() == attn::ReduceKind::Mean)
    for (double &sum : sums)
      sum /= static_cast<double>(reduced.size());
  return result;
}

ArrayValues::Result ArrayValues::softmaxValue(attn::SoftmaxOp softmax) {
  const Tensor &array = tensor(softmax.getOperand());
  auto [kept, reduced] = keptAndReduced(softmax.getOperand(), softmax.getDims());
  Result result = makeZeros(memory, spaceOf(softmax.getType().getDims()), ElementKind::Real);
  if (!result)
    return result;
  RowOffsets from(array, kept, reduced), to(*result, kept, reduced);
  std::vector<double> row, weights(from.elements.size());
  for (size_t r = 0; r < from.rows.size(); ++r) {
    gatherRow(array.value, from.rows[r], from.elements, row);
    softmaxOfRow(row, weights);
    for (auto [offset, weight] : llvm::zip_equal(to.elements, weights))
      result->storage->value[to.rows[r] + offset] = weight;
  }
  return result;
}

bool ArrayValues::isExpanded(attn::MapOp map) const {
  for (Value operand : map.getOperands())
    if (expandedDepth.lookup(operand) >= kMaxExpandedDepth)
      return false;
  if (map.getResult().use_empty())
    return false;
  Operation *user = *map.getResult().user_begin();
  if (!llvm::all_equal(map.getResult().getUsers()))
    return false;
  if (auto reduce = dyn_cast<attn::ReduceOp>(user))
    return isSum(reduce);
  // Expanding it into a map over more dims would compute its elements again and again.
  auto other = dyn_cast<attn::MapOp>(user);
  return other && other.getType().getDims() == map.getType().getDims();
}

} // namespace attnc::evaluator
