// Many random programs, in several processes.
#ifndef ATTNC_TESTS_PROGRAMS_CAMPAIGN_H
#define ATTNC_TESTS_PROGRAMS_CAMPAIGN_H

#include "tests/programs/property.h"
#include <cstdint>
#include <nlohmann/json.hpp>

namespace attnc::programs {

/// Which programs are checked, and how. Program n is a function of `seed` and n alone, and so are
/// the stages that it goes through.
struct Plan {
  uint64_t seed = 1;
  uint64_t first = 0;          ///< the first program
  uint64_t count = UINT64_MAX; ///< how many at most
  double seconds = 60;         ///< after which no further one begins
  unsigned jobs = 1;           ///< processes
  unsigned limit = 120;        ///< seconds for one program
  unsigned cpuEvery = 10;      ///< one program in so many is compiled for the processor; 0: none
  unsigned gpuEvery = 20;      ///< and so for a GPU, whose kernels are interpreted
  unsigned nvrtcEvery = 0;     ///< and so by NVRTC for every GPU
  unsigned gradEvery = 5;      ///< one in so many is differentiated; 0: none
  unsigned shrinkings = 6;     ///< findings that are made small
  unsigned attempts = 300;     ///< for each of them
};

/// The text of program `index`, and its stages.
std::string specOf(const Plan &plan, uint64_t index);
Stages stagesOf(const Plan &plan, uint64_t index);

/// Checks the programs. A process that crashes, or takes longer than the limit, is a finding too,
/// and another one goes on after it. The result says how many programs there were, what they went
/// through, how often each rule of the algebra was applied, and what was found.
nlohmann::ordered_json runCampaign(const Plan &plan);

/// checkSpec in a process of its own, for `limit` seconds: a crash has the stage "crash", one that
/// takes too long "limit".
Outcome checkApart(const std::string &text, const Stages &stages, unsigned limit);

} // namespace attnc::programs

#endif
