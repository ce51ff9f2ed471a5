#include "runtime/program/bind.h"

#include "runtime/program/disjoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace attnc {

namespace {

using Tensors = std::map<std::string, TensorRef>;

/// "q is declared at a.json:9:10", or nothing where the manifest does not say.
std::string declaredAt(const std::string &what, const std::string &place) {
  return place.empty() ? "" : fmt::format("{} is declared at {}", what, place);
}

/// Every declared tensor is given, and nothing else is.
Status checkNames(const std::vector<TensorDecl> &declared, const Tensors &given,
                  std::string_view what) {
  std::vector<std::string> names;
  for (const TensorDecl &tensor : declared) {
    names.push_back(tensor.name);
    if (!given.count(tensor.name))
      return invalidArgument(fmt::format("{} {} is missing", what, tensor.name));
  }
  for (const auto &[name, tensor] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return invalidArgument(fmt::format("unknown {} {}", what, name),
                             fmt::format("the {}s are: {}", what, fmt::join(names, ", ")));
  return {};
}

Status checkRank(const TensorDecl &decl, const TensorRef &tensor) {
  if (tensor.shape.size() != decl.dims.size())
    return invalidArgument(fmt::format("{}: has {} axes, expected {}: [{}]", decl.name,
                                       tensor.shape.size(), decl.dims.size(),
                                       fmt::join(decl.dims, ", ")),
                           declaredAt(decl.name, decl.place));
  if (tensor.strides.size() != tensor.shape.size())
    return invalidArgument(fmt::format("{}: has {} axes but {} strides", decl.name,
                                       tensor.shape.size(), tensor.strides.size()));
  return {};
}

/// The extents found so far, each with who said it, for messages.
class Sizes {
public:
  /// `where` says where the spec declares who says the extent; it may be empty.
  Status add(const std::string &dim, std::int64_t extent, const std::string &tensor,
             const std::string &source, const std::string &where = {}) {
    auto [found, isNew] = sizes.try_emplace(dim, extent);
    if (isNew)
      origins[dim] = {source, where};
    if (found->second == extent)
      return {};
    const Origin &origin = origins[dim];
    std::string prefix = tensor.empty() ? std::string() : tensor + ": ";
    return invalidArgument(
        fmt::format("{}dim {} is {} but {} {}", prefix, dim, extent, origin.source, found->second),
        fmt::format("{}{}{}", origin.where, origin.where.empty() || where.empty() ? "" : ", ",
                    where));
  }

  Status addTensor(const TensorDecl &decl, const TensorRef &tensor) {
    if (Status status = checkRank(decl, tensor); !status)
      return status;
    for (std::size_t axis = 0; axis < decl.dims.size(); ++axis)
      if (Status status = add(decl.dims[axis], tensor.shape[axis], decl.name, decl.name + " has",
                              declaredAt(decl.name, decl.place));
          !status)
        return status;
    return {};
  }

  std::map<std::string, std::int64_t> sizes;

private:
  struct Origin {
    std::string source, where;
  };
  std::map<std::string, Origin> origins;
};

bool isConstant(const DimDecl &dim) { return dim.extent && dim.extent->op == ExprOp::Integer; }

bool knowsSizes(const Expr &expr, const Sizes &sizes) {
  return (expr.op != ExprOp::Size || sizes.sizes.count(expr.name)) &&
         std::all_of(expr.operands.begin(), expr.operands.end(),
                     [&](const Expr &operand) { return knowsSizes(operand, sizes); });
}

/// An extent may be computed from others that are computed themselves, in any order.
Status addComputedDims(const Manifest &manifest, Sizes &sizes) {
  std::vector<const DimDecl *> waiting;
  for (const DimDecl &dim : manifest.dims)
    if (dim.extent && !isConstant(dim) && !Manifest::isOfMachine(dim))
      waiting.push_back(&dim);
  while (!waiting.empty()) {
    auto next = std::find_if(waiting.begin(), waiting.end(),
                             [&](const DimDecl *dim) { return knowsSizes(*dim->extent, sizes); });
    if (next == waiting.end())
      return {}; // checkExtents names what is unknown
    const DimDecl &dim = **next;
    Result<std::int64_t> extent = evaluateInteger(*dim.extent, {sizes.sizes, {}, {}});
    if (!extent)
      return invalidArgument(fmt::format("dim {}: {}", dim.name, extent.error().message));
    if (Status status = sizes.add(dim.name, *extent, "", "its definition gives"); !status)
      return status;
    waiting.erase(next);
  }
  return {};
}

Status checkRange(const DimDecl &dim, std::int64_t extent) {
  if (extent > maxExtent)
    return invalidArgument(
        fmt::format("dim {} is {}, but can be at most {}", dim.name, extent, maxExtent));
  if (extent < dim.min)
    return invalidArgument(
        fmt::format("dim {} is {}, but must be at least {}", dim.name, extent, dim.min));
  return {};
}

Status checkExtents(const Manifest &manifest, const Sizes &sizes) {
  for (const DimDecl &dim : manifest.dims) {
    if (Manifest::isOfMachine(dim))
      continue;
    auto found = sizes.sizes.find(dim.name);
    if (found == sizes.sizes.end())
      return invalidArgument(
          fmt::format("the extent of dim {} is unknown: no input carries it", dim.name),
          fmt::format("say it, as in --shape {}=...", dim.name));
    if (Status status = checkRange(dim, found->second); !status)
      return status;
  }
  return {};
}

std::string limitText(const ParamDecl &param) {
  std::vector<std::string> parts;
  if (param.min)
    parts.push_back(fmt::format("{} {}", param.min->open ? ">" : ">=", param.min->value));
  if (param.max)
    parts.push_back(fmt::format("{} {}", param.max->open ? "<" : "<=", param.max->value));
  return fmt::format("{}", fmt::join(parts, " and "));
}

/// The value as the kernel will see it, in the param's dtype.
Result<Scalar> convertParam(const ParamDecl &param, const Scalar &value) {
  if (param.dtype == DType::F32)
    return Scalar(static_cast<double>(static_cast<float>(toReal(value))));
  if (param.dtype == DType::F64)
    return Scalar(toReal(value));
  const auto *integer = std::get_if<std::int64_t>(&value);
  if (!integer)
    return invalidArgument(
        fmt::format("param {} is {}, but must be an integer", param.name, toText(value)));
  if (param.dtype == DType::I32 && *integer != static_cast<std::int32_t>(*integer))
    return invalidArgument(
        fmt::format("param {} is {}, which does not fit in i32", param.name, *integer));
  return value;
}

/// In the order of declaration: a default may use the params before it. A limit is checked on the
/// rounded value, so that a positive double that is 0 as f32 does not pass for positive. NaN is in
/// no range.
Status bindParams(const Manifest &manifest, const BindRequest &request, Scope &scope) {
  for (const auto &[name, value] : request.params)
    if (!manifest.findParam(name)) {
      std::vector<std::string> names;
      for (const ParamDecl &param : manifest.params)
        names.push_back(param.name);
      return invalidArgument(fmt::format("unknown param {}", name),
                             names.empty()
                                 ? "there are no params"
                                 : fmt::format("the params are: {}", fmt::join(names, ", ")));
    }
  for (const ParamDecl &param : manifest.params) {
    auto given = request.params.find(param.name);
    if (given == request.params.end() && !param.fallback)
      return invalidArgument(fmt::format("param {} is missing and has no default", param.name));
    Result<Scalar> value = given != request.params.end() ? Result<Scalar>(given->second)
                                                         : evaluate(*param.fallback, scope);
    if (!value)
      return invalidArgument(
          fmt::format("default of param {}: {}", param.name, value.error().message));
    value = convertParam(param, *value);
    if (!value)
      return value.error();
    double number = toReal(*value);
    bool above =
        !param.min || (param.min->open ? number > param.min->value : number >= param.min->value);
    bool below =
        !param.max || (param.max->open ? number < param.max->value : number <= param.max->value);
    if (!above || !below)
      return invalidArgument(fmt::format("param {} is {}, but must be {}", param.name,
                                         toText(*value), limitText(param)),
                             declaredAt("its range", param.place));
    scope.params[param.name] = *value;
  }
  return {};
}

void collectNames(const Expr &expr, std::set<std::string> &names) {
  if (!expr.name.empty())
    names.insert(expr.name);
  for (const Expr &operand : expr.operands)
    collectNames(operand, names);
}

Status checkRequires(const Manifest &manifest, const Scope &scope) {
  for (const RequireDecl &require : manifest.requires_) {
    Result<Scalar> holds = evaluate(require.expr, scope);
    if (!holds)
      return invalidArgument(
          fmt::format("requirement {}: {}", require.text, holds.error().message));
    if (isTrue(*holds))
      continue;
    std::set<std::string> names;
    collectNames(require.expr, names);
    std::vector<std::string> values;
    for (const std::string &name : names) {
      if (auto size = scope.sizes.find(name); size != scope.sizes.end())
        values.push_back(fmt::format("{} = {}", name, size->second));
      else if (auto let = scope.lets.find(name); let != scope.lets.end())
        values.push_back(fmt::format("{} = {}", name, toText(let->second)));
      else if (auto param = scope.params.find(name); param != scope.params.end())
        values.push_back(fmt::format("{} = {}", name, toText(param->second)));
    }
    return invalidArgument(
        fmt::format("requirement does not hold: {} ({})", require.text, fmt::join(values, ", ")),
        require.place.empty() ? "" : "it stands at " + require.place);
  }
  return {};
}

Status checkStrides(const TensorDecl &decl, const TensorRef &tensor) {
  std::size_t rank = tensor.shape.size();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (tensor.strides[axis] < 0)
      return invalidArgument(fmt::format("{}: the stride of dim {} is {}, but must not be negative",
                                         decl.name, decl.dims[axis], tensor.strides[axis]),
                             "pass a copy in the forward order");
    if (axis + 1 == rank && tensor.shape[axis] > 1 && tensor.strides[axis] != 1)
      return invalidArgument(
          fmt::format("{}: the last dim {} must be contiguous, but its stride is {}", decl.name,
                      decl.dims[axis], tensor.strides[axis]),
          "pass a contiguous copy");
  }
  if (!spanBytes(tensor))
    return invalidArgument(fmt::format("{}: its last element lies beyond 2^63 bytes", decl.name));
  return {};
}

Status checkTensor(const TensorDecl &decl, const TensorRef &tensor, const Device &device) {
  if (tensor.dtype != decl.dtype)
    return invalidArgument(
        fmt::format("{}: is {}, expected {}", decl.name, dtypeName(tensor.dtype),
                    dtypeName(decl.dtype)),
        fmt::format("convert {}, or compile the spec for {}", decl.name, dtypeName(tensor.dtype)));
  if (Status status = checkStrides(decl, tensor); !status)
    return status;
  if (*spanBytes(tensor) == 0)
    return {}; // an empty tensor may have any address
  if (tensor.data == nullptr)
    return nullData(decl);
  if (tensor.device != device)
    return invalidArgument(fmt::format("{}: is on {}, but the program runs on {}", decl.name,
                                       toText(tensor.device), toText(device)),
                           fmt::format("copy {} to {}", decl.name, toText(device)));
  return checkAlignment(decl, tensor, decl.align);
}

/// Inputs, then outputs; all are there.
std::vector<TensorRef> bySlot(const Manifest &manifest, const BindRequest &request) {
  std::vector<TensorRef> tensors;
  for (const TensorDecl &decl : manifest.inputs)
    tensors.push_back(request.inputs.at(decl.name));
  for (const TensorDecl &decl : manifest.outputs)
    tensors.push_back(request.outputs.at(decl.name));
  return tensors;
}

} // namespace

std::string toText(const Device &device) {
  return device.kind == DeviceKind::Cpu ? "cpu" : fmt::format("cuda:{}", device.ordinal);
}

std::vector<std::int64_t> contiguousStrides(const std::vector<std::int64_t> &shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  return strides;
}

TensorRef TensorRef::contiguous(void *data, DType dtype, std::vector<std::int64_t> shape,
                                Device device) {
  std::vector<std::int64_t> strides = contiguousStrides(shape);
  return {data, dtype, std::move(shape), std::move(strides), device};
}

Result<Scope> resolveSizes(const Manifest &manifest, const Tensors &inputs,
                           const std::map<std::string, std::int64_t> &extraSizes) {
  if (Status status = checkNames(manifest.inputs, inputs, "input"); !status)
    return status.error();
  Sizes sizes;
  for (const DimDecl &dim : manifest.dims)
    if (isConstant(dim))
      if (Status status = sizes.add(dim.name, dim.extent->integer, "", "the program has"); !status)
        return status.error();
  for (const TensorDecl &input : manifest.inputs)
    if (Status status = sizes.addTensor(input, inputs.at(input.name)); !status)
      return status.error();
  for (const auto &[dim, extent] : extraSizes) {
    const DimDecl *decl = manifest.findDim(dim);
    if (!decl || Manifest::isOfMachine(*decl))
      return invalidArgument(fmt::format("unknown dim {} in the given sizes", dim));
    if (Status status = sizes.add(dim, extent, "given size", "the caller gave"); !status)
      return status.error();
  }
  if (Status status = addComputedDims(manifest, sizes); !status)
    return status.error();
  if (Status status = checkExtents(manifest, sizes); !status)
    return status.error();

  Scope scope{std::move(sizes.sizes), {}, {}};
  for (const LetDecl &let : manifest.lets) {
    Result<Scalar> value = evaluate(let.expr, scope);
    if (!value)
      return invalidArgument(fmt::format("let {}: {}", let.name, value.error().message));
    scope.lets[let.name] = *value;
  }
  return scope;
}

Status addMachineSizes(const Manifest &manifest, Scope &scope, std::int64_t multiprocessors) {
  scope.multiprocessors = multiprocessors;
  for (const DimDecl &dim : manifest.dims) {
    if (!Manifest::isOfMachine(dim))
      continue;
    Result<std::int64_t> extent = evaluateInteger(*dim.extent, scope);
    if (!extent)
      return invalidArgument(fmt::format("dim {}: {}", dim.name, extent.error().message));
    if (Status status = checkRange(dim, *extent); !status)
      return status;
    scope.sizes[dim.name] = *extent;
  }
  return {};
}

Result<std::vector<std::int64_t>> shapeOf(const TensorDecl &tensor, const Scope &scope) {
  std::vector<std::int64_t> shape;
  auto bytes = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  for (const std::string &dim : tensor.dims) {
    auto found = scope.sizes.find(dim);
    if (found == scope.sizes.end())
      return invalidArgument(fmt::format("{}: the extent of dim {} is unknown", tensor.name, dim));
    shape.push_back(found->second);
    // Zero extents are counted as one: strides must fit as well.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(found->second, 1), &bytes))
      return invalidArgument(fmt::format("{}: [{}] has more than 2^63 bytes", tensor.name,
                                         fmt::join(tensor.dims, ", ")),
                             "choose smaller extents");
  }
  return shape;
}

Result<TensorRef> intermediateAt(void *data, const TensorDecl &decl, const Scope &scope) {
  Result<std::vector<std::int64_t>> shape = shapeOf(decl, scope);
  if (!shape)
    return shape.error();
  TensorRef tensor{data, decl.dtype, *std::move(shape), {}, {}};
  tensor.strides.resize(tensor.shape.size());
  auto size = static_cast<std::int64_t>(dtypeSize(decl.dtype));
  std::int64_t unit = std::max<std::int64_t>(decl.align / size, 1);
  std::int64_t stride = 1, bytes = 0;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    tensor.strides[axis] = stride;
    std::int64_t extent = std::max<std::int64_t>(tensor.shape[axis], 1);
    std::int64_t padding = axis + 1 == tensor.shape.size() ? (unit - extent % unit) % unit : 0;
    if (__builtin_add_overflow(extent, padding, &extent) ||
        __builtin_mul_overflow(stride, extent, &stride) ||
        __builtin_mul_overflow(stride, size, &bytes))
      return invalidArgument(
          fmt::format("{}: [{}] with rows padded to multiples of {} bytes has more than 2^63 bytes",
                      decl.name, fmt::join(decl.dims, ", "), decl.align));
  }
  return tensor;
}

Result<std::int64_t> intermediateBytes(const TensorDecl &decl, const TensorRef &tensor,
                                       const Scope &scope) {
  std::optional<std::int64_t> whole = spanBytes(tensor);
  if (whole && (!decl.window || *whole == 0))
    return *whole;
  Result<std::int64_t> count =
      decl.window ? evaluateInteger(decl.window->count, scope) : Result<std::int64_t>(0);
  if (!count)
    return count.error();
  std::int64_t bytes = static_cast<std::int64_t>(dtypeSize(decl.dtype));
  if (!decl.window || __builtin_mul_overflow(bytes, *count, &bytes) ||
      __builtin_mul_overflow(bytes, tensor.strides[static_cast<std::size_t>(decl.window->axes) - 1],
                             &bytes))
    return invalidArgument(fmt::format("{} has more than 2^63 bytes", decl.name));
  return bytes;
}

Status checkAlignment(const TensorDecl &decl, const TensorRef &tensor, std::int64_t align) {
  if (spanBytes(tensor) == 0)
    return {};
  auto size = static_cast<std::int64_t>(dtypeSize(decl.dtype));
  align = std::max(align, size);
  auto offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data) %
                                          static_cast<std::uintptr_t>(align));
  if (offset != 0)
    return invalidArgument(
        fmt::format("{}: its address is {} bytes past a multiple of {}", decl.name, offset, align),
        fmt::format("pass a tensor that starts at a multiple of {} bytes, or a copy", align));
  for (std::size_t axis = 0; axis + 1 < tensor.shape.size(); ++axis)
    if (tensor.shape[axis] > 1 && tensor.strides[axis] % (align / size) != 0)
      return invalidArgument(
          fmt::format(
              "{}: the stride of dim {} is {} elements ({} bytes), not a multiple of {} bytes",
              decl.name, decl.dims[axis], tensor.strides[axis],
              static_cast<double>(tensor.strides[axis]) * static_cast<double>(size), align),
          fmt::format("pad the rows of {} to multiples of {} elements, or pass a copy so padded",
                      decl.name, align / size));
  return {};
}

Status checkAliasing(const Manifest &manifest, std::span<const TensorRef> tensors) {
  std::size_t inputs = manifest.inputs.size();
  for (std::size_t index = 0; index < manifest.outputs.size(); ++index) {
    const std::string &name = manifest.outputs[index].name;
    const TensorRef &output = tensors[inputs + index];
    if (*spanBytes(output) == 0)
      continue;
    if (!elementsAreDistinct(output))
      return invalidArgument(fmt::format("output {}: several elements share memory (strides {})",
                                         name, fmt::join(output.strides, ", ")),
                             "pass memory with a place for every element");
    for (std::size_t other = 0; other < inputs + index; ++other)
      if (!areDisjoint(output, tensors[other]))
        return invalidArgument(other < inputs
                                   ? fmt::format("output {} overlaps input {} in memory", name,
                                                 manifest.inputs[other].name)
                                   : fmt::format("output {} overlaps output {} in memory", name,
                                                 manifest.outputs[other - inputs].name),
                               fmt::format("give {} memory of its own", name));
  }
  return {};
}

Error nullData(const TensorDecl &decl) {
  return invalidArgument(fmt::format("{}: its data pointer is null", decl.name));
}

Result<Binding> bind(const Manifest &manifest, const BindRequest &request) {
  Result<Scope> scope = resolveSizes(manifest, request.inputs, request.extraSizes);
  if (!scope)
    return scope.error();
  if (Status status = checkNames(manifest.outputs, request.outputs, "output"); !status)
    return status.error();
  Binding binding{*std::move(scope), {}};
  binding.memoryBudget = request.memoryBudget ? request.memoryBudget : manifest.memoryBudget;
  for (const TensorDecl &input : manifest.inputs)
    if (Status status = checkTensor(input, request.inputs.at(input.name), request.device); !status)
      return status.error();
  for (const TensorDecl &decl : manifest.outputs) {
    const TensorRef &output = request.outputs.at(decl.name);
    if (Status status = checkRank(decl, output); !status)
      return status.error();
    for (std::size_t axis = 0; axis < decl.dims.size(); ++axis)
      if (std::int64_t extent = binding.scope.sizes.at(decl.dims[axis]);
          extent != output.shape[axis])
        return invalidArgument(fmt::format("{}: dim {} is {} but must be {}", decl.name,
                                           decl.dims[axis], output.shape[axis], extent),
                               declaredAt("output " + decl.name, decl.place));
    if (Status status = checkTensor(decl, output, request.device); !status)
      return status.error();
  }
  if (Status status = checkAliasing(manifest, bySlot(manifest, request)); !status)
    return status.error();
  if (Status status = bindParams(manifest, request, binding.scope); !status)
    return status.error();
  if (Status status = checkRequires(manifest, binding.scope); !status)
    return status.error();
  binding.tensors = request.inputs;
  binding.tensors.insert(request.outputs.begin(), request.outputs.end());
  return binding;
}

} // namespace attnc
