// A compilation in plain words, and as JSON.
#ifndef ATTNC_TOOLS_ATTNC_EXPLAIN_TEXT_H
#define ATTNC_TOOLS_ATTNC_EXPLAIN_TEXT_H

#include "tools/attnc/explain_facts.h"

namespace attnc::cli {

/// What was fused, what is streamed, kept, skipped and materialised, and what each kernel needs.
std::string explainText(const Explanation &explanation);

/// The same as data.
nlohmann::ordered_json explainJson(const Explanation &explanation);

} // namespace attnc::cli

#endif
