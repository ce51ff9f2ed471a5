// NAME.launch.json says what the runtime itself would do.
#include "runtime/program/bind.h"
#include "tools/attnc/output/launch_json.h"
#include <gtest/gtest.h>

namespace attnc::cli {
namespace {

/// One kernel that takes a map of `x`, an intermediate whose rows are padded to 16 bytes.
Manifest example(DType type = DType::BF16) {
  Manifest manifest;
  manifest.name = "m";
  manifest.target = "sm_90a";
  manifest.dims = {{"h", std::nullopt, 0}, {"i", std::nullopt, 0}, {"d", std::nullopt, 0}};
  manifest.inputs = {{"q", type, {"h", "i", "d"}}};
  manifest.intermediates = {{"x", type, {"h", "i", "d"}, 16}};
  manifest.kernels = {{"fold", "image", "fold", 128, Expr::constant(1024), std::nullopt}};
  LaunchDecl launch;
  launch.kernel = "fold";
  launch.args = {ArgDecl::param("n"), ArgDecl::tensorMap("x", {32, 8, 1}, 64),
                 ArgDecl::stride("q", 1), ArgDecl::value(Expr::size("i"), DType::I32),
                 ArgDecl::counter()};
  manifest.params = {{"n", DType::F32, Expr::constant(1.0), {}, {}}};
  manifest.variants = {{std::nullopt, {launch}}};
  return manifest;
}

Json describe(const Manifest &manifest) { return launchJson(manifest, {{"image", "x.ptx"}}); }

TEST(LaunchJson, IsTheManifestAndMore) {
  Manifest manifest = example();
  ASSERT_TRUE(checkManifest(manifest).ok());
  Json said = describe(manifest), manifestJson = Json::parse(printManifest(manifest));
  EXPECT_EQ(said.at("attnc_launch"), 1);
  for (const char *key : {"name", "target", "dims", "inputs", "params", "variants"})
    EXPECT_EQ(said.at(key), manifestJson.at(key)) << key;
  EXPECT_EQ(said.at("kernels").at(0).at("file"), "x.ptx");
}

TEST(LaunchJson, PlacesParametersAsTheirTypesAreAligned) {
  Json parameters = describe(example()).at("kernels").at(0).at("parameters");
  auto column = [&](const char *key) {
    Json list = Json::array();
    for (const Json &parameter : parameters)
      list.push_back(parameter.at(key));
    return list;
  };
  EXPECT_EQ(column("name"), Json({"n", "x_map", "q_stride1", "value", "drawn"}));
  EXPECT_EQ(column("kind"), Json({"param", "tensor_map", "stride", "expr", "counter"}));
  EXPECT_EQ(column("type"), Json({"float", "CUtensorMap", "int64_t", "int32_t", "CUdeviceptr"}));
  EXPECT_EQ(column("offset"), Json({0, 64, 192, 200, 208}));
  EXPECT_EQ(column("bytes"), Json({4, 128, 8, 4, 8}));
}

TEST(LaunchJson, HasTheDriversNumbersOfATensorMap) {
  // cuda.h: CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 and _FLOAT32, CU_TENSOR_MAP_SWIZZLE_64B,
  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B.
  Json encode = describe(example()).at("kernels").at(0).at("parameters").at(1).at("encode");
  EXPECT_EQ(encode, Json::parse(R"({"data_type": 9, "rank": 3, "dims": ["d", "i", "h"],
    "box": [32, 8, 1], "element_strides": [1, 1, 1], "interleave": 0, "swizzle": 2,
    "l2_promotion": 2, "fill": 0})"));
  Json other = describe(example(DType::F32)).at("kernels").at(0).at("parameters").at(1);
  EXPECT_EQ(other.at("encode").at("data_type"), 7);
}

TEST(LaunchJson, SetsTheAttributesWithoutWhichALaunchFails) {
  auto attributes = [](const Expr &shared, int cluster) {
    Manifest manifest = example();
    manifest.kernels[0].sharedBytes = shared;
    manifest.kernels[0].cluster = cluster;
    return describe(manifest).at("kernels").at(0).at("attributes");
  };
  EXPECT_EQ(attributes(Expr::constant(49152), 8), Json::array());
  EXPECT_EQ(attributes(Expr::constant(49153), 1),
            Json::parse(R"([{"attribute": 8, "value": 49153}])"));
  EXPECT_EQ(attributes(Expr::size("i"), 16),
            Json::parse(R"([{"attribute": 8, "value": ["size", "i"]},
                            {"attribute": 14, "value": 1}])"));
}

TEST(LaunchJson, LaysOutIntermediatesAsTheRuntimeDoes) {
  for (DType type : {DType::BF16, DType::F32})
    for (std::int64_t columns : {1, 7, 8, 9, 64}) {
      Manifest manifest = example(type);
      Scope scope{{{"h", 3}, {"i", 5}, {"d", columns}}, {}, {}};
      Json said = describe(manifest).at("intermediates").at(0);
      Result<TensorRef> placed = intermediateAt(nullptr, manifest.intermediates[0], scope);
      ASSERT_TRUE(placed);
      for (std::size_t axis = 0; axis < 3; ++axis)
        EXPECT_EQ(*evaluateInteger(*parseExpr(said.at("strides").at(axis)), scope),
                  placed->strides[axis]);
      EXPECT_EQ(*evaluateInteger(*parseExpr(said.at("bytes")), scope),
                placed->strides[0] * 3 * static_cast<std::int64_t>(dtypeSize(type)));
    }
}

TEST(LaunchJson, ReadableTextIsTheSameJson) {
  Json json = describe(example());
  std::string text = readableJson(json);
  EXPECT_EQ(Json::parse(text), json);
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LE(end - at, 100u) << text.substr(at, end - at);
  }
}

} // namespace
} // namespace attnc::cli
