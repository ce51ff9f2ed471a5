// The time of one run, from the times of several.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_RUN_TIMES_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_RUN_TIMES_H

#include <algorithm>
#include <vector>

namespace attnc::driver {

/// The median; 0 of nothing.
inline double median(std::vector<double> times) {
  if (times.empty())
    return 0;
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

} // namespace attnc::driver

#endif
