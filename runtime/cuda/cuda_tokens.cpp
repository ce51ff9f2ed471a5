#include "runtime/cuda/cuda_tokens.h"

#include <algorithm>
#include <iterator>

namespace attnc {

namespace {

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<signed char>(c) < 0;
}

/// Identifiers whose meaning is not in the tokens.
constexpr std::string_view beyondTokens[] = {
    "__LINE__",      "__FILE__",       "__DATE__",       "__TIME__",
    "__TIMESTAMP__", "__builtin_LINE", "__builtin_FILE", "__builtin_COLUMN",
    "__has_include", "__has_embed",    "assert",         "__builtin_source_location"};

/// Directives that read files, other than #include.
constexpr std::string_view fileDirectives[] = {"include_next", "import", "embed"};

constexpr std::string_view rawPrefixes[] = {"R", "LR", "uR", "UR", "u8R"};

template <std::size_t N> bool isOneOf(std::string_view word, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// Phase 2 of translation ([lex.phases]): a line that ends with a backslash goes on. Nothing where
/// a raw string might undo it, or where compilers differ about what the end of a line is.
std::optional<std::string> joinLines(std::string_view text) {
  std::string joined;
  bool continues = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      continues = true;
      ++i;
    } else if (text[i] == '\\' && i + 1 < text.size() && isSpace(text[i + 1])) {
      return std::nullopt;
    } else {
      joined += text[i];
    }
  }
  if (continues && text.find("R\"") != std::string_view::npos)
    return std::nullopt;
  return joined;
}

/// Phase 3: comments become a space, and white space one.
class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  std::optional<CudaTokens> run() {
    while (at < text.size() && understood)
      step();
    if (!understood)
      return std::nullopt;
    return std::move(result);
  }

private:
  char next(std::size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }

  void step() {
    char c = next();
    if (c == '\n')
      endLine();
    else if (isSpace(c))
      ++at, spaced = true;
    else if (c == '/' && next(1) == '/')
      at = std::min(text.find('\n', at), text.size());
    else if (c == '/' && next(1) == '*')
      skipComment();
    else if (c == '"' || c == '\'')
      takeLiteral(c);
    else if (isLetter(c))
      takeWord();
    else if (isDigit(c) || (c == '.' && isDigit(next(1))))
      takeNumber();
    else
      takeOther(c);
  }

  void endLine() {
    ++at;
    spaced = false;
    tokens = 0;
    if (!result.text.empty() && result.text.back() != '\n')
      result.text += '\n';
  }

  void skipComment() {
    std::size_t end = text.find("*/", at + 2);
    understood = end != std::string_view::npos;
    at = end + 2;
    spaced = true;
  }

  /// Adds the next `count` characters as a token.
  std::string_view take(std::size_t count) {
    if (spaced && !result.text.empty() && result.text.back() != '\n')
      result.text += ' ';
    spaced = false;
    std::string_view token = text.substr(at, count);
    result.text += token;
    at += token.size();
    ++tokens;
    return token;
  }

  void takeLiteral(char quote) {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n')
      end += text[end] == '\\' ? 2 : 1;
    understood = end < text.size() && text[end] == quote;
    if (understood)
      take(end + 1 - at);
  }

  void takeRawString() {
    std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) {
      understood = false;
      return;
    }
    std::string closing = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    std::size_t end = text.find(closing, open);
    understood = end != std::string_view::npos;
    if (understood)
      take(end + closing.size() - at);
  }

  void takeWord() {
    std::size_t size = 1;
    while (isLetter(next(size)) || isDigit(next(size)))
      ++size;
    bool isDirective = afterHash && tokens == 1;
    std::string_view word = take(size);
    afterHash = false;
    if (isOneOf(word, beyondTokens) || (isDirective && isOneOf(word, fileDirectives)))
      understood = false;
    else if (next() == '"' && isOneOf(word, rawPrefixes))
      takeRawString();
    else if (isDirective && word == "include")
      takeInclude();
  }

  /// <name> or "name", in which // begins no comment.
  void takeInclude() {
    while (isSpace(next()))
      ++at, spaced = true;
    char closing = next() == '<' ? '>' : next() == '"' ? '"' : '\0';
    std::size_t end =
        closing ? text.find_first_of(std::string{closing, '\n'}, at + 1) : std::string_view::npos;
    understood = end != std::string_view::npos && text[end] == closing;
    if (!understood)
      return;
    std::string_view name = take(end + 1 - at);
    result.includes.emplace_back(name.substr(1, name.size() - 2));
  }

  /// A number of the preprocessor ([lex.ppnumber]), in which ' separates digits.
  void takeNumber() {
    std::size_t size = 1;
    while (true) {
      char c = next(size), before = next(size - 1);
      bool isSign =
          (c == '+' || c == '-') && std::string_view("eEpP").find(before) != std::string_view::npos;
      bool isSeparator = c == '\'' && (isLetter(next(size + 1)) || isDigit(next(size + 1)));
      if (!isLetter(c) && !isDigit(c) && c != '.' && !isSign && !isSeparator)
        break;
      ++size;
    }
    take(size);
  }

  void takeOther(char c) {
    bool isHash = tokens == 0 && c == '#';
    // The other spelling of # ([lex.digraph]).
    understood = !(c == '%' && next(1) == ':');
    take(1);
    afterHash = isHash;
  }

  std::string_view text;
  std::size_t at = 0;
  std::size_t tokens = 0; ///< of this line, so far
  bool spaced = false;    ///< white space is behind us
  bool afterHash = false; ///< a directive's name comes
  bool understood = true;
  CudaTokens result;
};

} // namespace

std::optional<CudaTokens> cudaTokens(std::string_view text) {
  std::optional<std::string> joined = joinLines(text);
  return joined ? Lexer(*joined).run() : std::nullopt;
}

} // namespace attnc
