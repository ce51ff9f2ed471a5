// Specs that extend another one.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_EXTENDED_SPEC_H
#define ATTNC_COMPILER_FRONTEND_TEXT_EXTENDED_SPEC_H

#include "compiler/frontend/frontend.h"
#include "compiler/frontend/text/json_source.h"

namespace attnc {

/// Parses the file, and what its `extends` names with it: the base's JSON with what the file
/// changes. Objects are joined by their keys, of which null removes one; a statement of the body
/// takes the place of that which assigns the same names, and others stand before the next that
/// does; `require` is added to; all else is replaced. `name` and `doc` are not the base's. Of what
/// comes from the base, offsets are those of `file` behind its own text. Statements that are
/// written as lists of lines are joined. Returns nothing on any error.
std::optional<JsonValue> readExtendedSpec(SourceFile &file, const SpecBases &bases,
                                          Diagnostics &diagnostics);

/// All that a spec extends, as far as it can be read.
std::vector<SpecSource> basesOf(llvm::StringRef fileName, llvm::StringRef text,
                                const SpecBases &bases);

} // namespace attnc

#endif
