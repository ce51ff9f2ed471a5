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
  EXPECT_EQ(errorAfter([](Json &json) { json["attnc_manifest"] = 2; }),
            "manifest: document: version 2 is not 1, the one that this attnc reads");
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
            "'stride', 'size', "
            "'param' and 'expr'");
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

/// The error after `edit` has changed the example itself.
std::string checkAfter(const std::function<void(Manifest &)> &edit) {
  Manifest manifest = exampleManifest();
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
  EXPECT_EQ(checkAfter([](Manifest &m) { m.kernels[0].threads = 0; }),
            "manifest: kernel fold: 'threads' is 0, not in 1..1024");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.params[0].dtype = DType::BF16; }),
            "manifest: param scale: a param cannot be bf16");
  EXPECT_EQ(checkAfter([](Manifest &m) { m.variants.clear(); }),
            "manifest: variants: there is none");
}

} // namespace
