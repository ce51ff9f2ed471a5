// The extents and params of a run: from --shape, from tensors on disk and from the spec.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_SHAPE_H
#define ATTNC_TOOLS_ATTNC_INPUT_SHAPE_H

#include "compiler/frontend/frontend.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attnc::cli {

/// The shape of an input that the caller gives.
struct GivenShape {
  std::string input;
  std::vector<int64_t> shape;
};

/// The extent of every dynamic dim: from `given` inputs, from `shape`, and else from the spec's
/// reference shape. Failures (Usage): an unknown dim, a static one, a contradiction, a dim without
/// an extent.
std::map<std::string, int64_t> resolveExtents(const Spec &spec,
                                              const std::map<std::string, int64_t> &shape,
                                              const std::vector<GivenShape> &given);

/// Checks names and kinds of params, and that those without a default are there.
void checkParams(const Spec &spec, const std::map<std::string, double> &params);

} // namespace attnc::cli

#endif
