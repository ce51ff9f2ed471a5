// Near names, for "did you mean".
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_SUGGEST_H
#define ATTNC_COMPILER_FRONTEND_TEXT_SUGGEST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace attnc {

/// The candidate that is nearest to `name` by edit distance, or "" if none is near: at most one
/// edit for names of up to three characters, two up to six, three beyond.
std::string nearestName(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

/// "did you mean 'x'?" for the nearest candidate, or `otherwise` if none is near.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<std::string> candidates,
                       llvm::StringRef otherwise = "");

/// What is right where `name` is not known: a candidate that looks the same but is written with
/// other characters, the word for what NumPy and others call so, a product of two of the
/// `factors`, a near name, or `otherwise`.
std::string adviceOnName(llvm::StringRef name, llvm::ArrayRef<std::string> candidates,
                         llvm::StringRef otherwise, llvm::ArrayRef<std::string> factors = {});

/// The same for the name of a type.
std::string adviceOnType(llvm::StringRef name, llvm::ArrayRef<std::string> candidates,
                         llvm::StringRef otherwise);

} // namespace attnc

#endif
