#include "tools/attnc/page/html_diagram.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A kernel to draw: rows of i, a stream of j, one tensor in each place.
class Diagram : public testing::Test {
protected:
  Diagram() {
    nest.kernel = "first";
    nest.grid = {"b"};
    nest.row = {"i"};
    nest.stream = {"j"};
    nest.states = {"z: add of p"};
    nest.work.visited = 1;
    kernel.nest = &nest;
    kernel.streamed = {tensor(keys, "k")};
    kernel.resident = {tensor(queries, "q")};
    kernel.stores = {tensor(result, "z")};
  }

  static TensorFacts tensor(TensorDecl &decl, const std::string &name) {
    decl.name = name;
    return {&decl, "f32[b, i]", 128};
  }

  std::string drawn() const { return nestPicture(kernel).str(); }

  driver::NestReport nest;
  TensorDecl keys, queries, result;
  KernelFacts kernel;
};

TEST_F(Diagram, showsWhereEachTensorIs) {
  std::string svg = drawn();
  for (const char *kind : {"streamed", "resident", "state", "stored", "visited"})
    EXPECT_THAT(svg, HasSubstr("class=\"" + std::string(kind) + "\""));
  EXPECT_THAT(svg, HasSubstr("for every (b) and every tile of rows of i"));
  EXPECT_THAT(svg, HasSubstr("streamed along j"));
  EXPECT_THAT(svg, HasSubstr("k: f32[b, i]"));
  EXPECT_THAT(svg, HasSubstr("z: add of p"));
}

TEST_F(Diagram, escapesNamesOfAnyKind) {
  keys.name = "<k&\"注\">";
  EXPECT_THAT(drawn(), HasSubstr("&lt;k&amp;&quot;注&quot;&gt;: f32[b, i]"));
}

TEST_F(Diagram, aLongNameIsShortenedAndItsTitleIsNot) {
  keys.name = std::string(200, 'k');
  EXPECT_THAT(drawn(), HasSubstr("<title>" + keys.name + ": f32[b, i]</title>"));
  EXPECT_THAT(drawn(), HasSubstr("kkk…"));
}

TEST_F(Diagram, drawsThePartsThatAreVisited) {
  nest.work.parts = {{0, 0.25}, {0, 0}, {0.5, 1}};
  std::string svg = drawn();
  size_t parts = 0;
  for (size_t at = svg.find("\"visited\""); at != std::string::npos;
       at = svg.find("\"visited\"", at + 1))
    ++parts;
  EXPECT_EQ(parts, 2U);
}

TEST_F(Diagram, aNestWithoutAStreamHasNoPlane) {
  nest.stream.clear();
  nest.states.clear();
  kernel.streamed.clear();
  std::string svg = drawn();
  EXPECT_THAT(svg, HasSubstr("every element on its own"));
  EXPECT_THAT(svg, Not(HasSubstr("\"plane\"")));
}

TEST_F(Diagram, theFlowLeadsFromKernelToKernel) {
  Explanation explanation;
  explanation.kernels = {kernel};
  EXPECT_TRUE(flowPicture(explanation).empty());
  KernelFacts second = kernel;
  driver::NestReport nestOfSecond = nest;
  nestOfSecond.kernel = "second";
  second.nest = &nestOfSecond;
  explanation.kernels[0].stores[0].intermediate = true;
  second.resident = {explanation.kernels[0].stores[0]};
  second.stores = {tensor(keys, "o")};
  explanation.kernels.push_back(second);
  std::string svg = flowPicture(explanation).str();
  EXPECT_THAT(svg, HasSubstr("z: f32[b, i], 128 bytes"));
  EXPECT_THAT(svg, HasSubstr("gives o"));
  // One line from the first kernel to z, one from z to the second kernel.
  EXPECT_NE(svg.find("polygon"), svg.rfind("polygon"));
}

} // namespace
} // namespace attnc::cli
