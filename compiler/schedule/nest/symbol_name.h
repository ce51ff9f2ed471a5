// Names of kernels, and so of images, files and symbols.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_SYMBOL_NAME_H
#define ATTNC_COMPILER_SCHEDULE_NEST_SYMBOL_NAME_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace attnc::schedule {

/// The most characters of a symbolName: with the prefix of a variant's kernels at most 64, which
/// every file system and every tool takes.
inline constexpr size_t kMostSymbolName = 58;

/// C identifiers joined by _, or, where that is longer than kMostSymbolName, their hashedName.
std::string symbolName(llvm::ArrayRef<std::string> words);

/// At most kMostSymbolName characters: as many of the first words as fit, or a part of the first,
/// and a hash of all words, which is the same on every machine.
std::string hashedName(llvm::ArrayRef<std::string> words);

} // namespace attnc::schedule

#endif
