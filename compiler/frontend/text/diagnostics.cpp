#include "compiler/frontend/text/diagnostics.h"
#include "compiler/frontend/text/characters.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include <nlohmann/json.hpp>

using llvm::StringRef;

namespace attnc {

static void makeValidUtf8(std::string &text) {
  if (!llvm::json::isUTF8(text))
    text = llvm::json::fixUTF8(text);
}

void Diagnostics::add(Diagnostic diagnostic) {
  auto same = [&](const Diagnostic &other) {
    return other.line == diagnostic.line && other.column == diagnostic.column &&
           other.message == diagnostic.message && other.file == diagnostic.file;
  };
  if (diagnostic.line && llvm::any_of(kept, same))
    return;
  bool isError = diagnostic.severity == Diagnostic::Error;
  errors += isError;
  others += !isError;
  if ((isError ? errors : others) > maxKept)
    return;
  for (std::string *text :
       {&diagnostic.file, &diagnostic.message, &diagnostic.expression, &diagnostic.remedy})
    makeValidUtf8(*text);
  kept.push_back(std::move(diagnostic));
}

static StringRef severityName(Diagnostic::Severity severity) {
  switch (severity) {
  case Diagnostic::Error:
    return "error";
  case Diagnostic::Warning:
    return "warning";
  case Diagnostic::Note:
    return "note";
  }
  return "";
}

static llvm::raw_ostream::Colors severityColour(Diagnostic::Severity severity) {
  return severity == Diagnostic::Error     ? llvm::raw_ostream::RED
         : severity == Diagnostic::Warning ? llvm::raw_ostream::MAGENTA
                                           : llvm::raw_ostream::CYAN;
}

/// Moves `offset` back to the first byte of its UTF-8 character.
static size_t characterStart(StringRef text, size_t offset) {
  while (offset > 0 && offset < text.size() && (text[offset] & 0xC0) == 0x80)
    --offset;
  return offset;
}

/// The text as a reader should see it: a space for a control character, and the code point for
/// what would be drawn as nothing or as a plain space, or would turn the direction of the line.
static std::string visible(StringRef text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    uint32_t code = 0;
    unsigned length = decodeCharacter(text, at, code);
    if (length && code >= 0x80 && (isInvisible(code) || isUnusualSpace(code)))
      shown += "<" + codePoint(code) + ">";
    else
      shown += length && isInvisible(code) ? " " : text.substr(at, std::max(length, 1u));
    at += std::max(length, 1u);
  }
  return shown;
}

/// How many columns of a terminal `text` takes.
static size_t displayWidth(StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width >= 0 ? static_cast<size_t>(width) : text.size();
}

static void renderCaret(llvm::raw_ostream &os, const Diagnostic &d) {
  // A generated spec may have very long lines: show what is around the caret.
  constexpr size_t before = 70, after = 40;
  StringRef text = d.expression;
  size_t caret = characterStart(text, std::min<size_t>(d.caretOffset, text.size()));
  size_t begin = caret > before ? characterStart(text, caret - before) : 0;
  size_t end = characterStart(text, std::min(text.size(), caret + after));
  StringRef lead = begin > 0 ? "..." : "";
  os << "  " << lead << visible(text.slice(begin, end)) << (end < text.size() ? "..." : "")
     << "\n  ";
  os.indent(lead.size() + displayWidth(visible(text.slice(begin, caret)))) << "^\n";
}

static void renderOne(llvm::raw_ostream &os, const Diagnostic &d, bool colour) {
  os << d.file << ":";
  if (d.line)
    os << d.line << ":" << d.column << ":";
  os << " ";
  if (colour)
    os.changeColor(severityColour(d.severity), /*Bold=*/true);
  os << severityName(d.severity) << ":";
  if (colour)
    os.resetColor();
  os << " " << d.message << "\n";
  if (!d.expression.empty())
    renderCaret(os, d);
  if (!d.remedy.empty())
    os << "  " << d.remedy << "\n";
}

void Diagnostics::render(llvm::raw_ostream &os, bool colour) const {
  unsigned shown = 0;
  for (const Diagnostic &d : kept) {
    renderOne(os, d, colour);
    shown += d.severity == Diagnostic::Error;
  }
  if (errors > shown)
    os << errors - shown << " more errors are not shown\n";
}

nlohmann::json Diagnostics::toJson() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Diagnostic &d : kept)
    list.push_back({{"severity", severityName(d.severity).str()},
                    {"file", d.file},
                    {"line", d.line},
                    {"column", d.column},
                    {"message", d.message},
                    {"expression", d.expression},
                    {"caret", d.caretOffset},
                    {"remedy", d.remedy}});
  return list;
}

} // namespace attnc
