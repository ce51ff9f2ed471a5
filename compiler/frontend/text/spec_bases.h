// Where specs that others extend come from.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_SPEC_BASES_H
#define ATTNC_COMPILER_FRONTEND_TEXT_SPEC_BASES_H

#include "llvm/ADT/StringRef.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// The text of a spec, and the name of its file.
struct SpecSource {
  std::string fileName, text;
  bool isFile = false; ///< of this machine, which others do not have
};

/// What `extends` may name.
struct SpecBases {
  /// The spec that `name` means in the file `from`; nothing: there is none. Null: nothing is found.
  std::function<std::optional<SpecSource>(llvm::StringRef name, llvm::StringRef from)> find;
  std::vector<std::string> names = {}; ///< to suggest
};

} // namespace attnc

#endif
