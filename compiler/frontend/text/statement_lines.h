// Statements that are written over several lines.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_STATEMENT_LINES_H
#define ATTNC_COMPILER_FRONTEND_TEXT_STATEMENT_LINES_H

#include "compiler/frontend/text/json_source.h"

namespace attnc {

/// Makes one string, with line breaks, of each statement that the body of a spec, or of a repeat in
/// it, writes as a list of strings. Every byte of it knows its place in the source. A list that
/// holds something else, or nothing, is left as it is.
void joinStatementLines(JsonValue &spec);

/// The text with every line break, and the blanks around it, as one space; without that space
/// behind an opening bracket and before a closing one.
std::string inOneLine(llvm::StringRef text);

} // namespace attnc

#endif
