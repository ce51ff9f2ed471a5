// Options of the form name=value: --set, --shape, --param, --input, --output.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_ASSIGNMENTS_H
#define ATTNC_TOOLS_ATTNC_INPUT_ASSIGNMENTS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attnc::cli {

/// The assignments of all occurrences of an option; each may hold several, separated by commas.
/// Failure (Usage): no `=`, an empty name or value, a name twice.
std::map<std::string, std::string> parseAssignments(const std::string &option,
                                                    const std::vector<std::string> &values);

/// The same, with extents: integers of at least 1.
std::map<std::string, int64_t> parseExtents(const std::string &option,
                                            const std::vector<std::string> &values);

/// The same, with numbers.
std::map<std::string, double> parseNumbers(const std::string &option,
                                           const std::vector<std::string> &values);

} // namespace attnc::cli

#endif
