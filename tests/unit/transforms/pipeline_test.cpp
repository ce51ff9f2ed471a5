// The table of passes, and what MLIR knows of it.
#include "compiler/driver/compile.h"
#include "compiler/driver/step_pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace attnc::driver {
namespace {

std::vector<std::string> names(llvm::ArrayRef<Step> steps) {
  std::vector<std::string> all;
  for (const Step &step : steps)
    all.push_back(step.name);
  return all;
}

/// The names of a pipeline as MLIR prints it, without options and what they run on.
std::vector<std::string> printedNames(OpPassManager &manager) {
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  std::vector<std::string> all;
  SmallVector<StringRef> words;
  llvm::SplitString(text, words, "(),{} \n");
  for (StringRef word : words)
    if (findStep(word))
      all.push_back(word.str());
  return all;
}

void registerOnce() {
  static const bool done = (registerPipeline(), true);
  (void)done;
}

TEST(Pipeline, EachPassOfTheTableIsRegisteredUnderItsNameWithItsSentence) {
  registerOnce();
  for (const Step &step : pipelineSteps()) {
    const PassInfo *info = PassInfo::lookup(step.name);
    ASSERT_TRUE(info) << step.name;
    EXPECT_EQ(info->getPassDescription(), step.summary);
  }
}

TEST(Pipeline, WhatAttncOptRunsIsTheTableInItsOrder) {
  registerOnce();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  PassManager manager(&context, ModuleOp::getOperationName());
  ASSERT_TRUE(succeeded(
      parsePassPipeline("attnc-pipeline{target=sm_80}", static_cast<OpPassManager &>(manager))));
  EXPECT_EQ(printedNames(manager), names(pipelineSteps()));
}

TEST(Pipeline, APartHasItsFirstAndItsLastPass) {
  EXPECT_EQ(names(steps("split", "mask-intervals")),
            (std::vector<std::string>{"split", "choose-layouts", "mask-intervals"}));
  EXPECT_STREQ(targetIndependentSteps().front().name, pipelineSteps().front().name);
  EXPECT_EQ(findStep("mask-interval"), nullptr);
}

TEST(Pipeline, FoldsOfTheScheduleReachTheProgram) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  loadDialects(context);
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  const Step &step = *findStep("choose-fold");
  EXPECT_TRUE(step.run(*module));
  EXPECT_TRUE(module->getOperation()->getDiscardableAttrs().empty());
  EXPECT_TRUE(step.run(*module, {.overrides = {{"fold", "two_pass"}, {"splits", 5}}}));
  EXPECT_EQ(module->getOperation()->getAttrOfType<IntegerAttr>("red.splits").getInt(), 5);
  EXPECT_FALSE(step.run(*module, {.overrides = {{"fold", "three_pass"}}}));
}

} // namespace
} // namespace attnc::driver
