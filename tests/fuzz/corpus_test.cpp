// The texts of tests/fuzz/corpus, among them what the fuzzers found, without libFuzzer.
#include "tests/fuzz/properties.h"
#include "tests/fuzz/spec_mutator.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

namespace attnc::fuzz {
namespace {

std::vector<std::filesystem::path> corpusFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(ATTNC_CORPUS_DIR))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string textOf(const std::filesystem::path &path) {
  return (*llvm::MemoryBuffer::getFile(path.string()))->getBuffer().str();
}

class Corpus : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Corpus, GivesAProgramOrLocatedErrors) {
  Violation violation = checkParser(textOf(GetParam()));
  EXPECT_FALSE(violation) << *violation;
}

TEST_P(Corpus, KeepsItsMeaningThroughThePasses) {
  Violation violation = checkPasses(textOf(GetParam()));
  EXPECT_FALSE(violation) << *violation;
}

std::string nameOf(const testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, testing::ValuesIn(corpusFiles()), nameOf);

TEST(SpecMutator, GivesTheSameForTheSameSeed) {
  std::string text = textOf(corpusFiles().front());
  unsigned changed = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::string once = mutateSpec(text, seed);
    EXPECT_EQ(once, mutateSpec(text, seed));
    changed += once != text;
  }
  EXPECT_GT(changed, 50u);
}

TEST(SpecMutator, TakesAnyText) {
  for (llvm::StringRef text : {"", "\"", "(", "((((", "sum(", "\"a\"", "\"\"\"", "]])"})
    for (unsigned seed = 0; seed < 200; ++seed)
      mutateSpec(text, seed);
}

} // namespace
} // namespace attnc::fuzz
