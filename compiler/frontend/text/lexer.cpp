#include "compiler/frontend/text/lexer.h"
#include "compiler/frontend/text/characters.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using llvm::StringRef;

namespace attnc {

Diagnostic SourceText::at(size_t offset, std::string message, std::string remedy) const {
  offset = std::min(offset, content.size());
  Diagnostic d;
  if (file)
    d = file->at(string->textOffset(offset), std::move(message), std::move(remedy));
  else
    d.file = origin, d.message = std::move(message), d.remedy = std::move(remedy);
  if (content.empty()) // the line of the file says more
    return d;
  // Very long statements are cut around the caret, since a finding is kept and printed.
  constexpr size_t reach = 200;
  StringRef breaks = "\r\n";
  size_t begin = content.take_front(offset).find_last_of(breaks) + 1; // 0 in the first line
  begin = std::max(begin, offset > reach ? offset - reach : 0);
  d.expression =
      content.substr(begin, 2 * reach).take_until([&](char c) { return breaks.contains(c); }).str();
  d.caretOffset = static_cast<unsigned>(offset - begin);
  return d;
}

SourceFile::Position SourceText::position(size_t offset) const {
  return file ? file->position(string->textOffset(offset)) : SourceFile::Position{0, 0};
}

size_t nameLength(StringRef text, size_t at) {
  size_t end = at;
  while (end < text.size()) {
    uint32_t code = 0;
    unsigned length = decodeCharacter(text, end, code);
    bool digit = end > at && llvm::isDigit(text[end]);
    if (!length || !(digit || isLetter(code)))
      break;
    end += length;
  }
  return end - at;
}

bool isIdentifier(StringRef text) {
  return !text.empty() && text.size() <= maxNameLength && nameLength(text, 0) == text.size();
}

namespace {

class Lexer {
public:
  Lexer(const SourceText &source, Diagnostics &diagnostics)
      : source(source), text(source.text()), diagnostics(diagnostics) {}

  bool run() {
    while (true) {
      while (at < text.size() && StringRef(" \t\n\r").contains(text[at]))
        ++at;
      if (at >= text.size())
        break;
      if (!next())
        return false;
    }
    push(Token::End, 0);
    return true;
  }

  std::vector<Token> tokens;

private:
  bool next() {
    char c = text[at];
    if (llvm::isDigit(c) || (c == '.' && at + 1 < text.size() && llvm::isDigit(text[at + 1])))
      return number();
    if (size_t length = nameLength(text, at))
      return name(length);
    for (StringRef symbol : {"**", "//", "<=", ">=", "==", "!="})
      if (text.substr(at).starts_with(symbol)) {
        push(Token::Symbol, 2);
        return true;
      }
    if (StringRef("+-*/%<>=()[],").contains(c)) {
      push(Token::Symbol, 1);
      return true;
    }
    return unknown();
  }

  Token &push(Token::Kind kind, size_t length) {
    Token token;
    token.kind = kind;
    token.begin = static_cast<uint32_t>(at);
    token.end = static_cast<uint32_t>(at + length);
    token.text = text.substr(at, length);
    at += length;
    tokens.push_back(token);
    return tokens.back();
  }

  bool fail(std::string message, std::string remedy = "") {
    diagnostics.add(source.at(at, std::move(message), std::move(remedy)));
    return false;
  }

  bool name(size_t length) {
    if (length > maxNameLength)
      return fail("a name of " + std::to_string(length) + " bytes",
                  "names have at most " + std::to_string(maxNameLength));
    push(Token::Name, length);
    return true;
  }

  size_t digits(size_t from) const {
    size_t end = from;
    while (end < text.size() && llvm::isDigit(text[end]))
      ++end;
    return end;
  }

  bool number() {
    size_t end = digits(at);
    bool real = false;
    if (end < text.size() && text[end] == '.') {
      real = true;
      end = digits(end + 1);
    }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-'))
        ++exponent;
      if (digits(exponent) > exponent) {
        real = true;
        end = digits(exponent);
      }
    }
    StringRef digitsText = text.slice(at, end);
    if (nameLength(text, end))
      return fail("'" + text.slice(at, end + nameLength(text, end)).str() +
                      "' is neither a number nor a name",
                  insteadOfNumber(digitsText, text.substr(end, nameLength(text, end))));
    return real ? realNumber(digitsText) : integer(digitsText);
  }

  /// What is right where letters stand right behind the digits of a number.
  static std::string insteadOfNumber(StringRef digits, StringRef letters) {
    std::string number = digits.take_front(40).str();
    if (digits == "0" && letters.size() > 1 && StringRef("xXbBoO").contains(letters[0]))
      return "numbers are decimal";
    if (letters[0] == '_' &&
        llvm::all_of(letters, [](char c) { return c == '_' || llvm::isDigit(c); }))
      return "digits stand together: 1000";
    if (letters == "e" || letters == "E")
      return "an exponent has digits, " + number + "e3; a product is written with `*`: " + number +
             " * e";
    if (letters == "f" || letters == "L")
      return "numbers have no suffix: write " + number;
    return "write a product with `*`; names begin with a letter";
  }

  bool integer(StringRef digitsText) {
    int64_t value = 0;
    if (digitsText.getAsInteger(10, value))
      return fail("the integer " + digitsText.take_front(40).str() + " is out of range",
                  "integers have 64 bits; write a real number as 1e20");
    Token &token = push(Token::Integer, digitsText.size());
    token.integer = value;
    token.real = static_cast<double>(value);
    return true;
  }

  bool realNumber(StringRef digitsText) {
    llvm::APFloat value(llvm::APFloat::IEEEdouble());
    auto status = value.convertFromString(digitsText, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return fail("'" + digitsText.take_front(40).str() + "' is not a number",
                  "a number is written 2, 0.5 or 1e-6");
    }
    if (value.isInfinity())
      return fail("the number " + digitsText.take_front(40).str() + " is out of range",
                  "write `inf` for infinity");
    push(Token::Real, digitsText.size()).real = value.convertToDouble();
    return true;
  }

  bool unknown() {
    CharacterFinding finding = describeUnexpected(text, at);
    return fail(std::move(finding.message), std::move(finding.remedy));
  }

  const SourceText &source;
  StringRef text;
  Diagnostics &diagnostics;
  size_t at = 0;
};

} // namespace

std::optional<std::vector<Token>> tokenize(const SourceText &text, Diagnostics &diagnostics) {
  Lexer lexer(text, diagnostics);
  if (!lexer.run())
    return std::nullopt;
  return std::move(lexer.tokens);
}

} // namespace attnc
