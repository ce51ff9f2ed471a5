#include "runtime/program/bind.h"

#include "runtime/program/disjoint.h"
#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

using namespace attnc;

namespace {

/// b = 2, h = 4, hk = 2, i = 3, j = 5, d = 4; k's rows are 16 bytes, so aligned by themselves.
struct Example {
  alignas(64) float q[2 * 4 * 3 * 4] = {};
  alignas(64) float k[2 * 2 * 5 * 4] = {};
  alignas(64) float o[2 * 4 * 3 * 4] = {};
  Manifest manifest = exampleManifest();
  BindRequest request;

  Example() {
    request.inputs["q"] = TensorRef::contiguous(q, DType::F32, {2, 4, 3, 4});
    request.inputs["k"] = TensorRef::contiguous(k, DType::F32, {2, 2, 5, 4});
    request.outputs["o"] = TensorRef::contiguous(o, DType::F32, {2, 4, 3, 4});
  }

  std::string error() {
    Result<Binding> binding = bind(manifest, request);
    return binding ? "no error" : binding.error().message;
  }
};

std::string errorAfter(const std::function<void(Example &)> &edit) {
  Example example;
  edit(example);
  return example.error();
}

TEST(Bind, FindsSizesLetsAndParams) {
  Example example;
  Result<Binding> binding = bind(example.manifest, example.request);
  ASSERT_TRUE(binding) << binding.error().message;
  std::map<std::string, std::int64_t> sizes = {{"b", 2}, {"h", 4}, {"hk", 2}, {"i", 3},
                                               {"j", 5}, {"d", 4}, {"t", 1}};
  EXPECT_EQ(binding->scope.sizes, sizes);
  EXPECT_EQ(binding->scope.lets.at("g"), Scalar(std::int64_t(2)));
  EXPECT_EQ(binding->scope.params.at("scale"), Scalar(0.5));
  EXPECT_EQ(binding->tensors.size(), 3u);
}

TEST(Bind, OutputShapesAreKnownBeforeOutputsExist) {
  Example example;
  Result<Scope> scope = resolveSizes(example.manifest, example.request.inputs);
  ASSERT_TRUE(scope) << scope.error().message;
  EXPECT_EQ(*shapeOf(example.manifest.outputs[0], *scope), (std::vector<std::int64_t>{2, 4, 3, 4}));
  scope->sizes["i"] = INT64_MAX / 8;
  EXPECT_EQ(shapeOf(example.manifest.outputs[0], *scope).error().message,
            "o: [b, h, i, d] has more than 2^63 bytes");
}

std::vector<std::int64_t> stridesOf(TensorDecl decl, const std::vector<std::int64_t> &shape) {
  Scope scope;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    decl.dims.push_back(std::string(1, static_cast<char>('a' + axis)));
    scope.sizes[decl.dims.back()] = shape[axis];
  }
  Result<TensorRef> tensor = intermediateAt(nullptr, decl, scope);
  EXPECT_TRUE(tensor) << tensor.error().message;
  EXPECT_EQ(tensor->shape, shape);
  return tensor->strides;
}

TEST(Bind, RowsOfIntermediatesArePaddedToTheirAlignment) {
  using Strides = std::vector<std::int64_t>;
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 0}, {2, 3, 5}), (Strides{15, 5, 1}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 2}, {2, 3, 5}), (Strides{15, 5, 1}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 16}, {2, 3, 5}), (Strides{24, 8, 1}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 16}, {2, 3, 16}), (Strides{48, 16, 1}));
  EXPECT_EQ(stridesOf({"t", DType::F32, {}, 16}, {2, 3, 5}), (Strides{24, 8, 1}));
  EXPECT_EQ(stridesOf({"t", DType::F32, {}, 256}, {2, 3, 65}), (Strides{384, 128, 1}));
  EXPECT_EQ(stridesOf({"t", DType::F64, {}, 4}, {2, 3, 5}), (Strides{15, 5, 1}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 16}, {5}), (Strides{1}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 16}, {}), (Strides{}));
  EXPECT_EQ(stridesOf({"t", DType::BF16, {}, 16}, {2, 0, 5}), (Strides{8, 8, 1}));
}

TEST(Bind, APaddedIntermediateIsAlignedInEveryAxis) {
  Scope scope;
  scope.sizes = {{"a", 3}, {"b", 7}, {"c", 13}};
  for (DType dtype : {DType::U8, DType::BF16, DType::F32, DType::F64})
    for (std::int64_t align : {1, 2, 16, 64, 256}) {
      TensorDecl decl = {"t", dtype, {"a", "b", "c"}, align};
      TensorRef tensor = *intermediateAt(reinterpret_cast<void *>(0x1000), decl, scope);
      EXPECT_TRUE(checkAlignment(decl, tensor, align)) << dtypeName(dtype) << " " << align;
      EXPECT_TRUE(elementsAreDistinct(tensor));
    }
}

TEST(Bind, APaddedIntermediateFitsIn63Bits) {
  Scope scope;
  scope.sizes = {{"a", std::int64_t(1) << 60}, {"b", 1}};
  EXPECT_TRUE(intermediateAt(nullptr, {"t", DType::BF16, {"a", "b"}, 0}, scope));
  EXPECT_EQ(intermediateAt(nullptr, {"t", DType::BF16, {"a", "b"}, 16}, scope).error().message,
            "t: [a, b] with rows padded to multiples of 16 bytes has more than 2^63 bytes");
  scope.sizes["b"] = INT64_MAX;
  EXPECT_EQ(intermediateAt(nullptr, {"t", DType::U8, {"b"}, 16}, scope).error().message,
            "t: [b] with rows padded to multiples of 16 bytes has more than 2^63 bytes");
}

TEST(Bind, NamesMustMatch) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs.erase("k"); }), "input k is missing");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["v"] = e.request.inputs["k"]; }),
            "unknown input v");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs.clear(); }), "output o is missing");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["tau"] = Scalar(1.0); }),
            "unknown param tau");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.extraSizes["w"] = 1; }),
            "unknown dim w in the given sizes");
}

TEST(Bind, ExtentsThatTheGpuDecidesAreNotGiven) {
  EXPECT_EQ(errorAfter([](Example &e) {
              e.manifest.dims[6].extent = Expr::apply(ExprOp::Multiprocessors, {});
              e.request.extraSizes["t"] = 3;
            }),
            "unknown dim t in the given sizes");
}

TEST(Bind, DTypesAndRanksMustMatch) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].dtype = DType::BF16; }),
            "q: is bf16, expected f32");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs["o"].dtype = DType::F16; }),
            "o: is f16, expected f32");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["q"] = TensorRef::contiguous(e.q, DType::F32, {4, 3, 4});
            }),
            "q: has 3 axes, expected 4: [b, h, i, d]");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides.pop_back(); }),
            "q: has 4 axes but 3 strides");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs["o"].shape.pop_back(); }),
            "o: has 3 axes, expected 4: [b, h, i, d]");
}

TEST(Bind, ErrorsSayWhereTheSpecDeclaresWhatDoesNotFit) {
  Example example;
  example.manifest.inputs[0].place = "a.json:4:9";
  example.manifest.inputs[1].place = "a.json:5:9";
  example.manifest.outputs[0].place = "a.json:9:4";
  example.manifest.params[0].place = "a.json:6:4";
  example.manifest.requires_[0].place = "a.json:7:4";
  auto remedyAfter = [&](auto change) {
    Example changed = example;
    change(changed.request);
    Result<Binding> binding = bind(changed.manifest, changed.request);
    return binding ? std::string() : binding.error().remedy;
  };
  auto tensor = [&](std::vector<std::int64_t> shape) {
    return TensorRef::contiguous(example.k, DType::F32, std::move(shape));
  };
  EXPECT_EQ(remedyAfter([&](BindRequest &r) { r.inputs["k"] = tensor({1, 2, 5, 4}); }),
            "q is declared at a.json:4:9, k is declared at a.json:5:9");
  EXPECT_EQ(remedyAfter([&](BindRequest &r) { r.inputs["q"] = tensor({2, 4, 3, 2}); }),
            "q is declared at a.json:4:9");
  EXPECT_EQ(remedyAfter([&](BindRequest &r) { r.inputs["k"] = tensor({2, 5, 4}); }),
            "k is declared at a.json:5:9");
  EXPECT_EQ(remedyAfter([&](BindRequest &r) { r.outputs["o"] = tensor({2, 4, 2, 4}); }),
            "output o is declared at a.json:9:4");
  EXPECT_EQ(remedyAfter([](BindRequest &r) { r.params["scale"] = Scalar(-1.0); }),
            "its range is declared at a.json:6:4");
  EXPECT_EQ(remedyAfter([&](BindRequest &r) { r.inputs["k"] = tensor({2, 3, 1, 4}); }),
            "it stands at a.json:7:4");
}

TEST(Bind, DimsMustAgree) {
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["k"] = TensorRef::contiguous(e.k, DType::F32, {1, 2, 5, 4});
            }),
            "k: dim b is 1 but q has 2");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["q"] = TensorRef::contiguous(e.q, DType::F32, {2, 4, 3, 2});
            }),
            "q: dim d is 2 but the program has 4");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.extraSizes["j"] = 7; }),
            "given size: dim j is 7 but k has 5");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.extraSizes["t"] = 7; }),
            "dim t is 1 but the caller gave 7");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.outputs["o"] = TensorRef::contiguous(e.o, DType::F32, {2, 4, 2, 4});
            }),
            "o: dim i is 2 but must be 3");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["q"] = TensorRef::contiguous(e.q, DType::F32, {2, 4, 0, 4});
            }),
            "dim i is 0, but must be at least 1");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["q"] =
                  TensorRef::contiguous(e.q, DType::F32, {2, 4, (std::int64_t(1) << 30) + 1, 4});
            }),
            "dim i is 1073741825, but can be at most 1073741824");
  EXPECT_EQ(errorAfter([](Example &e) { e.manifest.dims.push_back({"w", {}, 1}); }),
            "the extent of dim w is unknown: no input carries it");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.manifest.dims.push_back({"w", {}, 1});
              e.request.extraSizes["w"] = 9;
            }),
            "no error");
}

TEST(Bind, ADimThatMayBeEmptyMayBeEmpty) {
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["k"] = TensorRef::contiguous(nullptr, DType::F32, {2, 2, 0, 4});
            }),
            "no error");
}

TEST(Bind, StridesMustBeUsable) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides = {48, 12, 1, 3}; }),
            "q: the last dim d must be contiguous, but its stride is 3");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides[2] = -4; }),
            "q: the stride of dim i is -4, but must not be negative");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides[0] = INT64_MAX / 2; }),
            "q: its last element lies beyond 2^63 bytes");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides[1] = 0; }),
            "no error"); // broadcast
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].strides = {48, 4, 16, 1}; }),
            "no error"); // permuted
}

TEST(Bind, AlignmentIsChecked) {
  EXPECT_EQ(errorAfter(
                [](Example &e) { e.request.inputs["q"].data = reinterpret_cast<char *>(e.q) + 2; }),
            "q: its address is 2 bytes past a multiple of 4");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["k"].data = e.k + 1; }),
            "k: its address is 4 bytes past a multiple of 16");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["k"].strides = {20, 10, 5, 1}; }),
            "k: the stride of dim hk is 10 elements (40 bytes), not a multiple of 16 bytes");
  EXPECT_EQ(errorAfter([](Example &e) { // the stride of an axis with one element is never used
              e.request.inputs["q"] = TensorRef::contiguous(e.q, DType::F32, {1, 4, 3, 4});
              e.request.outputs["o"] = TensorRef::contiguous(e.o, DType::F32, {1, 4, 3, 4});
              e.request.inputs["k"] = TensorRef::contiguous(e.k, DType::F32, {1, 2, 5, 4});
              e.request.inputs["k"].strides[0] = 7;
            }),
            "no error");
}

TEST(Bind, MemoryMustBeOnTheDevice) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["q"].data = nullptr; }),
            "q: its data pointer is null");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["k"].device = {DeviceKind::Cuda, 1}; }),
            "k: is on cuda:1, but the program runs on cpu");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.device = {DeviceKind::Cuda, 0}; }),
            "q: is on cpu, but the program runs on cuda:0");
}

TEST(Bind, OutputsShareNoMemory) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs["o"].data = e.q; }),
            "output o overlaps input q in memory");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs["o"].strides[0] = 0; }),
            "output o: several elements share memory (strides 0, 12, 4, 1)");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.outputs["o"].strides = {8, 2, 24, 1}; }),
            "output o: several elements share memory (strides 8, 2, 24, 1)");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.manifest.outputs.push_back(e.manifest.outputs[0]);
              e.manifest.outputs[1].name = "p";
              e.request.outputs["p"] = e.request.outputs["o"];
            }),
            "output p overlaps output o in memory");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.inputs["k"].data = e.q; }),
            "no error"); // inputs may alias
}

TEST(Bind, ParamsMustBeInRange) {
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["scale"] = Scalar(-1.0); }),
            "param scale is -1, but must be > 0");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["scale"] = Scalar(1e-300); }),
            "param scale is 0, but must be > 0");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["scale"] = Scalar(double(NAN)); }),
            "param scale is nan, but must be > 0");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["window"] = Scalar(std::int64_t(101)); }),
            "param window is 101, but must be >= 1 and <= 100");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["window"] = Scalar(std::int64_t(100)); }),
            "no error");
  EXPECT_EQ(errorAfter([](Example &e) { e.request.params["window"] = Scalar(2.0); }),
            "param window is 2, but must be an integer");
  EXPECT_EQ(
      errorAfter([](Example &e) { e.request.params["window"] = Scalar(std::int64_t(1) << 40); }),
      "param window is 1099511627776, which does not fit in i32");
  EXPECT_EQ(errorAfter([](Example &e) { e.manifest.params[0].fallback.reset(); }),
            "param scale is missing and has no default");
}

TEST(Bind, RequirementsMustHold) {
  EXPECT_EQ(errorAfter([](Example &e) {
              e.request.inputs["q"] = TensorRef::contiguous(e.q, DType::F32, {2, 3, 3, 4});
              e.request.outputs["o"] = TensorRef::contiguous(e.o, DType::F32, {2, 3, 3, 4});
            }),
            "requirement does not hold: size(h) % size(hk) == 0 (h = 3, hk = 2)");
}

TEST(Disjoint, PartsOfAPackedArrayAreDisjoint) {
  // q, k and v as [b, i, h, d] views into one [b=2, i=3, 3, h=2, d=4].
  float packed[2 * 3 * 3 * 2 * 4];
  auto part = [&](int which, std::int64_t d = 4) {
    return TensorRef{packed + which * 8, DType::F32, {2, 3, 2, d}, {72, 24, 4, 1}, {}};
  };
  EXPECT_TRUE(areDisjoint(part(0), part(1)));
  EXPECT_TRUE(areDisjoint(part(2), part(0)));
  EXPECT_FALSE(areDisjoint(part(1), part(1)));
  EXPECT_FALSE(areDisjoint(part(0, 5), part(1))); // the last head of q runs into k
}

/// Every proof of disjointness is compared with the sets of addresses themselves.
TEST(Disjoint, ProofsHoldForAllSmallViews) {
  char memory[256];
  auto addresses = [](const TensorRef &view) {
    std::vector<char *> result;
    for (std::int64_t x = 0; x < view.shape[0]; ++x)
      for (std::int64_t y = 0; y < view.shape[1]; ++y)
        result.push_back(static_cast<char *>(view.data) + x * view.strides[0] +
                         y * view.strides[1]);
    std::sort(result.begin(), result.end());
    return result;
  };
  int proven = 0;
  std::vector<TensorRef> views;
  for (std::int64_t offset : {0, 1, 2, 5})
    for (std::int64_t rows : {1, 3})
      for (std::int64_t columns : {1, 2, 3})
        for (std::int64_t stride : {0, 2, 3, 4, 6, 9})
          for (std::int64_t inner : {1, 2, 3})
            views.push_back({memory + offset, DType::U8, {rows, columns}, {stride, inner}, {}});
  for (const TensorRef &a : views) {
    std::vector<char *> ofA = addresses(a);
    bool distinct = std::adjacent_find(ofA.begin(), ofA.end()) == ofA.end();
    EXPECT_TRUE(distinct || !elementsAreDistinct(a));
    for (const TensorRef &b : views)
      if (areDisjoint(a, b)) {
        ++proven;
        std::vector<char *> ofB = addresses(b), both;
        std::set_intersection(ofA.begin(), ofA.end(), ofB.begin(), ofB.end(),
                              std::back_inserter(both));
        ASSERT_TRUE(both.empty());
      }
  }
  EXPECT_GT(proven, 1000);
}

} // namespace
