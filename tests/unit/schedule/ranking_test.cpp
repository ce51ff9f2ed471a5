#include "compiler/schedule/schedule_ranking.h"
#include "tests/unit/transforms/fused_program.h"
#include "llvm/Support/FormatVariadic.h"
#include <fstream>
#include <gtest/gtest.h>

namespace attnc::schedule {
namespace {
TEST(Ranking, Explore) {
  for (std::string name : {"full", "causal", "softcap", "alibi", "sliding_window", "prefix_lm", "bias", "gqa","lse"})
    for (int d : {64, 96, 128, 192, 256}) {
      std::ifstream file("/work/main/kernels_spec/" + name + ".json");
      auto json = nlohmann::json::parse(file);
      json["dims"]["d"] = json["dims"]["e"] = d;
      FusedProgram program(json.dump());
      std::string why;
      auto nest = program.nests().front();
      auto plan = planStream(nest, why);
      ASSERT_TRUE(succeeded(plan)) << why;
      auto start = std::chrono::steady_clock::now();
      auto ranking = rankSchedules(nest, *plan, *findMachine("sm_90a"));
      double ms = 1e3*std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      StreamWork w = countWork(nest, *plan);
      llvm::outs() << name << " D" << d << " special " << w.special << " plain " << w.plain << " " << ranking.size() << " in " << ms << " ms\n";

      for (auto &r : pickCandidates(ranking, 5)) {
        llvm::outs() << "   " << r.schedule.groups << "x" << r.schedule.streamTile << " st " << r.schedule.stages << " alt " << r.schedule.alternate << " pers " << r.schedule.persistent << " regs " << r.schedule.groupRegisters << "/" << groupRegisters(nest, *plan, r.schedule) << " share " << llvm::formatv("{0:f3} step {1:f3} {2}", r.share, r.step.tensorShare, r.step.limit().name) << "\n";
      }
    }
}
} // namespace
} // namespace attnc::schedule
