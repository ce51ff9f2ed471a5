#include "runtime/program/manifest.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

using namespace attnc;

namespace {

TEST(Manifest, RoundTripGivesTheSameBytes) {
  std::string text = printManifest(exampleManifest());
  Result<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(printManifest(*read), text);
  EXPECT_EQ(read->kernels[0].resources, exampleManifest().kernels[0].resources);
  EXPECT_EQ(read->requires_[0].expr, exampleManifest().requires_[0].expr);
  EXPECT_TRUE(read->params[0].min->open);
  EXPECT_EQ(read->inputs[1].align, 16);
}

TEST(Manifest, PlacesReasonsAndTheBudgetRoundTrip) {
  Manifest manifest = exampleManifest();
  manifest.inputs[0].place = "a:4:9";
  manifest.intermediates[0].reason = "o needs it";
  manifest.params[0].place = "a:5:9";
  manifest.requires_[0].place = "a:6:9";
  manifest.memoryBudget = 0;
  Result<Manifest> read = parseManifest(printManifest(manifest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->inputs[0].place, "a:4:9");
  EXPECT_EQ(read->intermediates[0].reason, "o needs it");
  EXPECT_EQ(read->params[0].place, "a:5:9");
  EXPECT_EQ(read->requires_[0].place, "a:6:9");
  EXPECT_EQ(read->memoryBudget, 0);
  manifest.memoryBudget = -1;
  EXPECT_EQ(checkManifest(manifest).error().message, "manifest: header: 'memory_budget' is -1");
}

/// With everything that only GPUs of compute capability 9.0 and later can do.
Manifest hopperManifest() {
  Manifest manifest = exampleManifest();
  manifest.target = "sm_90a";
  manifest.kernels[0].cluster = 2;
  manifest.kernels[0].startsEarly = true;
  manifest.variants[0].launches[1].beside = true;
  VariantDecl &variant = manifest.variants[1];
  variant.aligned = {{"k", 16}, {"partial", 256}};
  LaunchDecl &launch = variant.launches[0];
  launch.grid[0] = *parseExpr(Json::parse(R"(["mul",2,["min",["size","i"],["multiprocessors"]]])"));
  launch.args.push_back(ArgDecl::tensorMap("k", {4, 64, 1, 1}));
  launch.args.push_back(ArgDecl::tensorMap("partial", {4, 8, 1}, 0));
  return manifest;
}

TEST(Manifest, TensorMapsClustersAndAlignmentRoundTrip) {
  std::string text = printManifest(hopperManifest());
  Json json = Json::parse(text);
  Json launch = json["variants"][1]["launches"][0];
  EXPECT_EQ(launch["args"][7].dump(), R"({"tensor_map":"k","box":[4,64,1,1]})");
  EXPECT_EQ(launch["args"][8].dump(), R"({"tensor_map":"partial","box":[4,8,1],"swizzle":0})");
  EXPECT_EQ(launch["grid"][0].dump(), R"(["mul",2,["min",["size","i"],["multiprocessors"]]])");
  EXPECT_EQ(json["kernels"][0]["cluster"], 2);
  EXPECT_FALSE(json["kernels"][1].contains("cluster"));
  EXPECT_EQ(json["kernels"][0]["starts_early"], true);
  EXPECT_FALSE(json["kernels"][1].contains("starts_early"));
  EXPECT_EQ(json["variants"][1]["aligned"].dump(), R"({"k":16,"partial":256})");
  Result<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(printManifest(*read), text);
  const ArgDecl &map = read->variants[1].launches[0].args[8];
  EXPECT_EQ(map.kind, ArgKind::TensorMap);
  EXPECT_EQ(map.box, (std::vector<std::int64_t>{4, 8, 1}));
  EXPECT_EQ(map.swizzle, 0);
  EXPECT_EQ(read->kernels[0].cluster, 2);
  EXPECT_TRUE(read->kernels[0].startsEarly);
  EXPECT_TRUE(read->variants[0].launches[1].beside);
  EXPECT_FALSE(read->variants[0].launches[0].beside);
  EXPECT_EQ(read->variants[1].aligned, hopperManifest().variants[1].aligned);
}

TEST(Manifest, CountersRoundTrip) {
  Manifest manifest = exampleManifest();
  manifest.variants[1].launches[0].args.push_back(ArgDecl::counter());
  std::string text = printManifest(manifest);
  EXPECT_EQ(Json::parse(text)["variants"][1]["launches"][0]["args"].back().dump(),
            R"({"counter":true})");
  Result<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(printManifest(*read), text);
  EXPECT_EQ(read->variants[1].launches[0].args.back().kind, ArgKind::Counter);
}

TEST(Manifest, ReportsOnKernelsRoundTrip) {
  Manifest manifest = exampleManifest();
  EXPECT_FALSE(Json::parse(printManifest(manifest))["kernels"][0].contains("form"));
  manifest.kernels[0].form = "portable";
  manifest.kernels[0].schedule = "{ tile = 64 }";
  manifest.kernels[0].notes = "one\ntwo";
  Result<Manifest> read = parseManifest(printManifest(manifest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->kernels[0].form, "portable");
  EXPECT_EQ(read->kernels[0].schedule, "{ tile = 64 }");
  EXPECT_EQ(read->kernels[0].notes, "one\ntwo");
  EXPECT_EQ(read->kernels[1].form, "");
}

/// A flag, a launch that depends on it, and the two launches of variant 0 for each part of q.
Manifest loopManifest() {
  Manifest manifest = exampleManifest();
  manifest.intermediates.push_back({"flag", DType::I32, {}});
  VariantDecl &variant = manifest.variants[0];
  variant.loops = {{"p", Expr::size("b"), 0, 2}};
  variant.launches[0].args[0].offset = Expr::apply(
      ExprOp::Mul, {Expr::let("p"), Expr::apply(ExprOp::Mul, {Expr::size("i"), Expr::size("d")})});
  LaunchDecl after = variant.launches[1];
  after.args = {ArgDecl::pointer("flag"), ArgDecl::pointer("o")};
  after.guard = "flag";
  variant.launches.push_back(after);
  return manifest;
}

TEST(Manifest, LoopsOffsetsAndGuardsRoundTrip) {
  std::string text = printManifest(loopManifest());
  Json json = Json::parse(text), steps = json["variants"][0]["launches"];
  EXPECT_EQ(json["needs"].dump(), R"(["loops","offsets","guards"])");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["loop"].dump(), R"({"index":"p","count":["size","b"]})");
  ASSERT_EQ(steps[0]["launches"].size(), 2u);
  EXPECT_EQ(steps[0]["launches"][0]["args"][0].dump(),
            R"({"ptr":"q","offset":["mul",["let","p"],["mul",["size","i"],["size","d"]]]})");
  EXPECT_EQ(steps[1]["guard"], "flag");
  Result<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(printManifest(*read), text);
  const VariantDecl &variant = read->variants[0];
  ASSERT_EQ(variant.launches.size(), 3u);
  EXPECT_EQ(variant.loopAround(0), &variant.loops[0]);
  EXPECT_EQ(variant.loopAround(1), &variant.loops[0]);
  EXPECT_EQ(variant.loopAround(2), nullptr);
  EXPECT_FALSE(Json::parse(printManifest(exampleManifest())).contains("needs"));
}

TEST(Manifest, WindowsRoundTripAndAreShownByTensorMapsAlone) {
  Manifest manifest = hopperManifest();
  manifest.intermediates[0].window = WindowDecl{1, Expr::constant(2)};
  EXPECT_EQ(checkManifest(manifest).error().message,
            "manifest: argument 6 of variant 0, launch of fold: partial has a window, which only "
            "tensor maps show");
  for (VariantDecl &variant : manifest.variants)
    for (LaunchDecl &launch : variant.launches)
      std::erase_if(launch.args, [](const ArgDecl &arg) {
        return arg.name == "partial" && arg.kind != ArgKind::TensorMap;
      });
  std::string text = printManifest(manifest);
  Json json = Json::parse(text);
  EXPECT_EQ(json["needs"].dump(), R"(["windows"])");
  EXPECT_EQ(json["intermediates"][0]["window"].dump(), R"({"axes":1,"count":2})");
  Result<Manifest> read = parseManifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(printManifest(*read), text);
  manifest.intermediates[0].window->axes = 3;
  EXPECT_EQ(checkManifest(manifest).error().message,
            "manifest: tensor partial: a window is of the first axes of an intermediate");
}

TEST(Manifest, ErrorsOfLoopsAndGuardsNameThem) {
  auto errorOf = [](const std::function<void(Manifest &)> &edit) {
    Manifest manifest = loopManifest();
    edit(manifest);
    Status status = checkManifest(manifest);
    return status ? "no error" : status.error().message;
  };
  auto launch = [](Manifest &m, std::size_t number) -> LaunchDecl & {
    return m.variants[0].launches[number];
  };
  EXPECT_EQ(errorOf([](Manifest &) {}), "no error");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops[0].launches = 0; }),
            "manifest: variant 0: the loop over p is empty, or not where its launches are");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops[0].launches = 4; }),
            "manifest: variant 0: the loop over p is empty, or not where its launches are");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops[0].first = SIZE_MAX; }),
            "manifest: variant 0: the loop over p is empty, or not where its launches are");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops.push_back(m.variants[0].loops[0]); }),
            "manifest: variant 0: the loop over p is empty, or not where its launches are");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops[0].index = "g"; }),
            "manifest: variant 0: the index 'g' of a loop is empty or has the name of a let or "
            "param");
  EXPECT_EQ(errorOf([](Manifest &m) { m.variants[0].loops[0].count = Expr::let("p"); }),
            "manifest: count of the loop over p: let 'p' is unknown here");
  EXPECT_EQ(errorOf([&](Manifest &m) { launch(m, 2).grid[0] = Expr::let("p"); }),
            "manifest: grid of variant 0, launch of merge: let 'p' is unknown here");
  EXPECT_EQ(errorOf([&](Manifest &m) { launch(m, 0).args[1].offset = Expr::constant(0); }),
            "manifest: argument 1 of variant 0, launch of fold: only a pointer has an offset");
  std::string guarded = "manifest: variant 0, launch of merge: the guard ";
  EXPECT_EQ(errorOf([&](Manifest &m) { launch(m, 2).guard = "o"; }),
            guarded + "'o' is no input or intermediate");
  EXPECT_EQ(errorOf([](Manifest &m) { m.intermediates[2].dims = {"t"}; }),
            guarded + "'flag' is not one i32");
  EXPECT_EQ(errorOf([](Manifest &m) { m.intermediates[2].dtype = DType::U8; }),
            guarded + "'flag' is not one i32");
  auto unpassed = [&](Manifest &m) { launch(m, 2).args.erase(launch(m, 2).args.begin()); };
  EXPECT_EQ(errorOf(unpassed), guarded + "'flag' is not among the arguments, and only the kernel "
                                         "can read it on a GPU");
  EXPECT_EQ(errorOf([&](Manifest &m) {
              unpassed(m);
              m.target = "cpu"; // where the host reads it
            }),
            "no error");
}

/// The error of reading the example's JSON after `edit`, with the remedy.
std::string refusalAfter(const std::function<void(Json &)> &edit) {
  Json json = Json::parse(printManifest(loopManifest()));
  edit(json);
  Result<Manifest> read = parseManifest(json.dump());
  return read ? "no error" : read.error().text();
}

// docs/program-files.md promises this.
TEST(Manifest, OtherVersionsAreReadAsFarAsTheirNeedsAreKnown) {
  constexpr const char *upgrade =
      "\n  read it with a newer attnc, or compile the spec with this one";
  EXPECT_EQ(refusalAfter([](Json &json) {
              json["attnc_manifest"] = {2, 7};
              json["colour"] = "blue";
              json["variants"][0]["launches"][0]["launches"][1]["args"][0]["colour"] = "blue";
            }),
            "no error");
  EXPECT_EQ(refusalAfter([](Json &json) { json["colour"] = "blue"; }),
            "manifest: document: unknown key 'colour'");
  EXPECT_EQ(refusalAfter([](Json &json) {
              json["attnc_manifest"] = {2, 7};
              json["needs"].push_back("teleport");
              json["variants"] = "in a form that nobody knows";
            }),
            std::string("manifest: document: the program needs 'teleport', which this attnc does "
                        "not have (version 2.7 of the format, it has 2.3)") +
                upgrade);
  EXPECT_EQ(refusalAfter([](Json &json) { json["needs"].erase(0); }),
            "manifest: document: 'needs' lacks 'loops', which a variant uses");
  EXPECT_EQ(refusalAfter([](Json &json) { json["attnc_manifest"] = {3, 0}; }),
            std::string("manifest: document: version 3.0 is newer than 2.3, the one that this "
                        "attnc reads") +
                upgrade);
  EXPECT_EQ(refusalAfter([](Json &json) { json["attnc_manifest"] = 1; }),
            "manifest: document: version 1 is older than 2, the oldest that this attnc reads\n"
            "  compile the spec again with this attnc");
  EXPECT_EQ(refusalAfter([](Json &json) { json["attnc_manifest"] = {1, 0}; }),
            "manifest: document: version 1.0 is older than 2.3, the one that this attnc reads\n"
            "  compile the spec again with this attnc");
  for (const Json &version : {Json(2), Json("2.0"), Json::array({2}), Json::array({2, -1})})
    EXPECT_EQ(refusalAfter([&](Json &json) { json["attnc_manifest"] = version; }),
              "manifest: document: 'attnc_manifest' is not [major, minor]");
}

/// The error after `edit` has changed the example's JSON.
std::string errorAfter(const std::function<void(Json &)> &edit) {
  Json json = Json::parse(printManifest(exampleManifest()));
  edit(json);
  Result<Manifest> read = parseManifest(json.dump());
  return read ? "no error" : read.error().message;
}

TEST(Manifest, StructuralErrorsNameThePlace) {
  EXPECT_EQ(parseManifest("{").error().message, "manifest: not valid JSON");
  EXPECT_EQ(parseManifest("[]").error().message, "manifest: document: expected an object");
  EXPECT_EQ(errorAfter([](Json &json) { json.erase("inputs"); }),
            "manifest: document: 'inputs' is missing");
  EXPECT_EQ(errorAfter([](Json &json) { json["extra"] = 1; }),
            "manifest: document: unknown key 'extra'");
  EXPECT_EQ(errorAfter([](Json &json) { json["inputs"][0]["dtype"] = "f8"; }),
            "manifest: document.inputs[0] (q): 'f8' is no dtype");
  EXPECT_EQ(errorAfter([](Json &json) { json["inputs"][0]["strides"] = 1; }),
            "manifest: document.inputs[0] (q): unknown key 'strides'");
  EXPECT_EQ(errorAfter([](Json &json) { json["kernels"][0]["threads"] = "many"; }),
            "manifest: document.kernels[0] (fold): 'threads' is not an integer of 64 bits");
  EXPECT_EQ(errorAfter(
                [](Json &json) { json["variants"][0]["launches"][0]["args"][0] = Json::object(); }),
            "manifest: document.variants[0].launches[0].args[0]: an argument is one of 'ptr', "
            "'stride', 'size', 'param', 'tensor_map', 'expr' and 'counter'");
  EXPECT_EQ(
      errorAfter([](Json &json) { json["variants"][0]["launches"][0]["args"][1]["stride"] = "k"; }),
      "manifest: document.variants[0].launches[0].args[1]: 'stride' is not a list");
  EXPECT_EQ(
      errorAfter([](Json &json) { json["variants"][0]["launches"][0]["grid"] = Json::array({1}); }),
      "manifest: document.variants[0].launches[0]: 'grid' does not have three extents");
  EXPECT_EQ(errorAfter([](Json &json) { json["lets"][0]["expr"] = Json::array({"plus"}); }),
            "manifest: document.lets[0] (g): 'expr': unknown operation 'plus' in [\"plus\"]");
  EXPECT_EQ(errorAfter([](Json &json) { json["params"][0]["min"] = 0; }),
            "manifest: document.params[0] (scale).min: expected an object");
}

TEST(Manifest, StructuralErrorsOfCounters) {
  auto errorOf = [](Json argument) {
    return errorAfter(
        [&](Json &json) { json["variants"][0]["launches"][0]["args"][0] = std::move(argument); });
  };
  std::string where = "manifest: document.variants[0].launches[0].args[0]: ";
  for (const Json &value : {Json(false), Json(1), Json("true"), Json(nullptr), Json::array({true})})
    EXPECT_EQ(errorOf({{"counter", value}}), where + "'counter' is not true") << value;
  EXPECT_EQ(errorOf({{"counter", true}, {"ptr", "q"}}),
            where + "an argument is one of 'ptr', 'stride', 'size', 'param', 'tensor_map', 'expr' "
                    "and 'counter'");
  EXPECT_EQ(errorOf({{"counter", true}, {"type", "i32"}}), where + "unknown key 'type'");
}

TEST(Manifest, StructuralErrorsOfTensorMapsClustersAndAlignment) {
  auto errorOf = [](const std::function<void(Json &)> &edit) {
    Json json = Json::parse(printManifest(hopperManifest()));
    edit(json);
    Result<Manifest> read = parseManifest(json.dump());
    return read ? "no error" : read.error().message;
  };
  auto map = [](Json &json) -> Json & { return json["variants"][1]["launches"][0]["args"][8]; };
  std::string where = "manifest: document.variants[1].launches[0].args[8]: ";
  EXPECT_EQ(errorOf([&](Json &json) { map(json).erase("box"); }), where + "'box' is missing");
  EXPECT_EQ(errorOf([&](Json &json) { map(json)["box"] = {4, 8, "d"}; }),
            where + "'box' holds something that is not an integer of 64 bits");
  EXPECT_EQ(errorOf([&](Json &json) { map(json)["swizzle"] = -1; }),
            where + "'swizzle' is -1, which is out of range");
  EXPECT_EQ(errorOf([&](Json &json) { map(json)["ptr"] = "k"; }),
            where + "an argument is one of 'ptr', 'stride', 'size', 'param', 'tensor_map', 'expr' "
                    "and 'counter'");
  EXPECT_EQ(errorOf([](Json &json) { json["kernels"][0]["cluster"] = "two"; }),
            "manifest: document.kernels[0] (fold): 'cluster' is not an integer of 64 bits");
  EXPECT_EQ(errorOf([](Json &json) { json["kernels"][0]["starts_early"] = 1; }),
            "manifest: document.kernels[0] (fold): 'starts_early' is neither true nor false");
  EXPECT_EQ(errorOf([](Json &json) { json["variants"][1]["aligned"] = Json::array({"k"}); }),
            "manifest: document.variants[1].aligned: expected an object");
  EXPECT_EQ(errorOf([](Json &json) { json["variants"][1]["aligned"]["k"] = "16"; }),
            "manifest: document.variants[1].aligned: 'k' is not an integer of 64 bits");
}

/// The error after `edit` has changed `manifest`.
std::string checkAfter(const std::function<void(Manifest &)> &edit,
                       Manifest manifest = exampleManifest()) {
  edit(manifest);
  Status status = checkManifest(manifest);
  return status ? "no error" : status.error().message;
}

TEST(Manifest, NamesMustBeDeclaredOnce) {
  EXPECT_EQ(checkAfter([](Manifest &) {}), "no error");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.dims.push_back(m.dims[0]); }),
            "manifest: dims: 'b' is declared twice");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.outputs[0].name = "q"; }),
            "manifest: tensors: 'q' is declared twice");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.params[0].name = "g"; }),
            "manifest: lets and params: 'g' is declared twice");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.kernels[1].name = ""; }),
            "manifest: kernels: a name is empty");
}

TEST(Manifest, ReferencesMustBeFound) {
  EXPECT_EQ(checkAfter([](Manifest &m) { m.inputs[0].dims[0] = "z"; }),
            "manifest: tensor q: dim 'z' is not declared");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.dims[6].extent = Expr::size("z"); }),
            "manifest: extent of dim t: size 'z' is unknown here");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.lets[0].expr = Expr::param("scale"); }),
            "manifest: let g: param 'scale' is unknown here");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.params[0].fallback = Expr::param("window"); }),
            "manifest: default of param scale: param 'window' is unknown here");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants[1].launches[0].kernel = "gone"; }),
            "manifest: variant 1, launch of gone: kernel 'gone' is not declared");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants[1].launches[0].args[0].name = "v"; }),
            "manifest: argument 0 of variant 1, launch of fold: tensor 'v' is not declared");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants[1].launches[0].args[1].axis = 4; }),
            "manifest: argument 1 of variant 1, launch of fold: k has 4 axes, so none is 4");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants[1].launches[0].args[2].name = "z"; }),
            "manifest: argument 2 of variant 1, launch of fold: dim 'z' is not declared");
}

TEST(Manifest, NumbersMustBeInRange) {
  EXPECT_EQ(checkAfter([](Manifest &m) { m.dims[0].min = 2; }),
            "manifest: dim b: 'min' is 2, not 0 or 1");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.inputs[0].align = 24; }),
            "manifest: tensor q: 'align' is 24, not a power of two up to 4096");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.intermediates[0].align = 512; }),
            "manifest: tensor partial: 'align' is 512, but the workspace is aligned to 256");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.kernels[0].threads = 0; }),
            "manifest: kernel fold: 'threads' is 0, not in 1..1024");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.params[0].dtype = DType::BF16; }),
            "manifest: param scale: a param cannot be bf16");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants.clear(); }),
            "manifest: variants: there is none");
}

TEST(Manifest, TensorMapsClustersAndAlignmentMustBePossible) {
  auto error = [](const std::function<void(Manifest &)> &edit) {
    return checkAfter(edit, hopperManifest());
  };
  std::string map = "manifest: argument 7 of variant 1, launch of fold: ";
  EXPECT_EQ(error([](Manifest &) {}), "no error");
  EXPECT_EQ(error([](Manifest &m) { m.variants[1].launches[0].args[7].name = "v"; }),
            map + "tensor 'v' is not declared");
  EXPECT_EQ(error([](Manifest &m) { m.variants[1].launches[0].args[7].box = {4, 64}; }),
            map + "'box' has 2 extents, but k has 4 axes");
  EXPECT_EQ(error([](Manifest &m) { m.kernels[0].cluster = 17; }),
            "manifest: kernel fold: 'cluster' is 17, not in 1..16");
  EXPECT_EQ(error([](Manifest &m) { m.kernels[0].cluster = 0; }),
            "manifest: kernel fold: 'cluster' is 0, not in 1..16");
  EXPECT_EQ(error([](Manifest &m) { m.variants[1].aligned = {{"v", 16}}; }),
            "manifest: 'aligned' of variant 1: tensor 'v' is not declared");
  EXPECT_EQ(error([](Manifest &m) { m.variants[1].aligned = {{"k", 48}}; }),
            "manifest: 'aligned' of variant 1: k is 48, not a power of two up to 256");
  EXPECT_EQ(error([](Manifest &m) { m.variants[1].aligned = {{"k", 512}}; }),
            "manifest: 'aligned' of variant 1: k is 512, not a power of two up to 256");
}

TEST(Manifest, WhatBindingComputesKnowsNoGpu) {
  Expr count = Expr::apply(ExprOp::Multiprocessors, {});
  EXPECT_EQ(checkAfter([&](Manifest &m) { m.dims[3].extent = count; }),
            "manifest: extent of dim i: the number of multiprocessors is unknown here");
  // Only intermediates have t.
  EXPECT_EQ(checkAfter([&](Manifest &m) { m.dims[6].extent = count; }), "no error");
  EXPECT_EQ(checkAfter([&](Manifest &m) {
              m.dims[6].extent = count;
              m.lets[0].expr = Expr::size("t");
            }),
            "manifest: let g: size 't' is unknown here");
  EXPECT_EQ(checkAfter([&](Manifest &m) { m.lets[0].expr = count; }),
            "manifest: let g: the number of multiprocessors is unknown here");
  EXPECT_EQ(checkAfter([&](Manifest &m) { m.variants[0].when = count; }), "no error");
}

TEST(Manifest, TheCpuHasNoneOfWhatGpusHave) {
  auto errorOnCpu = [](const std::function<void(Manifest &)> &edit) {
    return checkAfter([&](Manifest &m) {
      m.target = "cpu";
      edit(m);
    });
  };
  EXPECT_EQ(errorOnCpu([](Manifest &) {}), "no error");
  EXPECT_EQ(errorOnCpu([](Manifest &m) { m.kernels[0].cluster = 2; }),
            "manifest: kernel fold: the target cpu has no clusters");
  EXPECT_EQ(errorOnCpu([](Manifest &m) {
              m.variants[1].launches[0].args[0] = ArgDecl::tensorMap("k", {4, 64, 1, 1});
            }),
            "manifest: argument 0 of variant 1, launch of fold: the target cpu has no tensor maps");
  EXPECT_EQ(errorOnCpu([](Manifest &m) {
              m.variants[1].launches[0].grid[0] = Expr::apply(ExprOp::Multiprocessors, {});
            }),
            "manifest: grid of variant 1, launch of fold: the number of multiprocessors is unknown "
            "here");
}

} // namespace
