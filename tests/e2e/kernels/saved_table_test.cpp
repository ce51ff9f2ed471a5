// What the gradients of each spec of the library take from the forward program, and what they
// compute again, is what tests/golden/gradients.json says. A person reads its changes: one more
// saved value, or one that is no longer saved, is a decision.
#include "compiler/driver/gradient.h"
#include "compiler/explain/text.h"
#include "kernels_spec/library.h"
#include "tests/e2e/kernels/golden_table.h"
#include "tests/e2e/variant.h"
#include "tools/attnc/input/shape.h"
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace attnc::e2e {

// Generated from tests/golden by cmake/embed.py.
namespace golden {
std::vector<std::pair<std::string_view, std::string_view>> files();
} // namespace golden

namespace {

using Json = nlohmann::ordered_json;

std::string lineOf(const TensorFacts &tensor) {
  return fmt::format("{}, {} bytes", declarationText(tensor), tensor.bytes.value_or(-1));
}

/// The row of a spec with its own static extents, at its reference shape, with the gradients of all
/// inputs of real numbers.
Result<Json> rowOf(const std::string &name) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec(context, name + ".json", findInLibrary(name)->text, {},
                                       diagnostics, libraryBases());
  if (!spec)
    return invalidArgument(name + " has errors");
  spec->grad = driver::gradientInputs(*spec, {"all"});
  driver::CompileOptions options;
  options.upTo = driver::Stage::Red;
  options.extents = cli::resolveExtents(*spec, {}, {});
  Result<driver::Compilation> compilation = driver::compile(*spec, options);
  if (!compilation)
    return compilation.error();
  Explanation facts = explain(*compilation, spec->doc, options.extents);
  Json row = {{"shape", facts.shape}, {"saved", Json::array()}, {"recomputed", Json::array()}};
  for (const TensorFacts &tensor : facts.saved)
    row["saved"].push_back(lineOf(tensor));
  for (const RecomputedFacts &value : facts.recomputed)
    row["recomputed"].push_back(fmt::format("{} x {}; in {}", value.count, lineOf(value.value),
                                            fmt::join(value.kernels, ", ")));
  return row;
}

Json tableOfRepository() {
  for (auto [path, text] : golden::files())
    if (std::filesystem::path(path).stem() == "gradients")
      return Json::parse(text);
  return Json::object();
}

void write(const std::string &spec, const Json &row) {
  static Json table;
  table[spec] = row;
  std::filesystem::path path = GoldenTable::destination() / "gradients.json";
  std::ofstream file(path);
  file << table.dump(1) << "\n";
  ASSERT_TRUE(file.flush()) << path;
}

class LibraryGradients : public testing::TestWithParam<std::string> {};

TEST_P(LibraryGradients, SaveAndComputeAgainWhatTheGoldenTableSays) {
  Result<Json> row = rowOf(GetParam());
  ASSERT_TRUE(row.ok()) << row.error().text();
  if (!GoldenTable::destination().empty())
    return write(GetParam(), *row);
  Json table = tableOfRepository();
  ASSERT_TRUE(table.contains(GetParam())) << "not in the table";
  EXPECT_EQ(table[GetParam()].dump(1), row->dump(1))
      << GetParam() << " in tests/golden/gradients.json\nIf that is meant: ./dev golden writes the "
      << "table anew; commit it with the change that it shows.";
}

INSTANTIATE_TEST_SUITE_P(All, LibraryGradients, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

TEST(SavedTable, HasTheSpecsOfTheLibraryAndNoOthers) {
  if (!GoldenTable::destination().empty())
    GTEST_SKIP() << "it is being written";
  std::vector<std::string> names;
  const Json table = tableOfRepository();
  for (const auto &[name, row] : table.items())
    names.push_back(name);
  EXPECT_EQ(names, specNames());
}

} // namespace
} // namespace attnc::e2e
