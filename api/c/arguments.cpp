#include "api/c/arguments.h"
#include "api/c/handles.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attnc::api {

namespace {

/// More axes than any spec has: a rank above it is memory that nobody has set.
constexpr int32_t maxRank = 64;

Result<DType> readDType(int32_t type, const std::string &name) {
  constexpr DType types[] = {DType::F16, DType::BF16, DType::F32, DType::F64,
                             DType::I8,  DType::I32,  DType::I64, DType::U8};
  static_assert(ATTNC_F16 == 0 && ATTNC_U8 == std::size(types) - 1);
  if (type < 0 || static_cast<std::size_t>(type) >= std::size(types))
    return invalidArgument(fmt::format("{}: {} is no element type", name, type),
                           "use ATTNC_F16 to ATTNC_U8");
  return types[type];
}

/// bind refuses shapes that are too large, but only once there are strides.
Result<std::vector<std::int64_t>> denseStrides(const std::vector<std::int64_t> &shape,
                                               const std::string &name) {
  std::int64_t product = 1;
  for (std::int64_t extent : shape)
    if (extent < 0 || extent > maxExtent ||
        __builtin_mul_overflow(product, std::max<std::int64_t>(extent, 1), &product))
      return invalidArgument(
          fmt::format("{}: [{}] is no shape of a tensor", name, fmt::join(shape, ", ")));
  return contiguousStrides(shape);
}

Result<TensorRef> readTensor(const attnc_tensor &c, const std::string &name, const Device &device) {
  if (c.rank < 0 || c.rank > maxRank || (c.rank > 0 && !c.shape))
    return invalidArgument(
        fmt::format("{}: has rank {} and {}", name, c.rank, c.shape ? "a shape" : "no shape"));
  Result<DType> type = readDType(c.dtype, name);
  if (!type)
    return type.error();
  TensorRef tensor{c.data, *type, {}, {}, device};
  if (c.rank > 0)
    tensor.shape.assign(c.shape, c.shape + c.rank);
  if (c.strides) {
    tensor.strides.assign(c.strides, c.strides + c.rank);
    return tensor;
  }
  Result<std::vector<std::int64_t>> strides = denseStrides(tensor.shape, name);
  if (!strides)
    return strides.error();
  tensor.strides = *std::move(strides);
  return tensor;
}

std::vector<std::string> tensorNames(const Manifest &manifest) {
  std::vector<std::string> names;
  for (const auto *group : {&manifest.inputs, &manifest.outputs})
    for (const TensorDecl &tensor : *group)
      names.push_back(tensor.name);
  return names;
}

bool isNamed(const std::vector<TensorDecl> &group, const std::string &name) {
  return std::any_of(group.begin(), group.end(),
                     [&](const TensorDecl &tensor) { return tensor.name == name; });
}

Status addTensor(const Manifest &manifest, const attnc_tensor &c, std::size_t position,
                 const Device &device, BindRequest &request) {
  std::vector<std::string> names = tensorNames(manifest);
  if (!c.name && position >= names.size())
    return invalidArgument(fmt::format("tensor {} has no name and the program has {} tensors",
                                       position, names.size()));
  std::string name = c.name ? c.name : names[position];
  bool input = isNamed(manifest.inputs, name);
  if (!input && !isNamed(manifest.outputs, name))
    return invalidArgument(fmt::format("there is no tensor {}", name),
                           fmt::format("the tensors are: {}", fmt::join(names, ", ")));
  Result<TensorRef> tensor = readTensor(c, name, device);
  if (!tensor)
    return tensor.error();
  auto &group = input ? request.inputs : request.outputs;
  if (!group.emplace(name, *std::move(tensor)).second)
    return invalidArgument(fmt::format("tensor {} is given twice", name));
  return {};
}

/// Dims that no input carries, from the outputs that are given.
void addExtraSizes(const Manifest &manifest, BindRequest &request) {
  auto carries = [](const TensorDecl &tensor, const std::string &dim) {
    return std::find(tensor.dims.begin(), tensor.dims.end(), dim) != tensor.dims.end();
  };
  for (const DimDecl &dim : manifest.dims) {
    auto carriesDim = [&](const TensorDecl &tensor) { return carries(tensor, dim.name); };
    if (dim.extent || std::any_of(manifest.inputs.begin(), manifest.inputs.end(), carriesDim))
      continue;
    for (const TensorDecl &output : manifest.outputs) {
      auto given = request.outputs.find(output.name);
      auto axis = std::find(output.dims.begin(), output.dims.end(), dim.name);
      if (given == request.outputs.end() || axis == output.dims.end() ||
          given->second.shape.size() != output.dims.size())
        continue;
      request.extraSizes[dim.name] = given->second.shape[axis - output.dims.begin()];
    }
  }
}

Status addParam(const attnc_param &c, BindRequest &request) {
  if (!c.name)
    return invalidArgument("a param has no name");
  Scalar value = c.is_integer ? Scalar(c.integer) : Scalar(c.real);
  if (!request.params.emplace(c.name, value).second)
    return invalidArgument(fmt::format("param {} is given twice", c.name));
  return {};
}

std::size_t tensorCount(const Manifest &manifest) {
  return manifest.inputs.size() + manifest.outputs.size();
}

const TensorDecl &tensorAt(const Manifest &manifest, std::size_t slot) {
  std::size_t inputs = manifest.inputs.size();
  return slot < inputs ? manifest.inputs[slot] : manifest.outputs[slot - inputs];
}

/// The slot of a tensor that is given at `position`, which is where it is mostly; else the number
/// of tensors.
std::size_t slotOf(const Manifest &manifest, const attnc_tensor &c, std::size_t position) {
  std::size_t count = tensorCount(manifest);
  if (!c.name || (position < count && tensorAt(manifest, position).name == c.name))
    return std::min(position, count);
  std::size_t slot = 0;
  while (slot < count && tensorAt(manifest, slot).name != c.name)
    ++slot;
  return slot;
}

/// Appends all of a tensor but its address.
bool addWords(const attnc_tensor &c, std::size_t slot, std::vector<std::int64_t> &words) {
  if (c.rank < 0 || c.rank > maxRank || (c.rank > 0 && !c.shape))
    return false;
  words.insert(words.end(), {static_cast<std::int64_t>(slot), c.dtype, c.rank, c.strides ? 1 : 0,
                             alignmentClass(c.data)});
  words.insert(words.end(), c.shape, c.shape + c.rank);
  if (c.strides)
    words.insert(words.end(), c.strides, c.strides + c.rank);
  return true;
}

bool addWords(const Manifest &manifest, const attnc_param &c, std::size_t position,
              std::vector<std::int64_t> &words) {
  const std::vector<ParamDecl> &params = manifest.params;
  if (!c.name)
    return false;
  if (position >= params.size() || params[position].name != c.name)
    for (position = 0; position < params.size() && params[position].name != c.name;)
      ++position;
  words.insert(words.end(), {static_cast<std::int64_t>(position), c.is_integer ? 1 : 0,
                             c.is_integer ? c.integer : std::bit_cast<std::int64_t>(c.real)});
  return position < params.size();
}

} // namespace

bool readSlots(const Manifest &manifest, const attnc_arguments *given, SlottedCall &call) {
  Result<attnc_arguments> c = readStruct(given, "attnc_arguments");
  std::size_t count = tensorCount(manifest);
  if (!c || c->tensor_count != count || (count > 0 && !c->tensors) ||
      c->param_count > manifest.params.size() || (c->param_count && !c->params))
    return false;
  std::vector<std::int64_t> &words = call.key.words;
  words.reserve(16 * (count + 1));
  call.tensors.resize(count);
  for (std::size_t position = 0; position < count; ++position) {
    const attnc_tensor &tensor = c->tensors[position];
    std::size_t slot = slotOf(manifest, tensor, position);
    if (slot == count || !addWords(tensor, slot, words))
      return false;
    call.tensors[slot] = tensor.data;
  }
  for (std::size_t position = 0; position < c->param_count; ++position)
    if (!addWords(manifest, c->params[position], position, words))
      return false;
  if (c->memory_budget)
    words.push_back(*c->memory_budget);
  words.push_back(c->memory_budget ? 1 : 0);
  return true;
}

Result<BindRequest> readArguments(const Manifest &manifest, const attnc_arguments *given,
                                  const Device &device) {
  Result<attnc_arguments> c = readStruct(given, "attnc_arguments");
  if (!c)
    return c.error();
  if ((c->tensor_count && !c->tensors) || (c->param_count && !c->params))
    return invalidArgument("an array of arguments is NULL but its count is not 0");
  BindRequest request;
  request.device = device;
  for (std::size_t i = 0; i < c->tensor_count; ++i)
    if (Status status = addTensor(manifest, c->tensors[i], i, device, request); !status)
      return status.error();
  for (std::size_t i = 0; i < c->param_count; ++i)
    if (Status status = addParam(c->params[i], request); !status)
      return status.error();
  addExtraSizes(manifest, request);
  if (c->memory_budget && *c->memory_budget < 0)
    return invalidArgument(fmt::format("the memory budget is {} bytes", *c->memory_budget),
                           "pass NULL for none");
  if (c->memory_budget)
    request.memoryBudget = *c->memory_budget;
  return request;
}

} // namespace attnc::api
