// How the result of a comparison is shown.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_CHECK_TEXT_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_CHECK_TEXT_H

#include "compiler/driver/checks/check.h"
#include <string>

namespace attnc::cli {

/// The table's head, and one row an output: the worst of its comparisons. `name` is the spec's,
/// padded to `width`.
std::string checkHead(size_t width);
std::string checkRows(const std::string &name, size_t width, const std::string &target,
                      const driver::CheckReport &report);

/// A line for each comparison that failed or decides too little: why.
std::string whyNotOk(const driver::CheckReport &report);

/// "reference at 66 of i's indices"; empty if it was evaluated whole.
std::string samplingText(const driver::CheckReport &report);

nlohmann::ordered_json toJson(const driver::CheckReport &report);

} // namespace attnc::cli

#endif
