// What holds for every text, however damaged: the fuzzers look for a counterexample, and the test
// suite checks the texts of tests/fuzz/corpus, in which earlier ones are kept.
#ifndef ATTNC_TESTS_FUZZ_PROPERTIES_H
#define ATTNC_TESTS_FUZZ_PROPERTIES_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace attnc::fuzz {

/// What is violated, in words, or nothing.
using Violation = std::optional<std::string>;

/// The parser gives a verified program or located errors, and what it says can be printed.
Violation checkParser(llvm::StringRef text);

/// What the parser accepts goes through the passes; after each of them the program is valid and
/// evaluates to the same outputs. Texts that the parser refuses have nothing to violate.
Violation checkPasses(llvm::StringRef text);

} // namespace attnc::fuzz

#endif
