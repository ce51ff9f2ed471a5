#include "compiler/codegen/cuda/comment.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace llvm;

namespace attnc::cuda {

// The character at the front of `text`, which is cut off; 0xFFFFFFFF for a byte that is none.
static UTF32 takeCharacter(StringRef &text) {
  UTF32 code = 0;
  const auto *at = reinterpret_cast<const UTF8 *>(text.begin());
  const auto *begin = at;
  const auto *end = reinterpret_cast<const UTF8 *>(text.end());
  if (convertUTF8Sequence(&at, end, &code, strictConversion) != conversionOK) {
    at = begin + 1;
    code = ~UTF32(0);
  }
  text = text.drop_front(at - begin);
  return code;
}

std::string comment(StringRef text) {
  std::string result = "// ";
  while (!text.empty()) {
    StringRef rest = text;
    UTF32 code = takeCharacter(rest);
    if (code < 0x20)
      result += ' ';
    else if (code != '\\' && sys::unicode::isPrintable(static_cast<int>(code)))
      result += text.drop_back(rest.size());
    else
      result += '?';
    text = rest;
  }
  return result;
}

} // namespace attnc::cuda
