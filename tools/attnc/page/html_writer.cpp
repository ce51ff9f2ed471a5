#include "tools/attnc/page/html_writer.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>

namespace attnc::cli {

namespace {

/// One byte of valid UTF-8, as text or as part of an attribute in double quotes.
void escapeInto(std::string &markup, char c) {
  switch (c) {
  case '&':
    markup += "&amp;";
    return;
  case '<':
    markup += "&lt;";
    return;
  case '>':
    markup += "&gt;";
    return;
  case '"':
    markup += "&quot;";
    return;
  case '\n':
  case '\t':
    markup += c;
    return;
  default:
    break;
  }
  auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7f) {
    markup += c;
    return;
  }
  // U+2400 and on show the control characters. XML has no way to write most of these themselves.
  markup += "\xe2\x90";
  markup += static_cast<char>(byte == 0x7f ? 0xa1 : 0x80 + byte);
}

std::string escaped(std::string_view text) {
  std::string markup;
  for (char c : llvm::json::fixUTF8(text))
    escapeInto(markup, c);
  return markup;
}

/// The elements whose closing tag HTML does not allow, and those of SVG that may do without.
bool closesItself(llvm::StringRef tag) {
  return llvm::StringSwitch<bool>(tag)
      .Cases({"meta", "br", "hr"}, true)
      .Cases({"rect", "path", "line", "polygon", "circle"}, true)
      .Default(false);
}

} // namespace

Markup::Markup(std::string_view text) : markup(escaped(text)) {}

Markup &Markup::operator+=(const Markup &other) {
  markup += other.markup;
  return *this;
}

Markup element(std::string_view tag, Attributes attributes, const Markup &content) {
  Markup result;
  std::string &text = result.markup;
  text.append("<").append(tag);
  for (const auto &[name, value] : attributes)
    if (!value.empty())
      text.append(" ").append(name).append("=\"").append(escaped(value)).append("\"");
  if (content.empty() && closesItself(tag))
    text += "/>";
  else
    text.append(">").append(content.markup).append("</").append(tag).append(">");
  return result;
}

Markup styleSheet(std::string_view css) {
  Markup result;
  result.markup.append("<style>").append(css).append("</style>");
  return result;
}

int columnsOf(std::string_view text) {
  // Negative for text that holds what cannot be printed.
  int columns = llvm::sys::unicode::columnWidthUTF8(llvm::json::fixUTF8(text));
  return columns >= 0 ? columns : static_cast<int>(text.size());
}

std::string shortened(std::string_view text, int columns) {
  std::string valid = llvm::json::fixUTF8(text);
  if (columnsOf(valid) <= columns)
    return valid;
  // Whole characters are dropped: the bytes that continue one begin with the bits 10.
  do {
    size_t end = valid.size() - 1;
    while (end > 0 && (static_cast<unsigned char>(valid[end]) & 0xc0) == 0x80)
      --end;
    valid.resize(end);
  } while (!valid.empty() && columnsOf(valid) > columns - 1);
  return valid + "…";
}

} // namespace attnc::cli
