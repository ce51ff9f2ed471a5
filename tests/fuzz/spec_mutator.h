// Changes of a spec that leave it a spec most often, so that fuzzing reaches what lies behind the
// parser.
#ifndef ATTNC_TESTS_FUZZ_SPEC_MUTATOR_H
#define ATTNC_TESTS_FUZZ_SPEC_MUTATOR_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attnc::fuzz {

/// One to three changes: a word or sign becomes another of its kind, an expression takes the place
/// of another or is wrapped into a function, a statement is repeated elsewhere or is lost. The
/// same seed gives the same changes.
std::string mutateSpec(llvm::StringRef text, unsigned seed);

} // namespace attnc::fuzz

#endif
