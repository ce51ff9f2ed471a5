#include "compiler/frontend/suggest.h"

using llvm::StringRef;

namespace attnc {

std::string nearestName(StringRef name, llvm::ArrayRef<std::string> candidates) {
  unsigned allowed = name.size() <= 3 ? 1 : name.size() <= 6 ? 2 : 3;
  std::string best;
  for (const std::string &candidate : candidates) {
    if (candidate == name)
      continue;
    unsigned distance = name.edit_distance_insensitive(candidate, true, allowed);
    // One letter for another one letter says nothing: `x` is not near `y`.
    if (distance > allowed || distance >= std::max(name.size(), candidate.size()))
      continue;
    if (distance == 0)
      return candidate;
    best = candidate;
    allowed = distance - 1;
  }
  return best;
}

std::string didYouMean(StringRef name, llvm::ArrayRef<std::string> candidates,
                       StringRef otherwise) {
  std::string near = nearestName(name, candidates);
  return near.empty() ? otherwise.str() : "did you mean '" + near + "'?";
}

} // namespace attnc
