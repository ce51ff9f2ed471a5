// Where a program streams the same dims twice, the later pass says why: no pass is there for no
// reason.
#include "compiler/transforms/derivation/derivation.h"
#include "tests/unit/transforms/fused_program.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace attnc {
namespace {

using derivation::Rule;
using derivation::Step;

std::vector<std::filesystem::path> specs() {
  std::vector<std::filesystem::path> paths;
  for (const char *folder : {ATTNC_SPEC_DIR, ATTNC_TEST_SPEC_DIR, ATTNC_FOUND_DIR})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Says what it would say of nests without reasons, and of reasons without an operation.
std::vector<std::string> unexplained(attn::ProgramOp program) {
  std::vector<std::string> list;
  llvm::DenseMap<mlir::Attribute, unsigned> withoutReason;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    bool hasReason = false;
    std::vector<Step> steps = derivation::stepsOf(nest);
    // What a mask asks of tiles is no pass of the spec.
    if (nest.states().empty() ||
        llvm::any_of(steps, [](const Step &step) { return step.rule == Rule::TileExtremes; }))
      continue;
    for (const Step &step : steps) {
      if (step.rule != Rule::Cut)
        continue;
      hasReason = true;
      for (const char *detail : {"operation", "property"})
        if (auto found = step.details.find(detail);
            found == step.details.end() || found->second.empty() || found->second == "a value")
          list.push_back(step.fold + " has no " + detail + " in its reason");
    }
    if (!hasReason && ++withoutReason[nest.getStream()] > 1)
      list.push_back("another pass over " + std::to_string(nest.getStream().size()) +
                     " dims, for no reason: " + specTextOf(steps.front()));
  }
  return list;
}

class CutReasons : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(CutReasons, EachLaterPassOverTheSameDimsHasOne) {
  std::ostringstream text;
  text << std::ifstream(GetParam()).rdbuf();
  FusedProgram program(text.str());
  EXPECT_EQ(unexplained(program.fused()), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Specs, CutReasons, testing::ValuesIn(specs()), [](const auto &info) {
  return info.param.parent_path().filename().string() + "_" + info.param.stem().string();
});

// A pass whose record is taken away is found.
TEST(CutReasonsOfAPass, AreMissedWhereThereIsNone) {
  FusedProgram program(R"j(["s = sum(d, q[b,h,i,d] * k[b,h,j,d])", "z = sum(j, s)",
                            "o[b,h,i] = sum(j, tanh(s * z))"])j",
                       R"j({"o": "f32"})j");
  EXPECT_TRUE(unexplained(program.fused()).empty());
  for (red::NestOp nest : program.nests())
    nest->setAttr(
        derivation::kAttr,
        mlir::ArrayAttr::get(nest->getContext(),
                             {derivation::encode(nest->getContext(), {Rule::State, "o", {}})}));
  EXPECT_EQ(unexplained(program.fused()).size(), 1u);
}

} // namespace
} // namespace attnc
