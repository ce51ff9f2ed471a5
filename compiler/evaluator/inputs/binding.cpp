#include "compiler/evaluator/inputs/binding.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/evaluator/float64/scalar_program.h"
#include "compiler/evaluator/inputs/positive_dims.h"
#include "compiler/evaluator/tolerance/error_rules.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

llvm::Error checkArray(attn::InputOp input, const Array &array) {
  std::string name = input.getName().str();
  size_t rank = input.getType().getDims().size();
  if (array.shape.size() != rank)
    return llvm::createStringError("input '%s' has %zu axes and is given with %zu", name.c_str(),
                                   rank, array.shape.size());
  size_t held = array.kind == ElementKind::Real ? array.value.size() : array.integer.size();
  if (held != static_cast<size_t>(array.size()))
    return llvm::createStringError("input '%s' holds %zu elements; its shape has %lld",
                                   name.c_str(), held, static_cast<long long>(array.size()));
  bool real = isa<FloatType>(input.getType().getElementType());
  if (real != (array.kind == ElementKind::Real))
    return llvm::createStringError("input '%s' is given with elements of another kind",
                                   name.c_str());
  return llvm::Error::success();
}

/// Notes that `dim` has `extent`, as `who` says.
llvm::Error agree(std::map<std::string, int64_t> &extents, StringAttr dim, int64_t extent,
                  const std::string &who) {
  if (extent < 0)
    return llvm::createStringError("%s gives dim '%s' the extent %lld, which is negative",
                                   who.c_str(), dim.str().c_str(), static_cast<long long>(extent));
  auto [entry, fresh] = extents.try_emplace(dim.str(), extent);
  if (!fresh && entry->second != extent)
    return llvm::createStringError("%s gives dim '%s' the extent %lld; elsewhere it is %lld",
                                   who.c_str(), dim.str().c_str(), static_cast<long long>(extent),
                                   static_cast<long long>(entry->second));
  return llvm::Error::success();
}

bool knowsSizes(const Expr &expr, const std::map<std::string, int64_t> &extents) {
  return (expr.op != ExprOp::Size || extents.contains(expr.name)) &&
         llvm::all_of(expr.operands,
                      [&](const Expr &operand) { return knowsSizes(operand, extents); });
}

const Array *find(attn::InputOp input, const EvalInputs &inputs) {
  auto found = inputs.tensors.find(input.getName().str());
  return found == inputs.tensors.end() ? nullptr : &found->second;
}

} // namespace

llvm::Error completeExtents(attn::ProgramOp program, std::map<std::string, int64_t> &extents) {
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (dim.isStatic())
      if (llvm::Error error = agree(extents, dim.getName(), dim.getExtent(), "the spec"))
        return error;
  for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>()) {
    if (!extent.getValue().getType().isScalar())
      continue;
    std::string place = placePrefix(extent.getLoc());
    Result<Expr> expr = hostExpression(extent.getValue());
    if (!expr)
      return llvm::createStringError(expr.error().message.c_str());
    if (!knowsSizes(*expr, extents))
      continue;
    Result<int64_t> value = evaluateInteger(*expr, {extents, {}, {}});
    if (!value)
      return llvm::createStringError("%sdim '%s': %s", place.c_str(), extent.getDim().str().c_str(),
                                     value.error().message.c_str());
    if (llvm::Error error = agree(extents, extent.getDimAttr(), *value,
                                  place + "the definition of '" + extent.getDim().str() + "'"))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::map<std::string, int64_t>> bindExtents(attn::ProgramOp program,
                                                           const EvalInputs &inputs) {
  std::map<std::string, int64_t> extents;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (dim.isStatic())
      extents[dim.getName().str()] = dim.getExtent();
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>()) {
    const Array *array = find(input, inputs);
    if (!array)
      return llvm::createStringError("input '%s' is missing", input.getName().str().c_str());
    if (llvm::Error error = checkArray(input, *array))
      return error;
    for (auto [dim, extent] : llvm::zip_equal(input.getType().getDims(), array->shape))
      if (llvm::Error error = agree(extents, dim, extent, "input '" + input.getName().str() + "'"))
        return error;
  }
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (auto given = inputs.extents.find(dim.getName().str()); given != inputs.extents.end())
      if (llvm::Error error = agree(extents, dim.getName(), given->second, "the caller"))
        return error;
  if (llvm::Error error = completeExtents(program, extents))
    return error;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (!extents.contains(dim.getName().str()))
      return llvm::createStringError(
          "dim '%s' has no extent: no input carries it and the caller does not give one",
          dim.getName().str().c_str());
  for (StringAttr dim : positiveDims(program))
    if (extents.at(dim.str()) < 1)
      return llvm::createStringError("dim '%s' is 0, but must be at least 1", dim.str().c_str());
  return extents;
}

llvm::Expected<Tensor> bindInput(attn::InputOp input, const EvalInputs &inputs) {
  const Array *array = find(input, inputs);
  if (!array)
    return llvm::createStringError("input '%s' is missing", input.getName().str().c_str());
  Tensor tensor;
  tensor.dims.assign(input.getType().getDims().begin(), input.getType().getDims().end());
  tensor.shape.assign(array->shape.begin(), array->shape.end());
  tensor.strides = rowMajor(tensor.shape);
  tensor.kind = kindOf(input.getType().getElementType());
  tensor.value = array->value.data();
  tensor.integer = array->integer.data();
  tensor.isRead = true;
  Type element = input.getType().getElementType();
  if (element.isF16() || element.isBF16()) {
    StorageRounding rounding = storageRounding(element);
    tensor.narrowUnit = rounding.unit;
    // Half the smallest subnormal; that of bf16 lies below everything in f32.
    tensor.narrowFloor = element.isF16() ? 0x1p-25 : 0;
  }
  return tensor;
}

llvm::Error checkRange(attn::ParamOp param, double value) {
  bool below =
      param.getLower() && (param.getLowerOpen() ? value <= param.getLower()->convertToDouble()
                                                : value < param.getLower()->convertToDouble());
  bool above =
      param.getUpper() && (param.getUpperOpen() ? value >= param.getUpper()->convertToDouble()
                                                : value > param.getUpper()->convertToDouble());
  // As programs take them, whose bounds of tiles add indices to params.
  bool huge = isa<IntegerType>(param.getType().getElementType()) && std::fabs(value) > 0x1p40;
  if (!below && !above && !huge && !(std::isnan(value) && (param.getLower() || param.getUpper())))
    return llvm::Error::success();
  return llvm::createStringError("%sparam '%s' is %g, outside its range",
                                 placePrefix(param.getLoc()).c_str(), param.getName().str().c_str(),
                                 value);
}

llvm::Expected<std::optional<double>> bindParam(attn::ParamOp param, const EvalInputs &inputs) {
  auto found = inputs.params.find(param.getName().str());
  if (found == inputs.params.end())
    return std::nullopt;
  double value = found->second;
  if (param.getType().getElementType().isF32())
    value = static_cast<float>(value);
  if (llvm::Error error = checkRange(param, value))
    return error;
  return value;
}

StorageRounding storageRounding(Type type) {
  // A store into f32 or bf16 may flush subnormals; f16 keeps them.
  if (type.isF16())
    return {kUnitF16, 0x1p-25, 65504};
  if (type.isBF16())
    return {kUnitBF16, kFlushF32, 0x1.FEp127};
  if (type.isF32())
    return {kUnitF32, kFlushF32, std::numeric_limits<float>::max()};
  if (type.isF64())
    return {kUnitF64, std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};
  return {0, 0, kUnknown};
}

} // namespace attnc::evaluator
