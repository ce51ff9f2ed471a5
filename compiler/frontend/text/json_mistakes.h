// What is wrong with a text that is not JSON, in the words of who wrote it.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_JSON_MISTAKES_H
#define ATTNC_COMPILER_FRONTEND_TEXT_JSON_MISTAKES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attnc {

struct JsonMistake {
  /// Byte offset in the text.
  size_t place = 0;
  std::string message, remedy;
};

/// Describes the mistake at byte `place` of `text`, where a parser stopped for `reason` (its own
/// words, shown where no common mistake is recognised). `open` is the offset of the innermost
/// object or list that is not closed there, or npos.
JsonMistake describeJsonMistake(llvm::StringRef text, size_t place, llvm::StringRef reason,
                                size_t open);

} // namespace attnc

#endif
