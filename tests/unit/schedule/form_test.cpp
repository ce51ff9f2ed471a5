// What every form of forms() promises.
#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/forms/form.h"
#include "compiler/schedule/steps/assign_roles.h"
#include "compiler/schedule/steps/place.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "tests/unit/schedule/library_nest.h"
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class EachForm : public testing::TestWithParam<const Form *> {
protected:
  const Form &form() { return *GetParam(); }
  std::vector<Candidate> candidates() {
    std::string why;
    return form().candidates(nest, hopper(), why);
  }
  // The kernel of the nest by a schedule, in a module of its own.
  tile::KernelOp lower(red::Schedule schedule) {
    of.nest.setScheduleAttr(schedule);
    module = mlir::ModuleOp::create(of.nest.getLoc());
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
    PlannedNest planned(of.nest);
    mlir::FailureOr<tile::KernelOp> kernel = form().lower(planned, builder);
    return succeeded(kernel) ? *kernel : tile::KernelOp();
  }

  LibraryNest of{"causal", 64};
  PlannedNest nest{of.nest};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

TEST_P(EachForm, isFoundByItsName) {
  EXPECT_EQ(findForm(form().name()), &form());
  EXPECT_THAT(formNames(), HasSubstr("\"" + form().name().str() + "\""));
}

TEST_P(EachForm, acceptsItsCandidates) {
  ASSERT_FALSE(candidates().empty());
  for (const Candidate &candidate : candidates()) {
    EXPECT_EQ(candidate.schedule.getForm(), form().name());
    EXPECT_EQ(candidate.schedule.hasTiles(), form().hasTiles());
    EXPECT_EQ(form().check(nest, candidate.schedule, hopper()), "");
  }
}

TEST_P(EachForm, choosesTheFirstCandidate) {
  std::string why;
  EXPECT_EQ(form().choose(nest, hopper(), why), candidates().front().schedule) << why;
}

TEST_P(EachForm, measuresSomeThatItAccepts) {
  std::vector<Candidate> measured = form().tuneSpace(nest, hopper(), 3);
  EXPECT_LE(measured.size(), 3u);
  for (const Candidate &candidate : measured)
    EXPECT_EQ(form().check(nest, candidate.schedule, hopper()), "");
}

TEST_P(EachForm, itsSchedulesAreReadAsTheyArePrinted) {
  for (const Candidate &candidate : candidates()) {
    std::string text;
    llvm::raw_string_ostream(text) << candidate.schedule;
    EXPECT_EQ(mlir::parseAttribute(text, of.nest.getContext()), candidate.schedule) << text;
  }
}

TEST_P(EachForm, theKeysOfAScheduleMakeIt) {
  for (const Candidate &candidate : {candidates().front(), candidates().back()}) {
    Result<red::Schedule> made = form().withKeys(nest, hopper(), toJson(candidate.schedule));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(*made, candidate.schedule);
  }
}

TEST_P(EachForm, refusesWhatNoKeyCanBe) {
  nlohmann::json keys = toJson(candidates().front().schedule);
  for (llvm::StringRef name : form().keys()) {
    nlohmann::json broken = keys;
    nlohmann::json &value = broken[name.str()];
    if (!value.is_number()) // of a flag, or not printed
      continue;
    value = -1;
    Result<red::Schedule> made = form().withKeys(nest, hopper(), broken);
    ASSERT_FALSE(made) << name.str();
    EXPECT_THAT(made.error().message, StartsWith("schedule: " + name.str() + " is -1"));
    EXPECT_FALSE(form().checkKind(name, "one"));
    EXPECT_TRUE(form().checkKind(name, 1));
  }
  keys["no_such_key"] = 1;
  Result<red::Schedule> made = form().withKeys(nest, hopper(), keys);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, StartsWith("schedule: unknown key 'no_such_key'; the " +
                                               form().name().str() + " form has "));
}

TEST_P(EachForm, lowersToAKernelThatIsValid) {
  for (const Candidate &candidate : {candidates().front(), candidates().back()}) {
    tile::KernelOp kernel = lower(candidate.schedule);
    ASSERT_TRUE(kernel);
    EXPECT_TRUE(succeeded(mlir::verify(*module)));
  }
}

// The end of what the kernel places in its shared memory is the size that it
// asks for, but for what a result on its way out takes in the place of
// operands.
TEST_P(EachForm, placesTheSharedMemoryThatItCounts) {
  red::Schedule schedule = candidates().front().schedule;
  tile::KernelOp kernel = lower(schedule);
  ASSERT_TRUE(kernel);
  // Of the form whose pipes have their places later, what ranking counts.
  assignRoles(kernel);
  placeShared(kernel);
  if (auto attribute = dyn_cast<tile::WarpgroupsAttr>(schedule))
    EXPECT_EQ(sharedBytes(*nest.stream(), attribute.getValue()), int64_t(kernel.getSmem()));
  int64_t end = 0;
  auto reach = [&](int64_t offset, int64_t bytes) { end = std::max(end, offset + bytes); };
  kernel.walk([&](tile::SharedOp shared) {
    if (auto tile = dyn_cast<tile::SharedType>(shared.getType()))
      reach(shared.getOffset(), tile.getBytes());
    else if (auto ring = dyn_cast<tile::RingType>(shared.getType()))
      reach(shared.getOffset(), ring.getStages() * ring.getTile().getBytes());
    else
      reach(shared.getOffset(), 8 * cast<tile::BarriersType>(shared.getType()).getCount());
  });
  kernel.walk([&](tile::PipeOp pipe) {
    reach(pipe.getOffset(), pipe.getType().getStages() * pipe.getType().getTile().getBytes());
    reach(pipe.getBarriers(), 16 * pipe.getType().getStages());
  });
  EXPECT_EQ(end, kernel.getSmem());
}

TEST_P(EachForm, hasItsKeysInTheDocs) {
  std::ifstream file(ATTNC_SPEC_DIR "/../docs/schedules.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  size_t begin = text.find("**`\"form\": \"" + form().name().str() + "\"`**");
  ASSERT_NE(begin, std::string::npos);
  std::string section = text.substr(begin, text.find("**`\"form\"", begin + 1) - begin);
  for (llvm::StringRef key : form().keys())
    EXPECT_THAT(section, HasSubstr("`" + key.str() + "`"));
}

TEST_P(EachForm, describesWhatItMeasures) {
  EXPECT_NE(form().describe(toJson(candidates().front().schedule)), "");
  EXPECT_NE(form().source(), "");
}

INSTANTIATE_TEST_SUITE_P(All, EachForm, testing::ValuesIn(forms()),
                         [](const auto &info) { return info.param->name().str(); });

// As placesTheSharedMemoryThatItCounts, of rings, exchanged tiles, shares of rows, and what blocks
// send each other.
TEST(Forms, aSeesawPlacesTheSharedMemoryThatItCounts) {
  for (const auto &[spec, width] :
       {std::pair("ffpa", 512), std::pair("ffpa_causal", 512), std::pair("ffpa_mask", 512),
        std::pair("lse", 512), std::pair("ffpa_causal", 1000), std::pair("lse", 768)}) {
    LibraryNest of(spec, width);
    PlannedNest nest(of.nest);
    std::string why;
    int seesaws = 0, clusters = 0;
    for (const Candidate &candidate : findForm("warpgroups")->candidates(nest, hopper(), why)) {
      auto schedule = cast<tile::WarpgroupsAttr>(candidate.schedule).getValue();
      if (!schedule.seesaw || seesaws == 3)
        continue;
      ++seesaws;
      clusters += schedule.cluster;
      of.nest.setScheduleAttr(candidate.schedule);
      mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(of.nest.getLoc());
      mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
      PlannedNest now(of.nest);
      mlir::FailureOr<tile::KernelOp> kernel = findForm("warpgroups")->lower(now, builder);
      ASSERT_TRUE(succeeded(kernel)) << spec;
      assignRoles(*kernel);
      placeShared(*kernel);
      EXPECT_EQ(sharedBytes(*nest.stream(), schedule), int64_t(kernel->getSmem())) << spec;
      EXPECT_TRUE(succeeded(mlir::verify(*module)));
    }
    EXPECT_GT(seesaws, 0) << spec << ": " << why;
    EXPECT_EQ(clusters > 0, width > 640) << spec;
  }
}

// Whoever asks of tiles waits for data: rows of the next row tile arrive meanwhile, unless a key
// says otherwise.
TEST(Forms, rowsOfTheNextTileArriveWhereDataDecide) {
  LibraryNest documents("documents", 128), causal("causal", 128);
  const Form &form = *findForm("warpgroups");
  std::string why;
  auto chosen = [&](LibraryNest &of) {
    PlannedNest nest(of.nest);
    return *tile::scheduleAs<WarpgroupSchedule>(form.choose(nest, hopper(), why));
  };
  auto withKeys = [&](LibraryNest &of, const nlohmann::json &keys) {
    PlannedNest nest(of.nest);
    return *tile::scheduleAs<WarpgroupSchedule>(*form.withKeys(nest, hopper(), keys));
  };
  EXPECT_EQ(chosen(documents).rowStages, 2);
  EXPECT_TRUE(chosen(documents).dynamicScheduler);
  EXPECT_GT(chosen(documents).groups, 1);
  EXPECT_EQ(withKeys(documents, {{"groups", 2}}).rowStages, 2);
  EXPECT_EQ(withKeys(documents, {{"row_stages", 1}}).rowStages, 1);
  EXPECT_EQ(chosen(causal).rowStages, 1);
}

// The last form takes what the others do not; they say why.
TEST(Forms, whatNoOtherTakesHasTheLast) {
  FusedProgram program(R"j(["o[b,h,j,e] = exp(v[b,h,j,e])"])j", R"j({"o": "f32"})j");
  PlannedNest nest(program.nests().front());
  std::string why;
  for (const Form *form : forms().drop_back()) {
    EXPECT_FALSE(form->choose(nest, hopper(), why)) << form->name().str();
    EXPECT_NE(why, "");
  }
  EXPECT_TRUE(forms().back()->choose(nest, hopper(), why));
}

} // namespace
} // namespace attnc::schedule
