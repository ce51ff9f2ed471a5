// What is checked of a source text before it is parsed.
#ifndef ATTNC_COMPILER_FRONTEND_SOURCE_LIMITS_H
#define ATTNC_COMPILER_FRONTEND_SOURCE_LIMITS_H

#include "compiler/frontend/frontend.h"

namespace attnc {

/// False, with an error, if the text is larger than a spec may be.
inline bool checkSourceSize(llvm::StringRef fileName, llvm::StringRef text,
                            Diagnostics &diagnostics) {
  if (text.size() <= maxSpecBytes)
    return true;
  Diagnostic d;
  d.file = fileName.str();
  d.line = d.column = 1;
  d.message = "the file has " + std::to_string(text.size()) + " bytes, a spec has at most " +
              std::to_string(maxSpecBytes);
  d.remedy = "is this a spec? Data belongs into tensors, not into the spec";
  diagnostics.add(std::move(d));
  return false;
}

} // namespace attnc

#endif
