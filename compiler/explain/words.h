// A kernel in words.
#ifndef ATTNC_COMPILER_EXPLAIN_WORDS_H
#define ATTNC_COMPILER_EXPLAIN_WORDS_H

#include "compiler/explain/facts.h"

namespace attnc {

/// How the nest goes through its dims, as a sentence.
std::string walkText(const driver::NestReport &nest);

/// What is said of a kernel whose tensors and work are known.
std::vector<Fact> factsOf(const KernelFacts &kernel, const Manifest &manifest,
                          const std::string &shape);

} // namespace attnc

#endif
