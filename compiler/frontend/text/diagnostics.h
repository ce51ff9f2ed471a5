// What is wrong with a spec, where, and what would be right.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_DIAGNOSTICS_H
#define ATTNC_COMPILER_FRONTEND_TEXT_DIAGNOSTICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace attnc {

/// One finding. `line` and `column` count from 1 and columns are characters (code points), as in
/// an editor; line 0 means that the finding is about the file (or the command line) as a whole.
struct Diagnostic {
  enum Severity { Error, Warning, Note };
  Severity severity = Error;
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string message;
  /// The statement or the source line that the caret points into, or "".
  std::string expression;
  /// Byte offset of the caret in `expression`.
  unsigned caretOffset = 0;
  /// What would be right, or "".
  std::string remedy;
};

/// The findings about one spec, in the order in which they were made. Not thread-safe.
class Diagnostics {
public:
  /// More errors than this are counted but not kept: they follow from the first ones. As many
  /// warnings are kept beside them.
  static constexpr unsigned maxKept = 100;

  /// Records a finding, once for each place (a statement may be looked at several times). Texts are
  /// made valid UTF-8, so that every finding can be printed as JSON.
  void add(Diagnostic diagnostic);

  unsigned errorCount() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  llvm::ArrayRef<Diagnostic> all() const { return kept; }

  /// Prints `file:line:column: error: message`, the expression with a caret, and the remedy.
  void render(llvm::raw_ostream &os, bool colour) const;

  /// An array of {severity, file, line, column, message, expression, caret, remedy}.
  nlohmann::json toJson() const;

private:
  std::vector<Diagnostic> kept;
  unsigned errors = 0, others = 0;
};

} // namespace attnc

#endif
