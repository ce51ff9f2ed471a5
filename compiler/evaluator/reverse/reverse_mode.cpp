#include "compiler/evaluator/reverse/reverse_mode.h"
#include "compiler/evaluator/reverse/backward_pass.h"
#include "compiler/evaluator/tolerance/error_rules.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// The input or param of this name, or null.
Operation *findSource(attn::ProgramOp program, StringRef name) {
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
    if (input.getName() == name)
      return input;
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>())
    if (param.getName() == name)
      return param;
  return nullptr;
}

llvm::Expected<std::vector<Value>> findWanted(attn::ProgramOp program,
                                              const std::vector<std::string> &names) {
  std::vector<Value> wanted;
  for (const std::string &name : names) {
    Operation *source = findSource(program, name);
    if (!source)
      return llvm::createStringError("no input or param is called '%s': it has no gradient",
                                     name.c_str());
    if (!isReal(source->getResult(0)))
      return locatedAt(
          *source, llvm::createStringError("'%s' is not real: it has no gradient", name.c_str()));
    wanted.push_back(source->getResult(0));
  }
  return wanted;
}

llvm::Error checkCotangent(attn::OutputOp output, const Array &cotangent,
                           const std::map<std::string, int64_t> &extents) {
  std::string name = output.getName().str();
  if (!isReal(output.getValue()))
    return llvm::createStringError("the output '%s' is not real: it has no cotangent",
                                   name.c_str());
  std::vector<int64_t> shape;
  for (StringAttr dim : attn::dimNames(output.getDims()))
    shape.push_back(extents.at(dim.str()));
  if (cotangent.kind != ElementKind::Real || cotangent.shape != shape ||
      cotangent.value.size() != static_cast<size_t>(product(shape)))
    return llvm::createStringError("the cotangent of '%s' is not an array of reals of its shape",
                                   name.c_str());
  return llvm::Error::success();
}

llvm::Error checkCotangents(attn::ProgramOp program, const std::map<std::string, Array> &cotangents,
                            const std::map<std::string, int64_t> &extents) {
  for (const auto &[name, cotangent] : cotangents) {
    auto outputs = program.getBodyBlock()->getOps<attn::OutputOp>();
    auto output = llvm::find_if(outputs, [&](attn::OutputOp op) { return op.getName() == name; });
    if (output == outputs.end())
      return llvm::createStringError("no output is called '%s'", name.c_str());
    if (llvm::Error error = checkCotangent(*output, cotangent, extents))
      return locatedAt(**output, std::move(error));
  }
  return llvm::Error::success();
}

llvm::Error checkOptions(const EvalOptions &options) {
  if (options.precision != Precision::Double)
    return llvm::createStringError("the reverse mode computes in float64 only");
  if (!options.sample.empty())
    return llvm::createStringError("the reverse mode needs all elements: no dim can be sampled");
  return llvm::Error::success();
}

/// Each op on the way back rounds once or a few times.
double roundingsOnTheWay(attn::ProgramOp program) {
  double ops = 0;
  program.walk([&](Operation *op) { ops += op->getNumResults() > 0; });
  return ops;
}

/// The adjoint of an input or param as an array of its own; zeros if nothing has reached it.
Array gradientOf(Value source, const Adjoints &adjoints, const ArrayValues &values) {
  Space space = values.spaceOf(cast<attn::ArrayType>(source.getType()).getDims());
  Array gradient;
  for (StringAttr dim : space.dims)
    gradient.dims.push_back(dim.str());
  gradient.shape.assign(space.shape.begin(), space.shape.end());
  if (const Tensor *adjoint = adjoints.find(source))
    gradient.value = adjoint->storage->value;
  else
    gradient.value.resize(space.size());
  return gradient;
}

/// The bound that magnitudes make: nothing is said where they are not finite.
void boundBy(Array &gradient, const Array &magnitudes, double roundings) {
  gradient.error.resize(gradient.value.size());
  for (auto [error, magnitude] : llvm::zip_equal(gradient.error, magnitudes.value))
    error = std::isfinite(magnitude) ? roundings * kUnitF64 * magnitude : 0;
}

} // namespace

llvm::Expected<std::map<std::string, Array>>
reverseMode(attn::ProgramOp program, const EvalInputs &inputs,
            const std::map<std::string, Array> &cotangents, const std::vector<std::string> &names,
            const EvalOptions &options) {
  if (llvm::Error error = checkOptions(options))
    return error;
  llvm::Expected<std::map<std::string, int64_t>> extents = bindExtents(program, inputs);
  if (!extents)
    return extents.takeError();
  llvm::Expected<std::vector<Value>> wanted = findWanted(program, names);
  if (!wanted)
    return wanted.takeError();
  if (llvm::Error error = checkCotangents(program, cotangents, *extents))
    return error;
  Memory memory(options.memoryLimit);
  ArrayValues values(program, inputs, *extents, memory);
  if (llvm::Error error = values.compute())
    return error;
  Adjoints adjoints(program, *wanted, values, memory);
  if (llvm::Error error = BackwardPass(program, values, adjoints).run(cotangents))
    return error;
  Adjoints magnitudes(program, *wanted, values, memory, Sweep::Magnitudes);
  if (llvm::Error error = BackwardPass(program, values, magnitudes).run(cotangents))
    return error;
  std::map<std::string, Array> gradients;
  for (auto [name, source] : llvm::zip_equal(names, *wanted)) {
    gradients[name] = gradientOf(source, adjoints, values);
    boundBy(gradients[name], gradientOf(source, magnitudes, values), roundingsOnTheWay(program));
  }
  return gradients;
}

} // namespace attnc::evaluator
