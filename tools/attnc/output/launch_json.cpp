#include "tools/attnc/output/launch_json.h"
#include "runtime/cuda/launch_numbers.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

/// Bytes to which intermediates and counters in the workspace, and the workspace, are aligned.
constexpr int workspaceAlign = 256;

/// A parameter's type in a launcher in C, with its size and alignment there and in the kernel.
struct CType {
  const char *name;
  int bytes, align;
};

constexpr CType address = {"CUdeviceptr", 8, 8}, map = {"CUtensorMap", 128, 64};

CType scalarType(DType type) {
  switch (type) {
  case DType::F32:
    return {"float", 4, 4};
  case DType::F64:
    return {"double", 8, 8};
  case DType::I32:
    return {"int32_t", 4, 4};
  default: // no other type is passed by value
    return {"int64_t", 8, 8};
  }
}

/// What is said of a parameter before its place is known.
struct Parameter {
  std::string name;
  const char *kind;
  CType type;
};

Parameter describe(const ArgDecl &arg, const Manifest &manifest) {
  switch (arg.kind) {
  case ArgKind::Pointer:
    return {arg.name, "pointer", address};
  case ArgKind::Stride:
    return {fmt::format("{}_stride{}", arg.name, arg.axis), "stride", scalarType(DType::I64)};
  case ArgKind::Size:
    return {"size_" + arg.name, "size", scalarType(DType::I64)};
  case ArgKind::Param:
    return {arg.name, "param", scalarType(manifest.findParam(arg.name)->dtype)};
  case ArgKind::Expr:
    return {"value", "expr", scalarType(arg.type)};
  case ArgKind::TensorMap:
    return {arg.name + "_map", "tensor_map", map};
  case ArgKind::Counter:
    return {"drawn", "counter", address};
  }
  return {};
}

/// The numbers with which the driver encodes a map; addresses and strides come from the tensor.
Json encodingOf(const ArgDecl &arg, const TensorDecl &tensor) {
  Json dims(std::vector<std::string>(tensor.dims.rbegin(), tensor.dims.rend()));
  for (int axis = 0; tensor.window && axis < tensor.window->axes; ++axis)
    dims[tensor.dims.size() - 1 - static_cast<std::size_t>(axis)] =
        axis + 1 == tensor.window->axes ? exprToJson(tensor.window->count) : Json(1);
  return {{"data_type", tensorMapDataType(tensor.dtype)},
          {"rank", tensor.dims.size()},
          {"dims", dims},
          {"box", arg.box},
          {"element_strides", std::vector<int>(tensor.dims.size(), 1)},
          {"interleave", tensorMapInterleave},
          {"swizzle", tensorMapSwizzle(arg.swizzle)},
          {"l2_promotion", tensorMapL2Promotion},
          {"fill", tensorMapFill}};
}

/// The parameters of a kernel, from the arguments of one of its launches: all have the same types.
Json parametersOf(const LaunchDecl &launch, const Manifest &manifest) {
  Json list = Json::array();
  int end = 0;
  for (const ArgDecl &arg : launch.args) {
    Parameter parameter = describe(arg, manifest);
    int offset = (end + parameter.type.align - 1) / parameter.type.align * parameter.type.align;
    end = offset + parameter.type.bytes;
    Json json = {{"name", parameter.name},
                 {"kind", parameter.kind},
                 {"type", parameter.type.name},
                 {"offset", offset},
                 {"bytes", parameter.type.bytes}};
    if (arg.kind == ArgKind::TensorMap)
      json["encode"] = encodingOf(arg, *manifest.findTensor(arg.name));
    list.push_back(std::move(json));
  }
  return list;
}

const LaunchDecl *firstLaunch(const Manifest &manifest, const std::string &kernel) {
  for (const VariantDecl &variant : manifest.variants)
    for (const LaunchDecl &launch : variant.launches)
      if (launch.kernel == kernel)
        return &launch;
  return nullptr;
}

/// What has to be set on the function before it is launched, for cuFuncSetAttribute.
Json attributesOf(const KernelDecl &kernel) {
  Json list = Json::array();
  const Expr &shared = kernel.sharedBytes;
  if (shared.op != ExprOp::Integer || shared.integer > sharedBytesWithoutOptIn)
    list.push_back({{"attribute", functionMaxDynamicShared}, {"value", exprToJson(shared)}});
  if (kernel.cluster > portableClusterBlocks)
    list.push_back({{"attribute", functionLargeClusters}, {"value", 1}});
  return list;
}

/// The extent of an axis as memory is laid out: that of the last counts as rounded up.
Expr extentInMemory(const TensorDecl &tensor, std::size_t axis) {
  Expr extent = Expr::size(tensor.dims[axis]);
  std::int64_t unit = tensor.align / static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  if (axis + 1 != tensor.dims.size() || unit <= 1)
    return extent;
  Expr units = Expr::apply(ExprOp::CeilDiv, {std::move(extent), Expr::constant(unit)});
  return Expr::apply(ExprOp::Mul, {std::move(units), Expr::constant(unit)});
}

/// The layout of an intermediate: that of intermediateAt (runtime/program/bind.h), in expressions.
void addLayout(Json &json, const TensorDecl &tensor) {
  std::vector<Expr> strides(tensor.dims.size());
  Expr elements = Expr::constant(1);
  for (std::size_t axis = tensor.dims.size(); axis-- > 0;) {
    strides[axis] = elements;
    Expr extent = extentInMemory(tensor, axis);
    bool isFirst = axis + 1 == tensor.dims.size();
    elements = isFirst ? extent : Expr::apply(ExprOp::Mul, {std::move(elements), extent});
  }
  json["strides"] = Json::array();
  for (const Expr &stride : strides)
    json["strides"].push_back(exprToJson(stride));
  if (tensor.window)
    elements =
        Expr::apply(ExprOp::Mul, {tensor.window->count,
                                  strides[static_cast<std::size_t>(tensor.window->axes) - 1]});
  auto size = static_cast<std::int64_t>(dtypeSize(tensor.dtype));
  json["bytes"] = exprToJson(Expr::apply(ExprOp::Mul, {std::move(elements), Expr::constant(size)}));
}

/// The keys of an object as they stand before its values; of a list nothing.
std::string keyText(const Json &json, const std::string &key) {
  return json.is_object() ? Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": "
                          : "";
}

std::string oneLine(const Json &json) {
  if (!json.is_structured()) // `replace`: a name may be no UTF-8
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text, separator;
  for (const auto &[key, value] : json.items()) {
    text += separator + keyText(json, key) + oneLine(value);
    separator = ", ";
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// `before` columns of the line are taken.
void print(const Json &json, std::size_t indent, std::size_t before, std::string &text) {
  constexpr std::size_t columns = 100;
  std::string line = oneLine(json);
  if (!json.is_structured() || json.empty() || before + line.size() + 1 <= columns) {
    text += line;
    return;
  }
  text += json.is_object() ? "{" : "[";
  const char *separator = "";
  for (const auto &[key, value] : json.items()) {
    std::string name = keyText(json, key);
    text += fmt::format("{}\n{}{}", separator, std::string(indent + 2, ' '), name);
    print(value, indent + 2, indent + 2 + name.size(), text);
    separator = ",";
  }
  text += fmt::format("\n{}{}", std::string(indent, ' '), json.is_object() ? "}" : "]");
}

} // namespace

Json launchJson(const Manifest &manifest, const std::map<std::string, std::string> &files) {
  Json json = {{"attnc_launch", 1}};
  json.update(Json::parse(printManifest(manifest)));
  for (std::size_t i = 0; i < manifest.intermediates.size(); ++i)
    addLayout(json["intermediates"][i], manifest.intermediates[i]);
  for (std::size_t i = 0; i < manifest.kernels.size(); ++i) {
    const KernelDecl &kernel = manifest.kernels[i];
    Json &described = json["kernels"][i];
    described["file"] = files.at(kernel.image);
    described["attributes"] = attributesOf(kernel);
    if (const LaunchDecl *launch = firstLaunch(manifest, kernel.name))
      described["parameters"] = parametersOf(*launch, manifest);
  }
  json["workspace"] = {{"align", workspaceAlign}};
  return json;
}

std::string readableJson(const Json &json) {
  std::string text;
  print(json, 0, 0, text);
  return text + "\n";
}

} // namespace attnc::cli
