// The form and the limits of `repeat` statements.
#ifndef ATTNC_COMPILER_FRONTEND_PROGRAM_REPEAT_H
#define ATTNC_COMPILER_FRONTEND_PROGRAM_REPEAT_H

#include "compiler/frontend/text/json_source.h"
#include <string>
#include <vector>

namespace attnc {

/// A name that every iteration hands to the next.
struct CarriedName {
  std::string name;
  /// Where `carry` lists it, in bytes of the file.
  size_t offset = 0;
};

/// A `repeat` statement whose keys have been checked.
struct RepeatSyntax {
  const JsonValue *count = nullptr;
  std::vector<CarriedName> carry;
  const JsonValue *body = nullptr;
};

/// How many statements all the repeats of a spec may make together.
inline constexpr uint64_t maxRepeatedStatements = 10000;
/// How deep repeats may nest.
inline constexpr size_t maxRepeatDepth = 16;

} // namespace attnc

#endif
