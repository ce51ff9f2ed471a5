// A compilation in plain words, and as JSON.
#ifndef ATTNC_COMPILER_EXPLAIN_TEXT_H
#define ATTNC_COMPILER_EXPLAIN_TEXT_H

#include "compiler/explain/facts.h"

namespace attnc {

/// What was fused, what is streamed, kept, skipped and materialised, and what each kernel needs.
/// `boldNames` is for terminals.
std::string explainText(const Explanation &explanation, bool boldNames = false);

/// The same as data.
nlohmann::ordered_json explainJson(const Explanation &explanation);

} // namespace attnc

#endif
