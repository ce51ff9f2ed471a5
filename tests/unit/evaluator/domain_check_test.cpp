// The evaluator's check of domains, and the verification of passes that rests on it: they must fail
// where a domain is wrong.
#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"

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
      EXPECT_TRUE(step.run(program));
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

TEST_F(Causal, ATileThatIsWronglySkippedIsFound) {
  OpBuilder b(bounds);
  Block *domain = bounds->getBlock();
  Value jFirst = domain->getArgument(domain->getNumArguments() - 2);
  Value some = arith::ConstantOp::create(b, bounds.getLoc(), b.getI64IntegerAttr(16));
  Value live = arith::CmpIOp::create(b, bounds.getLoc(), arith::CmpIPredicate::ne, jFirst, some);
  bounds.getLiveMutable().assign(live);
  EXPECT_NE(complaint().find("leaves out the element at"), std::string::npos) << complaint();
  EXPECT_NE(complaint().find("j=16"), std::string::npos) << complaint();
}

TEST_F(Causal, ATileThatMattersToNobodyMayBeSkipped) {
  OpBuilder b(bounds);
  ValueRange arguments = bounds->getBlock()->getArguments();
  Value iLast = arguments[arguments.size() - 3], jFirst = arguments[arguments.size() - 2];
  Value live = arith::CmpIOp::create(b, bounds.getLoc(), arith::CmpIPredicate::sge, iLast, jFirst);
  bounds.getLiveMutable().assign(live);
  EXPECT_EQ(complaint(), "");
}

// The extremes of boxes of data, as they are read for the check.
TEST(DomainOfData, IsCheckedAgainstTheData) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto spec = parseSpec(context, "test.json", R"j({"attnc": 1, "name": "t", "dims": {"d": 8},
      "inputs": {"q": "f32[b,i,d]", "k": "f32[b,j,d]", "len": "i32[b]"},
      "body": ["s = where(j < 9 * len[b], sum(d, q[b,i,d] * k[b,j,d]), -inf)",
               "o[b,i] = logsumexp(j, s)"],
      "outputs": {"o": "f32"}})j",
                        {}, diagnostics);
  ASSERT_TRUE(spec.has_value());
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(spec->module->clone());
  attn::ProgramOp program = *module->getOps<attn::ProgramOp>().begin();
  for (const Step &step : targetIndependentSteps())
    EXPECT_TRUE(step.run(program));
  auto verifier = PassVerifier::create(*spec->module->getOps<attn::ProgramOp>().begin(),
                                       {{"b", 5}, {"i", 40}, {"j", 300}});
  ASSERT_TRUE(verifier.ok()) << verifier.error().text();
  EXPECT_TRUE(verifier->check(program, "the pass").ok());
  int extremes = 0;
  program.walk([&](red::ExtremeOp extreme) { // of another batch
    OpBuilder b(extreme);
    Value zero = arith::ConstantOp::create(b, extreme.getLoc(), b.getI64IntegerAttr(0));
    extreme.getFirstMutable()[0].set(zero);
    extreme.getLastMutable()[0].set(zero);
    ++extremes;
  });
  EXPECT_GT(extremes, 0);
  Status status = verifier->check(program, "the pass");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("the domain"), std::string::npos) << status.error().text();
}

// A domain may leave out rows whose result is another one, and no others.
TEST(DomainOfUsedRows, LeavesOutRowsOfWhichNoResultIsMade) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto spec = parseSpec(context, "test.json", R"j({"attnc": 1, "name": "t", "dims": {"d": 8},
      "inputs": {"q": "f32[b,i,d]", "k": "f32[b,j,d]", "len": "i32[b]"},
      "body": ["s = sum(d, q[b,i,d] * k[b,j,d])",
               "o[b,i] = where(i < 9 * len[b], max(j, s), 0) + 1"],
      "outputs": {"o": "f32"}})j",
                        {}, diagnostics);
  ASSERT_TRUE(spec.has_value());
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(spec->module->clone());
  attn::ProgramOp program = *module->getOps<attn::ProgramOp>().begin();
  for (const Step &step : targetIndependentSteps())
    EXPECT_TRUE(step.run(program));
  auto verifier = PassVerifier::create(*spec->module->getOps<attn::ProgramOp>().begin(),
                                       {{"b", 5}, {"i", 40}, {"j", 30}});
  ASSERT_TRUE(verifier.ok()) << verifier.error().text();
  Status status = verifier->check(program, "the pass");
  EXPECT_TRUE(status.ok()) << status.error().text();
  int choices = 0;
  program.walk([&](arith::SelectOp choice) {
    if (!isa<FloatType>(choice.getType()))
      return;
    choice.getCondition().getDefiningOp<arith::CmpIOp>().setPredicate(arith::CmpIPredicate::sle);
    ++choices;
  });
  EXPECT_EQ(choices, 1);
  status = verifier->check(program, "the pass");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().text().find("leaves out the element at"), std::string::npos)
      << status.error().text();
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

/// What the verifier of `written` says of the program of `other`; empty if it is content.
std::string complaintOf(const std::string &written, const std::string &other) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Diagnostics diagnostics;
  auto parsed = [&](const std::string &body) {
    auto spec = parseSpec(context, "test.json",
                          R"j({"attnc": 1, "name": "t", "inputs": {"s": "f32[i,j]", "v": "f32[j]"},
                               "body": [)j" +
                              body + R"j(], "outputs": {"o": "f32"}})j",
                          {}, diagnostics);
    EXPECT_TRUE(spec.has_value());
    return std::move(*spec);
  };
  Spec before = parsed(written), after = parsed(other);
  auto verifier =
      PassVerifier::create(*before.module->getOps<attn::ProgramOp>().begin(), {{"i", 7}, {"j", 9}});
  EXPECT_TRUE(verifier.ok()) << verifier.error().text();
  Status status = verifier->check(*after.module->getOps<attn::ProgramOp>().begin(), "the pass");
  return status ? "" : status.error().text();
}

// Over no keys the quotient is 0/0, and NaN.
TEST(EmptyRows, ASoftmaxWithoutKeysStays0) {
  const std::string byHand = R"j("w = exp(s - max(j, s))", "o = sum(j, w * v) / sum(j, w)")j";
  EXPECT_NE(complaintOf(R"j("o = sum(j, softmax(j, s) * v)")j", byHand).find("no keys"),
            std::string::npos);
  EXPECT_NE(complaintOf(R"j("o = sum(j, v)")j", R"j("o = sum(j, v) / (sum(j, v) / sum(j, v))")j"),
            "");
}

TEST(EmptyRows, AQuotientByHandMayBeAppliedAfterTheSum) {
  EXPECT_EQ(complaintOf(R"j("w = exp(s - max(j, s))", "o = sum(j, w / sum(j, w) * v)")j",
                        R"j("w = exp(s - max(j, s))", "o = sum(j, w * v) / sum(j, w)")j"),
            "");
}

} // namespace
} // namespace attnc::driver
