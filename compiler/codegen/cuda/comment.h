// Comments of generated code.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_COMMENT_H
#define ATTNC_COMPILER_CODEGEN_CUDA_COMMENT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attnc::cuda {

/// `// text`, which ends where its line does, whatever the text holds: it may come from the names
/// of locations in a file that somebody else has written. Each line break and control character is
/// a space; what a reader does not see as itself, a backslash, which would join the next line, and
/// a byte that is no UTF-8 are `?`.
std::string comment(llvm::StringRef text);

} // namespace attnc::cuda

#endif
