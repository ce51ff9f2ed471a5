#include "runtime/remote/foreign_text.h"

namespace attnc::remote {

std::string foreignText(std::string_view text) {
  std::string shown(text);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    auto c = static_cast<unsigned char>(shown[i]);
    // U+0080 to U+009F are control characters too; in UTF-8 they begin with C2.
    bool isSecond = i > 0 && static_cast<unsigned char>(shown[i - 1]) == 0xC2 && c < 0xA0;
    if ((c < ' ' && c != '\n') || c == 0x7F || (isSecond && c >= 0x80))
      shown[i] = ' ';
    if (isSecond && c >= 0x80)
      shown[i - 1] = ' ';
  }
  return shown;
}

} // namespace attnc::remote
