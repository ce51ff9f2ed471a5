// The search for the fastest schedule: what to measure, and which of the measured ones wins.
#ifndef ATTNC_COMPILER_DRIVER_TUNE_H
#define ATTNC_COMPILER_DRIVER_TUNE_H

#include "attnc/result.h"
#include "compiler/frontend/frontend.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace attnc::driver {

/// A schedule to measure.
struct TuningCandidate {
  nlohmann::json schedule;      ///< the keys of a schedule file
  std::optional<double> share;  ///< predicted, of the tensor cores' peak; portable ones have none
  std::optional<double> clocks; ///< predicted, of a tile step
};

/// What to measure for one nest.
struct NestCandidates {
  std::string kernel;                      ///< its name
  std::string key;                         ///< schedule::nestKey
  std::vector<TuningCandidate> candidates; ///< the best by prediction first; empty without tiles
};

/// The `count` best candidates of each nest of the fused spec: with warpgroups where target and
/// nest have them, else the portable ones that fit. Error (InvalidArgument): an unknown target.
Result<std::vector<NestCandidates>> tuningCandidates(const Spec &spec, const std::string &target,
                                                     size_t count);

/// A candidate after its measurement: a time, or why there is none.
struct Measured {
  TuningCandidate candidate;
  std::optional<double> milliseconds;
  std::string why;
};

/// Compiles, checks and times the program with a schedule; the median in milliseconds. An error is
/// the candidate's: it does not compile, spills, or computes something wrong.
using Measure = std::function<Result<double>(const nlohmann::json &schedule)>;

/// Measures the candidates in order; `before` is told which one comes next.
std::vector<Measured> measureAll(const std::vector<TuningCandidate> &candidates,
                                 const Measure &measure, const std::function<void(size_t)> &before);

/// The fastest, the first of equal ones; null if none has a time.
const Measured *fastest(const std::vector<Measured> &all);

/// "3 groups, stream_tile 80, 3 stages" or "row_tile 128, stream_tile 64, 4 warps, 2 stages"
std::string describeSchedule(const nlohmann::json &schedule);

} // namespace attnc::driver

#endif
