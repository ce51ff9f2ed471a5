// The merge of partial states: associative, with the empty state as identity, and the same whatever
// the partition. Each spec is folded in parts of several sizes, and in parts of parts; with few
// keys and many parts most of them are empty. Inputs are ordinary and adversarial (PassVerifier).
#include "compiler/driver/verify_pass.h"
#include "tests/unit/transforms/fused_program.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace attnc {
namespace {

std::vector<std::filesystem::path> specs() {
  std::vector<std::filesystem::path> paths;
  for (const char *folder : {ATTNC_SPEC_DIR, ATTNC_TEST_SPEC_DIR})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string textOf(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Merge : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Merge, DoesNotDependOnThePartition) {
  std::string text = textOf(GetParam());
  FusedProgram whole(text);
  auto verifier = driver::PassVerifier::create(whole.original(), whole.referenceShape());
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (auto [parts, granule, rounds] :
       {std::tuple(2, 1, 1), std::tuple(5, 1, 1), std::tuple(3, 2, 2), std::tuple(4, 128, 1)}) {
    FusedProgram split(text);
    for (int round = 0; round < rounds; ++round)
      split.splitStreams(parts, granule);
    Status status = verifier->check(split.fused(), "split");
    EXPECT_TRUE(status) << parts << " parts of multiples of " << granule << ", " << rounds
                        << " times: " << status.error().text();
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, Merge, testing::ValuesIn(specs()),
                         [](const auto &info) { return info.param.stem().string(); });

} // namespace
} // namespace attnc
