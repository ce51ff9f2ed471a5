#include "runtime/program/manifest.h"
#include "runtime/program/manifest_fields.h"

#include <algorithm>
#include <iterator>

namespace attnc {

namespace {

DimDecl readDim(Fields &fields) {
  return {fields.text("name"), fields.optionalExpr("extent"), fields.integer("min", 1)};
}

TensorDecl readTensor(Fields &fields) {
  TensorDecl tensor{fields.text("name"),          fields.dtype("dtype"),
                    fields.names("dims"),         fields.integer("align", 0),
                    fields.optionalText("place"), fields.optionalText("reason")};
  if (const Json *json = fields.find("window", false))
    tensor.window = fields.nested(*json, "window", [](Fields &window) {
      return WindowDecl{window.smallInteger("axes"), window.expr("count")};
    });
  return tensor;
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
                    fields.smallInteger("cluster", 1),
                    fields.flag("starts_early"),
                    fields.optionalText("form"),
                    fields.optionalText("schedule"),
                    fields.optionalText("notes")};
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
  if (present("ptr")) {
    arg = ArgDecl::pointer(fields.text("ptr"));
    arg.offset = fields.optionalExpr("offset");
  }
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
  launch.guard = fields.optionalText("guard");
  launch.beside = fields.flag("beside");
  return launch;
}

/// What one item of a variant's list holds: a launch, or a loop with its launches.
struct Step {
  std::vector<LaunchDecl> launches;
  std::optional<LoopDecl> loop;
};

Step readStep(Fields &fields) {
  if (!fields.has("loop"))
    return {{readLaunch(fields)}, std::nullopt};
  Step step;
  step.loop = fields.nested(*fields.find("loop", true), "loop", [](Fields &loop) {
    return LoopDecl{loop.text("index"), loop.expr("count")};
  });
  step.launches = fields.objects("launches", readLaunch);
  return step;
}

VariantDecl readVariant(Fields &fields) {
  VariantDecl variant{fields.optionalExpr("when"), {}, readAligned(fields)};
  for (Step &step : fields.objects("launches", readStep)) {
    if (step.loop) {
      step.loop->first = variant.launches.size();
      step.loop->launches = step.launches.size();
      variant.loops.push_back(*std::move(step.loop));
    }
    std::move(step.launches.begin(), step.launches.end(), std::back_inserter(variant.launches));
  }
  return variant;
}

/// Whether a manifest of its version can be read.
void readVersion(Fields &fields) {
  constexpr const char *older = "compile the spec again with this attnc";
  constexpr const char *newer = "read it with a newer attnc, or compile the spec with this one";
  const Json *version = fields.find("attnc_manifest", true);
  if (!version)
    return;
  if (*version == 1)
    return fields.fail(
        fmt::format("version 1 is older than {}, the oldest that this attnc reads", manifestMajor),
        older);
  if (!version->is_array() || version->size() != 2 || !(*version)[0].is_number_unsigned() ||
      !(*version)[1].is_number_unsigned())
    return fields.fail("'attnc_manifest' is not [major, minor]");
  auto major = (*version)[0].get<std::uint64_t>(), minor = (*version)[1].get<std::uint64_t>();
  if (major != manifestMajor)
    return fields.fail(fmt::format("version {}.{} is {} than {}.{}, the one that this attnc reads",
                                   major, minor, major < manifestMajor ? "older" : "newer",
                                   manifestMajor, manifestMinor),
                       major < manifestMajor ? older : newer);
  if (minor > manifestMinor)
    fields.passOverUnknown();
  constexpr std::string_view knownNeeds[] = {"loops", "offsets", "guards", "windows"};
  if (fields.find("needs", false))
    for (const std::string &need : fields.names("needs"))
      if (std::find(std::begin(knownNeeds), std::end(knownNeeds), need) == std::end(knownNeeds))
        fields.fail(fmt::format("the program needs '{}', which this attnc does not have (version "
                                "{}.{} of the format, it has {}.{})",
                                need, major, minor, manifestMajor, manifestMinor),
                    newer);
}

/// A reader that lacks one of the needs must hear of it, so none is left out.
void checkNeeds(Fields &fields, const Manifest &manifest) {
  std::vector<std::string> said;
  if (fields.has("needs"))
    said = fields.names("needs");
  for (const std::string &need : needsOf(manifest))
    if (std::find(said.begin(), said.end(), need) == said.end())
      fields.fail(fmt::format("'needs' lacks '{}', which a variant uses", need));
}

Manifest readManifest(Fields &fields) {
  Manifest manifest;
  readVersion(fields);
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
  checkNeeds(fields, manifest);
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
  if (tensor.window)
    json["window"] = {{"axes", tensor.window->axes}, {"count", exprToJson(tensor.window->count)}};
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
  if (kernel.startsEarly)
    json["starts_early"] = true;
  addText(json, "form", kernel.form);
  addText(json, "schedule", kernel.schedule);
  addText(json, "notes", kernel.notes);
  return json;
}

Json write(const ArgDecl &arg) {
  Json json = Json::object();
  switch (arg.kind) {
  case ArgKind::Pointer:
    json["ptr"] = arg.name;
    if (arg.offset)
      json["offset"] = exprToJson(*arg.offset);
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
  addText(json, "guard", launch.guard);
  if (launch.beside)
    json["beside"] = true;
  return json;
}

/// Launches one by one, and loops each with theirs.
Json writeSteps(const VariantDecl &variant) {
  Json steps = Json::array();
  for (std::size_t number = 0; number < variant.launches.size(); ++number) {
    Json launch = write(variant.launches[number]);
    const LoopDecl *loop = variant.loopAround(number);
    if (!loop) {
      steps.push_back(std::move(launch));
      continue;
    }
    if (number == loop->first) {
      Json head = {{"index", loop->index}};
      head["count"] = exprToJson(loop->count);
      steps.push_back({{"loop", std::move(head)}, {"launches", Json::array()}});
    }
    steps.back()["launches"].push_back(std::move(launch));
  }
  return steps;
}

Json write(const VariantDecl &variant) {
  Json json = Json::object();
  if (variant.when)
    json["when"] = exprToJson(*variant.when);
  if (!variant.aligned.empty())
    json["aligned"] = variant.aligned;
  json["launches"] = writeSteps(variant);
  return json;
}

} // namespace

Result<Manifest> parseManifest(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return invalidArgument("manifest: not valid JSON");
  Document document;
  Fields fields(json, "document", document);
  Manifest manifest = readManifest(fields);
  fields.refuseUnknown();
  if (document.error)
    return *document.error;
  if (Status status = checkManifest(manifest); !status)
    return status.error();
  return manifest;
}

std::string printManifest(const Manifest &manifest) {
  Json json = Json::object();
  json["attnc_manifest"] = {manifestMajor, manifestMinor};
  if (std::vector<std::string> needs = needsOf(manifest); !needs.empty())
    json["needs"] = needs;
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
