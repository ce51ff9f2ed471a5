// How deep a text in MLIR's syntax nests, found without parsing it.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_NESTING_H
#define ATTNC_COMPILER_FRONTEND_TEXT_NESTING_H

#include "compiler/frontend/text/json_source.h"

namespace attnc {

/// Brackets, operators of a chain and aliases may nest this deep together. MLIR's parser and
/// printer call themselves for each level, and the stack ends the process.
constexpr size_t maxMlirNesting = 256;

/// A text may have this many tokens where every alias is written out: aliases of aliases double.
constexpr size_t maxMlirTokens = 1 << 22;

/// Adds an error at the place where the text exceeds a limit and returns false. What is wrong with
/// the syntax is not looked at.
bool checkNesting(const SourceFile &file, Diagnostics &diagnostics);

} // namespace attnc

#endif
