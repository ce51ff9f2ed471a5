// Random well-typed specs, of the shapes that the algebra is about.
#ifndef ATTNC_TESTS_PROGRAMS_RANDOM_SPEC_H
#define ATTNC_TESTS_PROGRAMS_RANDOM_SPEC_H

#include "tests/programs/choices.h"
#include <string>

namespace attnc::programs {

/// A spec: one to three score contractions, with biases and masks; up to three normalisations,
/// spelt in many ways; folds of what they give, of folds, and of random expressions of all that;
/// products that can be re-associated. docs/notes/fuzzing.md describes the grammar. The same
/// choices give the same text.
std::string randomSpec(Choices &choices);

} // namespace attnc::programs

#endif
