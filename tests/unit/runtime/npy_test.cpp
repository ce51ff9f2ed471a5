#include "runtime/npy/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace attnc;

namespace {

/// A file of format version 1 (or 2) with this header text and payload.
std::string file(const std::string &header, std::size_t payload, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1)
    bytes += std::string(2, '\0');
  return bytes + header + std::string(payload, '\x01');
}

std::string errorOf(const std::string &bytes) {
  Result<NpyArray> array = parseNpy(bytes);
  return array ? "no error" : array.error().message;
}

TEST(Npy, RoundTripOfEveryDTypeAndRank) {
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I32,
                     DType::I64, DType::U8})
    for (std::vector<std::int64_t> shape :
         {std::vector<std::int64_t>{}, {5}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4}}) {
      NpyArray array{type, shape, {}};
      std::size_t count = 1;
      for (std::int64_t extent : shape)
        count *= static_cast<std::size_t>(extent);
      for (std::size_t byte = 0; byte < count * dtypeSize(type); ++byte)
        array.data.push_back(static_cast<std::byte>(byte * 37));
      std::string bytes = formatNpy(array);
      EXPECT_EQ((bytes.size() - array.data.size()) % 64, 0u);
      Result<NpyArray> read = parseNpy(bytes);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->dtype, type);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->data, array.data);
    }
}

TEST(Npy, ReadsWhatNumpyWrites) {
  // numpy.save of numpy.array([[1, 2], [3, 4]], '<f4') in format 1.0, 2.0 and 3.0.
  const float values[] = {1, 2, 3, 4};
  for (char version : {1, 2, 3}) {
    std::string bytes =
        file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }      \n", 0, version);
    bytes.append(reinterpret_cast<const char *>(values), sizeof values);
    Result<NpyArray> array = parseNpy(bytes);
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->elements(), 4);
    EXPECT_EQ(std::memcmp(array->data.data(), values, sizeof values), 0);
  }
  // A vector has no order of axes.
  EXPECT_EQ(errorOf(file("{'descr': '|u1', 'fortran_order': True, 'shape': (3,), }", 3)),
            "no error");
}

TEST(Npy, BooleansAreBytes) {
  Result<NpyArray> array =
      parseNpy(file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 3));
  ASSERT_TRUE(array) << array.error().text();
  EXPECT_EQ(array->dtype, DType::U8);
}

TEST(Npy, WhatIsNoFileIsRefused) {
  for (const char *path : {"/dev/zero", "/tmp"}) {
    Result<NpyArray> array = readNpy(path);
    ASSERT_FALSE(array);
    EXPECT_EQ(array.error().message, std::string(path) + " is not a file");
  }
}

TEST(Npy, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(errorOf("PK\x03\x04"), "not a .npy file: it does not begin with \\x93NUMPY");
  EXPECT_EQ(errorOf(file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4)),
            "a .npy file of dtype '>f4' is not supported");
  EXPECT_EQ(errorOf(file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4)),
            "this .npy file holds records, not numbers");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16)),
            "this .npy file is in Fortran order");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", 12)),
            "malformed .npy file: its shape needs 16 bytes, but 12 follow the header");
  EXPECT_EQ(
      errorOf(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", 12)),
      "malformed .npy file: its shape needs 4000000000000 bytes, but 12 follow the header");
  EXPECT_EQ(errorOf(file(
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0)),
            "malformed .npy file: its shape has more than 2^64 bytes");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 0)),
            "malformed .npy file: 'shape' holds something that is no extent");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'shape': (1,)}", 4)),
            "malformed .npy file: its header lacks 'descr', 'fortran_order' or 'shape'");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'order': 1}", 4)),
            "malformed .npy file: its header has the unknown key 'order'");
  EXPECT_EQ(errorOf(file("{}", 0, 7)), "malformed .npy file: format version 7 is not 1, 2 or 3");
}

TEST(Npy, NoTruncationOrDamageCrashes) {
  std::string bytes = formatNpy({DType::F32, {2, 3}, std::vector<std::byte>(24)});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseNpy(std::string_view(bytes).substr(0, size))) << size;
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      Result<NpyArray> array = parseNpy(damaged);
      if (array) {
        EXPECT_LE(array->data.size(), bytes.size());
      }
    }
}

TEST(Npy, FilesOnDisk) {
  auto path = std::filesystem::path(testing::TempDir()) / "attnc_npy_test.npy";
  NpyArray array{DType::I32, {3}, std::vector<std::byte>(12, std::byte(7))};
  ASSERT_TRUE(writeNpy(array, path));
  Result<NpyArray> read = readNpy(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->data, array.data);
  std::filesystem::remove(path);
  EXPECT_EQ(readNpy(path).error().kind, ErrorKind::Environment);
  EXPECT_FALSE(writeNpy(array, "/nonexistent/folder/x.npy"));
}

} // namespace
