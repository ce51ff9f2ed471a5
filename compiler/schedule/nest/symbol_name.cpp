#include "compiler/schedule/nest/symbol_name.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

namespace attnc::schedule {

std::string symbolName(llvm::ArrayRef<std::string> words) {
  std::string name = llvm::join(words, "_");
  return name.size() > kMostSymbolName ? hashedName(words) : name;
}

std::string hashedName(llvm::ArrayRef<std::string> words) {
  // Where a word ends counts: a and b_c differ from a_b and c.
  auto number = static_cast<uint32_t>(llvm::xxh3_64bits(llvm::join(words, ".")));
  std::string hash = "_" + llvm::utohexstr(number, /*LowerCase=*/true, 8);
  size_t room = kMostSymbolName - hash.size(), kept = 0;
  for (size_t end = 0; const std::string &word : words)
    if (end += word.size() + (end != 0); end <= room)
      kept = end;
  return llvm::join(words, "_").substr(0, kept ? kept : room) + hash;
}

} // namespace attnc::schedule
