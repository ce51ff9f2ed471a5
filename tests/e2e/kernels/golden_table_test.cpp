#include "tests/e2e/kernels/golden_table.h"
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

GoldenRow exampleRow() { return {"warpgroups", 384, 98304, 168, 0, {{"total", 900}, {"ex2", 64}}}; }

TEST(GoldenTable, EqualRowsDoNotDiffer) {
  GoldenTable table;
  table.set("causal", exampleRow(), "13.0");
  EXPECT_TRUE(table.differences("causal", exampleRow(), "13.0").empty());
}

TEST(GoldenTable, NamesWhatDiffers) {
  GoldenTable table;
  table.set("causal", exampleRow(), "13.0");
  GoldenRow now = {"portable", 128, 65536, 255, 8, {{"total", 901}, {"lg2", 1}}};
  EXPECT_EQ(
      table.differences("causal", now, "13.0"),
      (std::vector<std::string>{"form: warpgroups -> portable", "threads: 384 -> 128",
                                "shared: 98304 -> 65536", "registers: 168 -> 255", "spills: 0 -> 8",
                                "ptx ex2: 64 -> 0", "ptx lg2: 0 -> 1", "ptx total: 900 -> 901"}));
  EXPECT_EQ(table.differences("full", exampleRow(), "13.0"),
            std::vector<std::string>{"not in the table"});
}

TEST(GoldenTable, WhatAnotherNvrtcDecidesIsNotCompared) {
  GoldenTable table;
  table.set("causal", exampleRow(), "13.0");
  GoldenRow now = exampleRow();
  now.registers = 170;
  now.spillBytes = 4;
  now.ptx["total"] = 880;
  EXPECT_TRUE(table.differences("causal", now, "13.1").empty());
  now.ptx["ex2"] = 65;
  EXPECT_EQ(table.differences("causal", now, "13.1"),
            std::vector<std::string>{"ptx ex2: 64 -> 65"});
}

TEST(GoldenTable, RowsOfTwoVersionsAreNotMixed) {
  GoldenTable table;
  table.set("causal", exampleRow(), "13.0");
  table.set("full", exampleRow(), "13.0");
  EXPECT_EQ(table.kernels(), (std::vector<std::string>{"causal", "full"}));
  table.set("full", exampleRow(), "13.1");
  EXPECT_EQ(table.kernels(), std::vector<std::string>{"full"});
}

TEST(GoldenTable, TextHasEveryFigure) {
  GoldenTable table;
  table.set("causal", exampleRow(), "13.0");
  EXPECT_EQ(table.text(),
            "{\n  \"nvrtc\": \"13.0\",\n  \"kernels\": {\n"
            "    \"causal\": {\"form\": \"warpgroups\", \"threads\": 384, \"shared\": 98304, "
            "\"registers\": 168, \"spills\": 0,\n"
            "      \"ptx\": {\"ex2\": 64, \"total\": 900}}\n  }\n}\n");
}

} // namespace
} // namespace attnc::e2e
