// The evaluator's check of domains, and the verification of passes that rests on it: they must fail
// where a domain is wrong.
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/verify_pass.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::driver {
namespace {

/// Causal attention, as nests with a domain.
class Causal : public testing::Test {
protected:
  void SetUp() override {
    loadDialects(context);
    Diagnostics diagnostics;
    spec = parseSpec(context, "test.json", R"j({"attnc": 1, "name": "t", "dims": {"d": 8, "e": 8},
      "params": {"w": "f32 = 1", "u": "f32 > 0 = 1"},
      "inputs": {"q": "bf16[b,h,i,d]", "k": "bf16[b,h,j,d]", "v": "bf16[b,h,j,e]"},
      "body": ["s = where(j <= i, w * u * sum(d, q[b,h,i,d] * k[b,h,j,d]), -inf)",
               "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"],
      "outputs": {"o": "f32"}})j",
                     {}, diagnostics);
    ASSERT_TRUE(spec.has_value());
    module = cast<ModuleOp>(spec->module->clone());
    program = *module->getOps<attn::ProgramOp>().begin();
    for (const Step &step : targetIndependentSteps())
      step.run(program);
    auto nests = llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>());
    ASSERT_EQ(nests.size(), 1u);
    ASSERT_TRUE(nests[0].getDomainBlock());
    bounds = cast<red::BoundsOp>(nests[0].getDomainBlock()->getTerminator());
    auto created = PassVerifier::create(*spec->module->getOps<attn::ProgramOp>().begin(),
                                        {{"b", 1}, {"h", 2}, {"i", 300}, {"j", 300}});
    ASSERT_TRUE(created.ok()) << created.error().text();
    verifier = std::move(*created);
  }

  /// What the verifier says of the program now; empty if it is content.
  std::string complaint() {
    Status status = verifier->check(program, "the pass");
    return status ? "" : status.error().text();
  }

  /// `value` + `change`, in the domain.
  Value shifted(Value value, int64_t change) {
    OpBuilder b(bounds);
    Value by = arith::ConstantOp::create(b, bounds.getLoc(), b.getI64IntegerAttr(change));
    return arith::AddIOp::create(b, bounds.getLoc(), value, by);
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::optional<Spec> spec;
  OwningOpRef<ModuleOp> module;
  attn::ProgramOp program;
  red::BoundsOp bounds;
  std::optional<PassVerifier> verifier;
};

TEST_F(Causal, ARightDomainPasses) { EXPECT_EQ(complaint(), ""); }

TEST_F(Causal, ADomainThatEndsOneKeyTooEarlyIsFound) {
  bounds.getHiMutable()[0].set(shifted(bounds.getHi()[0], -1));
  EXPECT_NE(complaint().find("the domain leaves out the element at"), std::string::npos)
      << complaint();
}

TEST_F(Causal, ADomainThatBeginsOneKeyTooLateIsFound) {
  bounds.getLoMutable()[0].set(shifted(bounds.getLo()[0], 1));
  EXPECT_NE(complaint().find("j=0"), std::string::npos) << complaint();
}

TEST_F(Causal, ALargerDomainPasses) {
  bounds.getHiMutable()[0].set(shifted(bounds.getHi()[0], 3));
  EXPECT_EQ(complaint(), "");
}

TEST_F(Causal, ATileThatIsWronglyFullIsFound) {
  OpBuilder b(bounds);
  bounds.getFullMutable().set(
      arith::ConstantOp::create(b, bounds.getLoc(), b.getBoolAttr(true)).getResult());
  EXPECT_NE(complaint().find("calls a tile full"), std::string::npos) << complaint();
}

TEST_F(Causal, AChangeOfArithmeticIsFound) {
  program.walk([](arith::CmpIOp compare) {
    if (isa<attn::MapOp>(compare->getParentOp()))
      compare.setPredicate(arith::CmpIPredicate::slt);
  });
  EXPECT_NE(complaint(), "");
}

// `w` may be negative and `u` may not.
TEST_F(Causal, CasesCoverFewKeysAndNegativeParams) {
  std::vector<std::string> cases = verifier->cases();
  for (const char *label : {"random inputs", "planted inputs", "large inputs", "ascending inputs",
                            "random inputs, few keys", "random inputs, w = -0.75"})
    EXPECT_TRUE(llvm::is_contained(cases, label)) << label;
  EXPECT_TRUE(llvm::none_of(
      cases, [](const std::string &c) { return c.find("u =") != std::string::npos; }));
}

} // namespace
} // namespace attnc::driver
