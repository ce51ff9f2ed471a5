// Tokens of index notation.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_LEXER_H
#define ATTNC_COMPILER_FRONTEND_TEXT_LEXER_H

#include "compiler/frontend/text/json_source.h"
#include <string>
#include <vector>

namespace attnc {

/// A piece of index notation: the text of a JSON string, or of a `--set` on the command line.
class SourceText {
public:
  SourceText(const SourceFile &file, const JsonValue &string)
      : file(&file), string(&string), content(string.text) {}
  /// A text that is not in a file; findings name `origin` instead.
  SourceText(std::string origin, llvm::StringRef text) : origin(std::move(origin)), content(text) {}

  llvm::StringRef text() const { return content; }
  /// A finding at a byte offset of the text, whose caret points into that line of the text.
  Diagnostic at(size_t offset, std::string message, std::string remedy = "") const;
  /// Line and column in the file, or {0, 0} on the command line.
  SourceFile::Position position(size_t offset) const;
  /// The name of the file; none on the command line.
  llvm::StringRef fileName(size_t offset) const {
    return file ? file->nameAt(string->textOffset(offset)) : llvm::StringRef();
  }

private:
  const SourceFile *file = nullptr;
  const JsonValue *string = nullptr;
  std::string origin;
  llvm::StringRef content;
};

struct Token {
  enum Kind { End, Integer, Real, Name, Symbol };
  Kind kind = End;
  uint32_t begin = 0;
  uint32_t end = 0;
  /// The name, or the symbol: one of + - * / // % ** < <= > >= == != = ( ) [ ] ,
  llvm::StringRef text;
  int64_t integer = 0;
  double real = 0;

  bool is(llvm::StringRef symbol) const { return kind == Symbol && text == symbol; }
  bool isWord(llvm::StringRef word) const { return kind == Name && text == word; }
};

/// The tokens of a text, with an End token last. On an error, adds it and returns nothing.
std::optional<std::vector<Token>> tokenize(const SourceText &text, Diagnostics &diagnostics);

/// The bytes of the name that begins at `at`, or 0.
size_t nameLength(llvm::StringRef text, size_t at);

/// True if `text` is one name: a letter or underscore (of any script), then letters and digits.
bool isIdentifier(llvm::StringRef text);

/// Names longer than this are refused.
constexpr size_t maxNameLength = 64;

} // namespace attnc

#endif
