// What becomes of each spec of the library is what the golden table says.
#include "tests/e2e/kernels/golden_table.h"
#include "tests/e2e/kernels/nest_table.h"
#include "tests/e2e/variant.h"
#include <fmt/format.h>
#include <fstream>

namespace attnc::e2e {
namespace {

class LibraryNests : public testing::TestWithParam<std::string> {};

void write(const std::string &spec, const SpecRow &row) {
  static NestTable table;
  table.set(spec, row);
  std::filesystem::path path = GoldenTable::destination() / "nests.json";
  std::ofstream file(path);
  file << table.text();
  ASSERT_TRUE(file.flush()) << path;
}

TEST_P(LibraryNests, AreThoseOfTheGoldenTable) {
  Result<SpecRow> row = nestsOf(GetParam());
  ASSERT_TRUE(row.ok()) << row.error().text();
  if (!GoldenTable::destination().empty())
    return write(GetParam(), *row);
  std::vector<std::string> list = NestTable::ofRepository().differences(GetParam(), *row);
  EXPECT_TRUE(list.empty()) << GetParam()
                            << " in tests/golden/nests.json, before (-) and now (+):\n"
                            << fmt::format("{}", fmt::join(list, "\n"))
                            << "\nIf that is meant: ./dev golden writes the table anew; commit it "
                               "with the change that it shows.";
}

INSTANTIATE_TEST_SUITE_P(All, LibraryNests, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

TEST(NestTables, HaveTheSpecsOfTheLibraryAndNoOthers) {
  if (!GoldenTable::destination().empty())
    GTEST_SKIP() << "they are being written";
  EXPECT_EQ(NestTable::ofRepository().specs(), specNames());
}

SpecRow exampleRow() {
  return {"i=3", {{"a_o", {{"sm_80", "portable"}}, {"m: max of s", "o: add of v"}, {"s"}, {}}}};
}

TEST(NestTables, EqualRowsDoNotDiffer) {
  NestTable table;
  table.set("a", exampleRow());
  EXPECT_TRUE(table.differences("a", exampleRow()).empty());
}

TEST(NestTables, NameWhatDiffers) {
  NestTable table;
  table.set("a", exampleRow());
  SpecRow now = exampleRow();
  now.nests[0].states[0] = "m: max of t";
  now.nests[0].materialised["z"] = 12;
  EXPECT_EQ(
      table.differences("a", now),
      (std::vector<std::string>{
          "-         \"m: max of s\",", "-       ], \"recomputed\": [\"s\"], \"materialised\": {}}",
          "+         \"m: max of t\",",
          "+       ], \"recomputed\": [\"s\"], \"materialised\": {\"z\":12}}"}));
  EXPECT_EQ(table.differences("b", now), std::vector<std::string>{"not in the table"});
}

TEST(NestTables, ANestMoreIsADifferenceEvenWithTheSameLines) {
  NestTable table;
  table.set("a", {"i=3", {exampleRow().nests[0], exampleRow().nests[0], exampleRow().nests[0]}});
  EXPECT_EQ(table.differences("a", {"i=3", {exampleRow().nests[0], exampleRow().nests[0]}}),
            std::vector<std::string>{"the same lines in another order or number"});
}

} // namespace
} // namespace attnc::e2e
