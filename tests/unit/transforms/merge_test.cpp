// The merge of partial states: associative, with the empty state as identity, and the same whatever
// the partition. Each spec is folded in parts of several sizes, in parts that are random subsets of
// the keys, and in parts of parts, whose merges are in parts too: random trees. With few keys and
// many parts most of them are empty. A key keeps its index, so masks mean what they meant. Inputs
// are ordinary and adversarial, logits of 1e4, ascending and infinite ones among them; what may
// differ is what float64 derives from the spec (PassVerifier).
#include "compiler/driver/checks/verify_pass.h"
#include "tests/unit/transforms/fused_program.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
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

/// Splits of one program after the other: into how many parts of what granule, and, where the parts
/// are no ranges, what draws them.
struct Split {
  int64_t parts, granule, scatter;
};
using Tree = std::vector<Split>;

/// Which subsets and trees are drawn depends on the spec, and only on it.
std::vector<Tree> treesFor(const std::string &text) {
  std::seed_seq seed(text.begin(), text.end());
  std::mt19937 random(seed);
  auto subsets = [&](int64_t least, int64_t most) -> Split {
    std::uniform_int_distribution<int64_t> parts(least, most), scatter(1, 1 << 20);
    return {parts(random), 1, scatter(random)};
  };
  return {{{5, 1, 0}},
          {{4, 128, 0}},
          {subsets(2, 4)},
          {subsets(9, 40)}, // most are empty
          {subsets(2, 5), subsets(2, 3)}};
}

std::string describe(const Tree &tree) {
  std::string words;
  for (const Split &split : tree)
    words += std::to_string(split.parts) + " parts of multiples of " +
             std::to_string(split.granule) + " drawn by " + std::to_string(split.scatter) + ", ";
  return words;
}

TEST_P(Merge, DoesNotDependOnThePartition) {
  std::string text = textOf(GetParam());
  FusedProgram whole(text);
  auto verifier = driver::PassVerifier::create(whole.original(), whole.referenceShape());
  ASSERT_TRUE(verifier) << verifier.error().text();
  for (const Tree &tree : treesFor(text)) {
    FusedProgram inParts(text);
    for (const Split &split : tree)
      inParts.splitStreams(split.parts, split.granule, split.scatter);
    Status status = verifier->check(inParts.fused(), "split");
    EXPECT_TRUE(status) << describe(tree) << status.error().text();
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, Merge, testing::ValuesIn(specs()),
                         [](const auto &info) { return info.param.stem().string(); });

} // namespace
} // namespace attnc
