// Specs with mistakes, and all that is said about them: tests/wrong/NAME.json and NAME.expected.
// After a change of the messages, write them anew and read the difference as prose:
//   ATTNC_WRITE_WRONG=1 build/bin/frontend_test --gtest_filter='*WrongSpecs*'
#include "spec_fixture.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace attnc {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> namesWith(const std::string &extension) {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(ATTNC_WRONG_DIR))
    if (entry.path().extension() == extension)
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class WrongSpecs : public SpecFixture, public ::testing::WithParamInterface<std::string> {
protected:
  static fs::path pathOf(const std::string &extension) {
    return fs::path(ATTNC_WRONG_DIR) / (GetParam() + extension);
  }
  static std::string textOf(const std::string &extension) {
    auto buffer = llvm::MemoryBuffer::getFile(pathOf(extension).string());
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
};

TEST_P(WrongSpecs, areAnsweredAsExpected) {
  auto spec = parseSpec(context, GetParam() + ".json", textOf(".json"), {}, diagnostics);
  if (std::getenv("ATTNC_WRITE_WRONG"))
    std::ofstream(pathOf(".expected")) << rendered();
  EXPECT_EQ(rendered(), textOf(".expected"));
  EXPECT_EQ(spec.has_value(), !diagnostics.hasErrors());
}

TEST_P(WrongSpecs, areToldPlaceAndRemedy) {
  parseSpec(context, GetParam() + ".json", textOf(".json"), {}, diagnostics);
  EXPECT_FALSE(diagnostics.all().empty());
  for (const Diagnostic &d : diagnostics.all()) {
    EXPECT_GT(d.line, 0u) << d.message;
    EXPECT_GT(d.column, 0u) << d.message;
    EXPECT_FALSE(d.remedy.empty()) << d.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, WrongSpecs, ::testing::ValuesIn(namesWith(".json")),
                         [](const ::testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });

TEST(WrongSpecFiles, everyExpectationHasItsSpec) {
  EXPECT_EQ(namesWith(".expected"), namesWith(".json"));
}

} // namespace
} // namespace attnc
