#include "runtime/program/tensor_map.h"

#include "runtime/program/launch.h"

#include <gtest/gtest.h>

#include <functional>

using namespace attnc;

namespace {

constexpr std::int64_t b = 2, h = 3, j = 5, d = 96;

/// k bf16[b, h, j, d], rows padded to 128 elements, heads between the rows: [b, j, h, 128] in
/// memory.
struct Example {
  TensorDecl decl = {"k", DType::BF16, {"b", "h", "j", "d"}, 0};
  TensorRef tensor = {reinterpret_cast<void *>(0x1010),
                      DType::BF16,
                      {b, h, j, d},
                      {j * h * 128, 128, h * 128, 1},
                      {}};
  std::vector<std::int64_t> box = {64, 80, 1, 1};
  int swizzle = 128;

  Result<TensorMapArg> describe() const { return describeTensorMap(decl, tensor, box, swizzle); }
};

std::string errorAfter(const std::function<void(Example &)> &edit) {
  Example example;
  edit(example);
  if (Status status = checkTensorMapBox(example.decl, example.box, example.swizzle); !status)
    return status.error().message;
  Result<TensorMapArg> map = example.describe();
  return map ? "no error" : map.error().message;
}

TEST(TensorMap, AxesAreInReverseStorageOrder) {
  Example example;
  Result<TensorMapArg> map = example.describe();
  ASSERT_TRUE(map) << map.error().message;
  TensorMapArg expected = {example.tensor.data, DType::BF16,
                           {d, j, h, b},        {h * 128 * 2, 128 * 2, j * h * 128 * 2},
                           {64, 80, 1, 1},      128};
  EXPECT_EQ(*map, expected);
}

TEST(TensorMap, TheStrideOfOneElementIsReplacedByALegalOne) {
  Example example;
  example.tensor.shape = {1, h, 1, d};
  example.tensor.strides = {7, 128, std::int64_t(1) << 60, 1};
  Result<TensorMapArg> map = example.describe();
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->extents, (std::vector<std::int64_t>{d, 1, h, 1}));
  EXPECT_EQ(map->strides, (std::vector<std::int64_t>{16, 256, 16}));
}

TEST(TensorMap, AnExpandedAxisKeepsStrideZero) {
  Example example;
  example.tensor.strides[1] = 0;
  Result<TensorMapArg> map = example.describe();
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->strides[1], 0);
}

TEST(TensorMap, ATensorWithoutElementsHasNoBaseAndOneElement) {
  Example example;
  example.tensor = TensorRef::contiguous(reinterpret_cast<void *>(3), DType::BF16, {b, h, 0, d});
  Result<TensorMapArg> map = example.describe();
  ASSERT_TRUE(map) << map.error().message;
  TensorMapArg expected = {nullptr, DType::BF16, {1, 1, 1, 1}, {16, 16, 16}, example.box, 128};
  EXPECT_EQ(*map, expected);
}

TEST(TensorMap, MemoryMustBeAligned) {
  EXPECT_EQ(errorAfter([](Example &e) { e.tensor.data = reinterpret_cast<void *>(0x1018); }),
            "k: its address is 8 bytes past a multiple of 16");
  EXPECT_EQ(errorAfter([](Example &e) { e.tensor.strides[2] = 388; }),
            "k: the stride of dim j is 388 elements (776 bytes), not a multiple of 16 bytes");
  EXPECT_EQ(
      errorAfter([](Example &e) { e.tensor.strides[0] = std::int64_t(1) << 39; }),
      "k: the stride of dim b is 549755813888 elements, but a tensor map needs less than 2^40 "
      "bytes");
  EXPECT_EQ(errorAfter([](Example &e) { e.tensor.strides[0] = (std::int64_t(1) << 39) - 8; }),
            "no error");
  EXPECT_EQ(errorAfter([](Example &e) { e.tensor.shape[2] = (std::int64_t(1) << 32) + 1; }),
            "k: dim j is 4294967297, but a tensor map has at most 2^32");
  Example example;
  example.tensor.strides[2] = 388;
  EXPECT_EQ(example.describe().error().kind, ErrorKind::InvalidArgument);
  EXPECT_EQ(example.describe().error().remedy,
            "pad the rows of k to multiples of 8 elements, or pass a copy so padded");
}

TEST(TensorMap, BoxesMustFit) {
  EXPECT_EQ(errorAfter([](Example &e) { e.box.pop_back(); }),
            "'box' has 3 extents, but k has 4 axes");
  EXPECT_EQ(errorAfter([](Example &e) { e.box[1] = 257; }),
            "an extent of 'box' is 257, not in 1..256");
  EXPECT_EQ(errorAfter([](Example &e) { e.box[3] = 0; }), "an extent of 'box' is 0, not in 1..256");
  EXPECT_EQ(errorAfter([](Example &e) { e.box[0] = 60; }),
            "a row of 'box' is 120 bytes, not a multiple of 16");
  EXPECT_EQ(errorAfter([](Example &e) { e.box[0] = 128; }),
            "a row of 'box' is 256 bytes, longer than its swizzle of 128");
  EXPECT_EQ(errorAfter([](Example &e) { e.swizzle = 64; }),
            "a row of 'box' is 128 bytes, longer than its swizzle of 64");
  EXPECT_EQ(errorAfter([](Example &e) { e.swizzle = 16; }),
            "'swizzle' is 16, not 0, 32, 64 or 128");
  EXPECT_EQ(errorAfter([](Example &e) { e.box = {64, 256, 8, 1}; }),
            "'box' has 262144 bytes, but shared memory has 232448");
  EXPECT_EQ(errorAfter([](Example &e) {
              e.swizzle = 0;
              e.box[0] = 256;
            }),
            "no error");
}

TEST(TensorMap, TypesAndRanksMustBePossible) {
  EXPECT_EQ(errorAfter([](Example &e) { e.decl.dtype = DType::F64; }),
            "k is f64, but a tensor map needs f16, bf16, f32, i32 or i64");
  EXPECT_EQ(errorAfter([](Example &e) { e.decl.dtype = e.tensor.dtype = DType::I32; }),
            "a row of 'box' is 256 bytes, longer than its swizzle of 128");
  EXPECT_EQ(errorAfter([](Example &e) { e.decl.dims.clear(); }),
            "k has 0 axes, but a tensor map has 1 to 5");
  EXPECT_EQ(errorAfter([](Example &e) { e.decl.dims = {"a", "b", "c", "h", "j", "d"}; }),
            "k has 6 axes, but a tensor map has 1 to 5");
}

} // namespace
