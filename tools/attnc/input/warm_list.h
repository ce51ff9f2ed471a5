// attnc cache warm: what is on a list, compiled before it is needed.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_WARM_LIST_H
#define ATTNC_TOOLS_ATTNC_INPUT_WARM_LIST_H

#include "tools/attnc/output/failure.h"
#include <string>

namespace attnc::cli {

/// Compiles what the lines of a file name, `jobs` at a time, through the cache and its remote tier,
/// and prints a line for each: where it came from, or why there is none. A line has the arguments
/// of `attnc compile` that choose a program: SPEC --target TARGET, --set, --schedule,
/// --memory-budget; '#' begins a comment. Returns CheckFailed if one of them failed. Failures:
/// Usage for a line that is wrong, with its place, before anything is compiled; Environment for a
/// file that cannot be read.
ExitCode warmList(const std::string &file, int jobs, bool json);

} // namespace attnc::cli

#endif
