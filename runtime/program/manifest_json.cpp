#include "runtime/program/manifest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attnc {

namespace {

/// One JSON object that is read strictly. The first error of the whole document is kept in `error`;
/// after it every read gives an empty value, so that readers need no checks of their own.
class Fields {
public:
  Fields(const Json &json, std::string where, std::optional<Error> &error)
      : json(json), where(std::move(where)), error(error) {
    if (!json.is_object())
      fail("expected an object");
  }

  void fail(const std::string &message) {
    if (!error)
      error = invalidArgument(fmt::format("manifest: {}: {}", where, message));
  }

  /// The value of `key`, or null where there is none (an error if it is required).
  const Json *find(std::string_view key, bool required) {
    known.emplace_back(key);
    if (error)
      return nullptr;
    auto found = json.find(std::string(key));
    if (found != json.end())
      return &*found;
    if (required)
      fail(fmt::format("'{}' is missing", key));
    return nullptr;
  }

  std::string text(std::string_view key) {
    const Json *value = find(key, true);
    if (value && !value->is_string())
      fail(fmt::format("'{}' is not a string", key));
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }

  std::string optionalText(std::string_view key) {
    return find(key, false) ? text(key) : std::string();
  }

  std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    const Json *value = find(key, !otherwise);
    if (!value)
      return otherwise.value_or(0);
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t(INT64_MAX))) {
      fail(fmt::format("'{}' is not an integer of 64 bits", key));
      return 0;
    }
    return value->get<std::int64_t>();
  }

  int smallInteger(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    std::int64_t value = integer(key, otherwise);
    if (value < 0 || value > INT32_MAX)
      fail(fmt::format("'{}' is {}, which is out of range", key, value));
    return static_cast<int>(std::clamp<std::int64_t>(value, 0, INT32_MAX));
  }

  DType dtype(std::string_view key) {
    std::string name = text(key);
    std::optional<DType> type = dtypeFromName(name);
    if (!type)
      fail(fmt::format("'{}' is no dtype", name));
    return type.value_or(DType::F32);
  }

  std::optional<Expr> optionalExpr(std::string_view key) {
    const Json *value = find(key, false);
    return value ? parse(*value, key) : std::nullopt;
  }

  Expr expr(std::string_view key) {
    const Json *value = find(key, true);
    return value ? parse(*value, key).value_or(Expr()) : Expr();
  }

  const Json::array_t &list(std::string_view key) {
    static const Json::array_t none;
    const Json *value = find(key, true);
    if (value && !value->is_array())
      fail(fmt::format("'{}' is not a list", key));
    return value && value->is_array() ? value->get_ref<const Json::array_t &>() : none;
  }

  std::vector<std::string> names(std::string_view key) {
    std::vector<std::string> result;
    for (const Json &item : list(key)) {
      if (!item.is_string())
        fail(fmt::format("'{}' holds something that is not a name", key));
      else
        result.push_back(item.get<std::string>());
    }
    return result;
  }

  std::vector<std::int64_t> integers(std::string_view key) {
    std::vector<std::int64_t> result;
    for (const Json &item : list(key)) {
      if (!item.is_number_integer() ||
          (item.is_number_unsigned() && item.get<std::uint64_t>() > std::uint64_t(INT64_MAX)))
        fail(fmt::format("'{}' holds something that is not an integer of 64 bits", key));
      else
        result.push_back(item.get<std::int64_t>());
    }
    return result;
  }

  /// Reads each object of a list with `read(Fields&)`.
  template <typename Read> auto objects(std::string_view key, Read read) {
    std::vector<decltype(read(*this))> result;
    for (const Json &item : list(key)) {
      std::string label = fmt::format("{}[{}]", key, result.size());
      if (item.is_object() && item.contains("name") && item["name"].is_string())
        label += " (" + item["name"].get<std::string>() + ")";
      result.push_back(nested(item, label, read));
      if (error)
        break;
    }
    return result;
  }

  template <typename Read> auto nested(const Json &item, const std::string &label, Read read) {
    Fields fields(item, where + "." + label, error);
    auto result = read(fields);
    fields.refuseUnknown();
    return result;
  }

  void refuseUnknown() {
    if (error)
      return;
    for (const auto &[key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail(fmt::format("unknown key '{}'", key));
  }

  std::optional<Expr> parse(const Json &value, std::string_view key) {
    Result<Expr> expr = parseExpr(value);
    if (expr)
      return *std::move(expr);
    fail(fmt::format("'{}': {}", key, expr.error().message));
    return std::nullopt;
  }

private:
  const Json &json;
  std::string where;
  std::optional<Error> &error;
  std::vector<std::string> known;
};

DimDecl readDim(Fields &fields) {
  return {fields.text("name"), fields.optionalExpr("extent"), fields.integer("min", 1)};
}

TensorDecl readTensor(Fields &fields) {
  return {fields.text("name"),        fields.dtype("dtype"),        fields.names("dims"),
          fields.integer("align", 0), fields.optionalText("place"), fields.optionalText("reason")};
}

LetDecl readLet(Fields &fields) { return {fields.text("name"), fields.expr("expr")}; }

std::optional<Limit> readLimit(Fields &fields, std::string_view key) {
  const Json *json = fields.find(key, false);
  if (!json)
    return std::nullopt;
  return fields.nested(*json, std::string(key), [](Fields &limit) {
    const Json *value = limit.find("value", true);
    const Json *open = limit.find("open", true);
    if ((value && !value->is_number()) || (open && !open->is_boolean()))
      limit.fail("'value' must be a number and 'open' true or false");
    else if (value && open)
      return Limit{value->get<double>(), open->get<bool>()};
    return Limit();
  });
}

ParamDecl readParam(Fields &fields) {
  return {fields.text("name"),      fields.dtype("dtype"),    fields.optionalExpr("default"),
          readLimit(fields, "min"), readLimit(fields, "max"), fields.optionalText("place")};
}

RequireDecl readRequire(Fields &fields) {
  return {fields.expr("expr"), fields.text("text"), fields.optionalText("place")};
}

KernelDecl readKernel(Fields &fields) {
  KernelDecl kernel{fields.text("name"),
                    fields.text("image"),
                    fields.text("symbol"),
                    fields.smallInteger("threads"),
                    fields.expr("shared_bytes"),
                    std::nullopt,
                    fields.smallInteger("cluster", 1)};
  if (const Json *json = fields.find("resources", false))
    kernel.resources = fields.nested(*json, "resources", [](Fields &inner) {
      return KernelResources{inner.smallInteger("registers"), inner.smallInteger("spill_stores"),
                             inner.smallInteger("spill_loads"), inner.smallInteger("stack_bytes"),
                             inner.smallInteger("static_shared_bytes")};
    });
  return kernel;
}

std::map<std::string, std::int64_t> readAligned(Fields &fields) {
  const Json *json = fields.find("aligned", false);
  if (!json)
    return {};
  return fields.nested(*json, "aligned", [&](Fields &inner) {
    std::map<std::string, std::int64_t> aligned;
    if (json->is_object())
      for (const auto &[tensor, bytes] : json->items())
        aligned[tensor] = inner.integer(tensor);
    return aligned;
  });
}

ArgDecl readArg(Fields &fields) {
  ArgDecl arg;
  int kinds = 0;
  auto present = [&](std::string_view key) {
    bool found = fields.find(key, false) != nullptr;
    kinds += found;
    return found;
  };
  if (present("ptr"))
    arg = ArgDecl::pointer(fields.text("ptr"));
  if (present("size"))
    arg = ArgDecl::size(fields.text("size"));
  if (present("param"))
    arg = ArgDecl::param(fields.text("param"));
  if (present("stride")) {
    const Json::array_t &pair = fields.list("stride");
    if (pair.size() == 2 && pair[0].is_string() && pair[1].is_number_integer() &&
        pair[1].get<std::int64_t>() >= 0 && pair[1].get<std::int64_t>() < 1024)
      arg = ArgDecl::stride(pair[0].get<std::string>(), pair[1].get<int>());
    else
      fields.fail("'stride' is not [tensor, axis]");
  }
  if (present("tensor_map"))
    arg = ArgDecl::tensorMap(fields.text("tensor_map"), fields.integers("box"),
                             fields.smallInteger("swizzle", 128));
  if (present("expr"))
    arg = ArgDecl::value(fields.expr("expr"), fields.dtype("type"));
  if (present("counter")) {
    if (const Json *value = fields.find("counter", true); value && *value != true)
      fields.fail("'counter' is not true");
    arg = ArgDecl::counter();
  }
  if (kinds != 1)
    fields.fail("an argument is one of 'ptr', 'stride', 'size', 'param', 'tensor_map', 'expr' and "
                "'counter'");
  return arg;
}

LaunchDecl readLaunch(Fields &fields) {
  LaunchDecl launch;
  launch.kernel = fields.text("kernel");
  const Json::array_t &grid = fields.list("grid");
  if (grid.size() != 3)
    fields.fail("'grid' does not have three extents");
  for (std::size_t axis = 0; axis < std::min<std::size_t>(grid.size(), 3); ++axis)
    launch.grid[axis] = fields.parse(grid[axis], "grid").value_or(Expr());
  launch.args = fields.objects("args", readArg);
  return launch;
}

VariantDecl readVariant(Fields &fields) {
  return {fields.optionalExpr("when"), fields.objects("launches", readLaunch), readAligned(fields)};
}

Manifest readManifest(Fields &fields) {
  Manifest manifest;
  std::int64_t version = fields.integer("attnc_manifest");
  if (version != manifestVersion)
    fields.fail(fmt::format("version {} is not {}, the one that this attnc reads", version,
                            manifestVersion));
  manifest.name = fields.text("name");
  manifest.target = fields.text("target");
  manifest.dims = fields.objects("dims", readDim);
  manifest.inputs = fields.objects("inputs", readTensor);
  manifest.outputs = fields.objects("outputs", readTensor);
  manifest.intermediates = fields.objects("intermediates", readTensor);
  manifest.lets = fields.objects("lets", readLet);
  manifest.params = fields.objects("params", readParam);
  manifest.requires_ = fields.objects("requires", readRequire);
  manifest.kernels = fields.objects("kernels", readKernel);
  manifest.variants = fields.objects("variants", readVariant);
  if (fields.find("memory_budget", false))
    manifest.memoryBudget = fields.integer("memory_budget");
  return manifest;
}

/// Writing: one function for each struct, keys in the order of the reader above.

Json write(const DimDecl &dim) {
  Json json = {{"name", dim.name}};
  if (dim.extent)
    json["extent"] = exprToJson(*dim.extent);
  if (dim.min != 1)
    json["min"] = dim.min;
  return json;
}

void addText(Json &json, const char *key, const std::string &text) {
  if (!text.empty())
    json[key] = text;
}

Json write(const TensorDecl &tensor) {
  Json json = {{"name", tensor.name}, {"dtype", dtypeName(tensor.dtype)}};
  json["dims"] = tensor.dims;
  if (tensor.align != 0)
    json["align"] = tensor.align;
  addText(json, "place", tensor.place);
  addText(json, "reason", tensor.reason);
  return json;
}

Json write(const LetDecl &let) {
  Json json = {{"name", let.name}};
  json["expr"] = exprToJson(let.expr);
  return json;
}

Json write(const Limit &limit) { return {{"value", limit.value}, {"open", limit.open}}; }

Json write(const ParamDecl &param) {
  Json json = {{"name", param.name}, {"dtype", dtypeName(param.dtype)}};
  if (param.fallback)
    json["default"] = exprToJson(*param.fallback);
  if (param.min)
    json["min"] = write(*param.min);
  if (param.max)
    json["max"] = write(*param.max);
  addText(json, "place", param.place);
  return json;
}

Json write(const RequireDecl &require) {
  Json json = Json::object();
  json["expr"] = exprToJson(require.expr);
  json["text"] = require.text;
  addText(json, "place", require.place);
  return json;
}

Json write(const KernelDecl &kernel) {
  Json json = {{"name", kernel.name},
               {"image", kernel.image},
               {"symbol", kernel.symbol},
               {"threads", kernel.threads}};
  json["shared_bytes"] = exprToJson(kernel.sharedBytes);
  if (const auto &use = kernel.resources)
    json["resources"] = {{"registers", use->registers},
                         {"spill_stores", use->spillStores},
                         {"spill_loads", use->spillLoads},
                         {"stack_bytes", use->stackBytes},
                         {"static_shared_bytes", use->staticSharedBytes}};
  if (kernel.cluster != 1)
    json["cluster"] = kernel.cluster;
  return json;
}

Json write(const ArgDecl &arg) {
  Json json = Json::object();
  switch (arg.kind) {
  case ArgKind::Pointer:
    json["ptr"] = arg.name;
    break;
  case ArgKind::Stride:
    json["stride"] = Json::array({arg.name, arg.axis});
    break;
  case ArgKind::Size:
    json["size"] = arg.name;
    break;
  case ArgKind::Param:
    json["param"] = arg.name;
    break;
  case ArgKind::Expr:
    json["expr"] = exprToJson(arg.expr);
    json["type"] = dtypeName(arg.type);
    break;
  case ArgKind::TensorMap:
    json["tensor_map"] = arg.name;
    json["box"] = arg.box;
    if (arg.swizzle != 128)
      json["swizzle"] = arg.swizzle;
    break;
  case ArgKind::Counter:
    json["counter"] = true;
    break;
  }
  return json;
}

Json write(const LaunchDecl &launch);
Json write(const VariantDecl &variant);

template <typename T> Json writeAll(const std::vector<T> &items) {
  Json list = Json::array();
  for (const T &item : items)
    list.push_back(write(item));
  return list;
}

Json write(const LaunchDecl &launch) {
  Json json = {{"kernel", launch.kernel}};
  json["grid"] = Json::array();
  for (const Expr &extent : launch.grid)
    json["grid"].push_back(exprToJson(extent));
  json["args"] = writeAll(launch.args);
  return json;
}

Json write(const VariantDecl &variant) {
  Json json = Json::object();
  if (variant.when)
    json["when"] = exprToJson(*variant.when);
  if (!variant.aligned.empty())
    json["aligned"] = variant.aligned;
  json["launches"] = writeAll(variant.launches);
  return json;
}

} // namespace

Result<Manifest> parseManifest(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return invalidArgument("manifest: not valid JSON");
  std::optional<Error> error;
  Fields fields(json, "document", error);
  Manifest manifest = readManifest(fields);
  fields.refuseUnknown();
  if (error)
    return *error;
  if (Status status = checkManifest(manifest); !status)
    return status.error();
  return manifest;
}

std::string printManifest(const Manifest &manifest) {
  Json json = Json::object();
  json["attnc_manifest"] = manifestVersion;
  json["name"] = manifest.name;
  json["target"] = manifest.target;
  json["dims"] = writeAll(manifest.dims);
  json["inputs"] = writeAll(manifest.inputs);
  json["outputs"] = writeAll(manifest.outputs);
  json["intermediates"] = writeAll(manifest.intermediates);
  json["lets"] = writeAll(manifest.lets);
  json["params"] = writeAll(manifest.params);
  json["requires"] = writeAll(manifest.requires_);
  json["kernels"] = writeAll(manifest.kernels);
  json["variants"] = writeAll(manifest.variants);
  if (manifest.memoryBudget)
    json["memory_budget"] = *manifest.memoryBudget;
  // `replace` keeps a name with invalid UTF-8 from raising; such a manifest reads back with U+FFFD.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace attnc
