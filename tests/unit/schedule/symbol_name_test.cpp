#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/nest/symbol_name.h"
#include "tests/unit/transforms/fused_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc::schedule {
namespace {

using testing::StartsWith;

TEST(SymbolName, IsTheWordsAsLongAsTheyFit) {
  EXPECT_EQ(symbolName({"full", "o", "lse"}), "full_o_lse");
  std::string longest(kMostSymbolName - 2, 'x');
  EXPECT_EQ(symbolName({longest, "o"}), longest + "_o");
  EXPECT_NE(symbolName({longest, "oo"}), longest + "_oo");
}

TEST(SymbolName, OfLettersBeyondAsciiIsNobodyElses) {
  EXPECT_EQ(cIdentifier("\u03b1"), "_uCE_uB1");
  EXPECT_EQ(cIdentifier("_uCE_uB1"), "_u5FuCE_u5FuB1");
  EXPECT_EQ(cIdentifier("q_u16"), "q_u16");
}

TEST(SymbolName, OfManyWordsIsTheFirstAndAHash) {
  std::vector<std::string> words = {"program"};
  for (int number = 0; number < 60; ++number)
    words.push_back("value_" + std::to_string(number));
  std::string name = symbolName(words);
  EXPECT_THAT(name, StartsWith("program_value_0_value_1_value_2_value_3_"));
  EXPECT_LE(name.size(), kMostSymbolName);
  EXPECT_EQ(symbolName(words), name);
  words.back() += "0";
  EXPECT_NE(symbolName(words), name);
}

TEST(SymbolName, OfOneLongWordIsItsBeginningAndAHash) {
  std::string name = symbolName({std::string(300, 'x'), "o"});
  EXPECT_EQ(name.size(), kMostSymbolName);
  EXPECT_THAT(name, StartsWith(std::string(40, 'x')));
  EXPECT_NE(symbolName({std::string(300, 'x'), "p"}), name);
}

std::vector<std::string> kernelNames(const nlohmann::json &spec) {
  FusedProgram program(spec.dump());
  std::vector<std::string> names;
  for (red::NestOp nest : program.nests())
    names.push_back(kernelName(nest));
  return names;
}

// a and b_c are of one pass, a_b and c of another.
TEST(KernelName, IsOfOneNestAlone) {
  nlohmann::json spec = {{"attnc", 1},
                         {"name", "program"},
                         {"dims", {{"d", 16}}},
                         {"inputs", {{"q", "f32[i, d]"}, {"k", "f32[j, d]"}}},
                         {"body",
                          {"s = sum(d, q[i,d] * k[j,d])", "a[i] = max(j, s)", "b_c[i] = min(j, s)",
                           "a_b[j] = max(i, s)", "c[j] = min(i, s)"}},
                         {"outputs", {{"a", "f32"}, {"b_c", "f32"}, {"a_b", "f32"}, {"c", "f32"}}}};
  std::vector<std::string> names = kernelNames(spec);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_NE(names[0], names[1]);
  for (const std::string &name : names)
    EXPECT_THAT(name, StartsWith("program_a_b_c_"));
}

// A sum for each of 40 outputs, all of them of one pass.
TEST(KernelName, OfManyResultsIsAFileName) {
  nlohmann::json spec = {{"attnc", 1},
                         {"name", "program"},
                         {"inputs", {{"x", "f32[i, j]"}}},
                         {"body", nlohmann::json::array()},
                         {"outputs", nlohmann::json::object()}};
  for (int number = 1; number <= 40; ++number) {
    std::string name = "sum_" + std::to_string(number);
    spec["body"].push_back(name + "[i] = sum(j, x[i,j] * " + std::to_string(number) + ".0)");
    spec["outputs"][name] = "f32";
  }
  std::vector<std::string> names = kernelNames(spec);
  ASSERT_EQ(names.size(), 1U);
  EXPECT_LE(names[0].size(), kMostSymbolName);
}

} // namespace
} // namespace attnc::schedule
