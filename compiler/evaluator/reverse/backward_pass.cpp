#include "compiler/evaluator/reverse/backward_pass.h"
#include "compiler/evaluator/reverse/map_tape.h"
#include "compiler/evaluator/reverse/read_gradient.h"
#include "compiler/evaluator/reverse/row_rules.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

ArrayRef<StringAttr> dimsOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getDims();
}

} // namespace

void BackwardPass::addRow(const Tensor &adjoint, int64_t row, ArrayRef<int64_t> elements,
                          ArrayRef<double> gradient) {
  for (auto [offset, share] : llvm::zip_equal(elements, gradient))
    adjoint.storage->value[row + offset] += adjoints.counted(share);
}

llvm::Error BackwardPass::run(const std::map<std::string, Array> &cotangents) {
  for (Operation &op : llvm::reverse(*program.getBodyBlock())) {
    if (auto output = dyn_cast<attn::OutputOp>(op)) {
      auto found = cotangents.find(output.getName().str());
      if (found != cotangents.end())
        if (llvm::Error error = locatedAt(op, passOutput(output, found->second)))
          return error;
      continue;
    }
    if (op.getNumResults() == 0 || isa<attn::InputOp, attn::ParamOp>(op))
      continue;
    const Tensor *found = adjoints.find(op.getResult(0));
    if (!found)
      continue;
    Tensor g = *found;
    if (llvm::Error error = locatedAt(op, passOn(op, g)))
      return error;
    adjoints.drop(op.getResult(0));
  }
  return llvm::Error::success();
}

llvm::Error BackwardPass::passOutput(attn::OutputOp output, const Array &cotangent) {
  if (!adjoints.isActive(output.getValue()))
    return llvm::Error::success();
  llvm::Expected<Tensor> adjoint = adjoints.of(output.getValue());
  if (!adjoint)
    return adjoint.takeError();
  Space stored = values.spaceOf(attn::dimNames(output.getDims()));
  std::vector<int64_t> offsets = offsetsOf(stored.shape, stridesOver(*adjoint, stored));
  addRow(*adjoint, 0, offsets, cotangent.value);
  return llvm::Error::success();
}

llvm::Error BackwardPass::passOn(Operation &op, const Tensor &g) {
  return llvm::TypeSwitch<Operation *, llvm::Error>(&op)
      .Case([&](attn::MapOp map) { return passMap(map, g); })
      .Case([&](attn::ReduceOp reduce) {
        return isSum(reduce) ? passSum(reduce, g) : passReduce(reduce, g);
      })
      .Case([&](attn::SoftmaxOp softmax) { return passSoftmax(softmax, g); })
      .Case([&](attn::ReadOp read) { return passRead(read, g); })
      .Default([](Operation *op) {
        return llvm::createStringError("the reverse mode has no rule for %s",
                                       op->getName().getStringRef().str().c_str());
      });
}

llvm::Error BackwardPass::passMap(attn::MapOp map, const Tensor &g) {
  llvm::Expected<MapTape> tape = MapTape::ofMap(map, values);
  if (!tape)
    return tape.takeError();
  if (llvm::Error error = tape->differentiate(adjoints))
    return error;
  tape->walk(values.spaceOf(dimsOf(map.getResult())), [&](int64_t start, int64_t count) {
    tape->forward(start, count);
    tape->backward(start, count, ArrayRef(g.storage->value).slice(start, count));
  });
  return llvm::Error::success();
}

llvm::Error BackwardPass::passSum(attn::ReduceOp reduce, const Tensor &g) {
  llvm::Expected<MapTape> tape = MapTape::ofOperand(reduce.getOperand(), values);
  if (!tape)
    return tape.takeError();
  if (llvm::Error error = tape->differentiate(adjoints))
    return error;
  double terms = 1;
  if (reduce.getKind() == attn::ReduceKind::Mean)
    terms = static_cast<double>(
        values.keptAndReduced(reduce.getOperand(), reduce.getDims()).second.size());
  Space space = values.spaceOf(dimsOf(reduce.getOperand()));
  Extents strides = stridesOver(g, space);
  std::vector<double> seed(kChunk);
  tape->walk(space, [&](int64_t start, int64_t count) {
    tape->forward(start, count);
    loadStrided(g.value, space.shape, strides, start, count, seed);
    for (double &share : MutableArrayRef(seed).take_front(count))
      share /= terms;
    tape->backward(start, count, ArrayRef(seed).take_front(count));
  });
  return llvm::Error::success();
}

llvm::Error BackwardPass::passReduce(attn::ReduceOp reduce, const Tensor &g) {
  llvm::Expected<Tensor> adjoint = adjoints.of(reduce.getOperand());
  if (!adjoint)
    return adjoint.takeError();
  auto [kept, reduced] = values.keptAndReduced(reduce.getOperand(), reduce.getDims());
  const Tensor &array = values.tensor(reduce.getOperand());
  const Tensor &result = values.tensor(reduce.getResult());
  RowOffsets from(array, kept, reduced), to(*adjoint, kept, reduced);
  std::vector<double> row, gradient(from.elements.size());
  for (size_t r = 0; r < from.rows.size(); ++r) {
    gatherRow(array.value, from.rows[r], from.elements, row);
    gradientOfReducedRow(reduce.getKind(), row, result.value[r], g.value[r], gradient);
    addRow(*adjoint, to.rows[r], to.elements, gradient);
  }
  return llvm::Error::success();
}

llvm::Error BackwardPass::passSoftmax(attn::SoftmaxOp softmax, const Tensor &g) {
  llvm::Expected<Tensor> adjoint = adjoints.of(softmax.getOperand());
  if (!adjoint)
    return adjoint.takeError();
  auto [kept, reduced] = values.keptAndReduced(softmax.getOperand(), softmax.getDims());
  const Tensor &result = values.tensor(softmax.getResult());
  // The weights, their adjoints and those of the operand are dense arrays over the same dims.
  RowOffsets offsets(result, kept, reduced);
  std::vector<double> weights, ofWeights, gradient(offsets.elements.size());
  for (int64_t row : offsets.rows) {
    gatherRow(result.value, row, offsets.elements, weights);
    gatherRow(g.value, row, offsets.elements, ofWeights);
    gradientOfSoftmaxRow(weights, ofWeights, gradient, adjoints.sweep());
    addRow(*adjoint, row, offsets.elements, gradient);
  }
  return llvm::Error::success();
}

llvm::Error BackwardPass::passRead(attn::ReadOp read, const Tensor &g) {
  llvm::Expected<Tensor> adjoint = adjoints.of(read.getSource());
  if (!adjoint)
    return adjoint.takeError();
  std::vector<AxisSelector> axes;
  for (auto [axis, extent] : llvm::enumerate(adjoint->shape)) {
    AxisSelector selector{extent, read.subscriptDim(axis), {}};
    if (Value index = read.subscriptValue(axis))
      selector.index = values.tensor(index);
    axes.push_back(std::move(selector));
  }
  addReadGradient(axes, values.spaceOf(read.getType().getDims()), g.storage->value,
                  adjoint->storage->value);
  return llvm::Error::success();
}

} // namespace attnc::evaluator
