// Which line of a spec each line of a stage comes from.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_SPEC_LINES_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_SPEC_LINES_H

#include "compiler/frontend/frontend.h"
#include "llvm/ADT/StringMap.h"

namespace attnc::cli {

/// A text, and for each of its lines the line of the spec; 0 for none.
struct LinedText {
  std::string text;
  std::vector<unsigned> lines;
};

/// IR that driver::printIr has marked, without the marks.
LinedText linesOfIr(llvm::StringRef marked);

/// Statements as CUDA C++ quotes them in comments, with their lines.
using StatementLines = llvm::StringMap<unsigned>;
StatementLines statementLines(const Spec &spec);

/// Lines of CUDA C++: a comment that quotes a statement is about what follows it in its block.
std::vector<unsigned> linesOfCuda(llvm::StringRef source, const StatementLines &statements);

/// PTX that was compiled with -lineinfo from a source with these lines: `.loc` says which of them
/// the next instructions come from, through the functions of headers.
std::vector<unsigned> linesOfPtx(llvm::StringRef ptx, const std::vector<unsigned> &sourceLines);

} // namespace attnc::cli

#endif
