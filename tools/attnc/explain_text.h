// A compilation in plain words.
#ifndef ATTNC_TOOLS_ATTNC_EXPLAIN_TEXT_H
#define ATTNC_TOOLS_ATTNC_EXPLAIN_TEXT_H

#include "compiler/driver/compile.h"
#include <cstdint>
#include <map>
#include <string>

namespace attnc::cli {

/// What was fused, what is streamed, kept, skipped and materialised, and what each kernel needs.
/// Sizes in bytes are for `extents` of the dynamic dims.
std::string explainText(const driver::Compilation &compilation, const std::string &doc,
                        const std::map<std::string, int64_t> &extents);

/// The same as data.
nlohmann::ordered_json explainJson(const driver::Compilation &compilation,
                                   const std::map<std::string, int64_t> &extents);

} // namespace attnc::cli

#endif
