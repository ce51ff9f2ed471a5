// What a nest computes, counted from its body: formulas over the dims, whatever the schedule.
#ifndef ATTNC_COMPILER_DRIVER_REPORT_NEST_WORK_H
#define ATTNC_COMPILER_DRIVER_REPORT_NEST_WORK_H

#include "dialects/Red/Red.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::driver {

/// `count` operations for each element of an array with these dims.
struct WorkTerm {
  enum class Kind {
    Products, ///< of sums of products; a multiply-add counts as two
    Special,  ///< exponentials, logarithms, quotients and the like
    Other,    ///< other floating-point operations; a random number is 15 of them
  };
  Kind kind;
  int64_t count;
  std::vector<std::string> dims; ///< in the program's order
  bool masked = false;           ///< has a row and a stream dim: a mask may leave elements out
};

/// The part of the stream that a share of the rows visits, as fractions of its extent.
struct VisitedPart {
  double lo, hi;
};

/// The work of a nest. Each value counts once for every element that it has by the dims that it
/// depends on; comparisons, selections, integers and conversions do not count.
struct NestWork {
  std::vector<WorkTerm> terms;
  /// Share of row x stream within the bounds of the domain; 1 without a domain, nothing where the
  /// extents are not known or the bounds depend on data or on params without a default.
  std::optional<double> visited;
  /// The same for consecutive equal shares of the rows; empty without `visited` or a domain.
  std::vector<VisitedPart> parts;
};

/// Counts the work of a nest; `visited` is for `extents` of the dynamic dims (empty: not known) and
/// the params' defaults.
NestWork countNestWork(red::NestOp nest, const std::map<std::string, int64_t> &extents);

} // namespace attnc::driver

#endif
