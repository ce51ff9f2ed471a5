#include "tests/fuzz/spec_mutator.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <optional>
#include <random>
#include <vector>

namespace attnc::fuzz {

namespace {

using Words = std::vector<llvm::StringRef>;

// What can stand in the place of another without a mistake in grammar.
const Words kinds[] = {
    {"sum", "max", "min", "mean", "prod", "logsumexp", "softmax"},
    {"+", "-", "*", "/", "//", "%", "**"},
    {"<=", "<", ">=", ">", "==", "!="},
    {"exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "gelu", "abs", "floor"},
    {"maximum", "minimum", "xlogy"},
    {"all", "any"},
    {"and", "or"},
    {"0", "1", "2", "3", "0.5", "-1", "1e30", "inf", "-inf", "size(j)", "size(i)"},
    {"b", "h", "i", "j", "d", "e"},
    {"q", "k", "v"},
    {"f32", "f16", "bf16", "i32", "i64", "i8", "u8", "bool"},
};
const Words &wrappers = kinds[3];

bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; }

/// A range of tokens.
struct Range {
  size_t begin, end;
};

class Mutation {
public:
  Mutation(llvm::StringRef text, unsigned seed) : random(seed) { split(text); }

  std::string run() {
    for (size_t times = 1 + below(3); times > 0 && !tokens.empty(); --times)
      once();
    return llvm::join(tokens, "");
  }

private:
  using Tokens = std::vector<std::string>;

  size_t below(size_t n) { return n ? random() % n : 0; }

  void split(llvm::StringRef text) {
    while (!text.empty()) {
      size_t length = 1;
      if (isWordCharacter(text[0]))
        length = text.take_while(isWordCharacter).size();
      else
        for (llvm::StringRef sign : {"//", "**", "<=", ">=", "==", "!="})
          if (text.starts_with(sign))
            length = 2;
      tokens.push_back(text.take_front(length).str());
      text = text.drop_front(length);
    }
  }

  void once() {
    switch (below(6)) {
    case 0:
    case 1:
      return exchangeWord();
    case 2:
      return moveExpression();
    case 3:
      return wrapExpression();
    case 4:
      return repeatString();
    default:
      return dropString();
    }
  }

  void exchangeWord() {
    std::vector<std::pair<size_t, const Words *>> places;
    for (size_t i = 0; i < tokens.size(); ++i)
      for (const Words &kind : kinds)
        if (llvm::is_contained(kind, tokens[i]))
          places.emplace_back(i, &kind);
    if (places.empty())
      return;
    auto [place, kind] = places[below(places.size())];
    tokens[place] = (*kind)[below(kind->size())].str();
  }

  void moveExpression() {
    std::optional<Range> from = expression(), to = expression();
    if (from && to)
      put(*to, Tokens(tokens.begin() + from->begin, tokens.begin() + from->end));
  }

  void wrapExpression() {
    std::optional<Range> inside = expression();
    if (!inside)
      return;
    tokens.insert(tokens.begin() + inside->end, ")");
    tokens.insert(tokens.begin() + inside->begin, wrappers[below(wrappers.size())].str() + "(");
  }

  // Statements are strings, as are shapes and types.
  void repeatString() {
    std::vector<Range> all = strings();
    if (all.size() < 2)
      return;
    Range from = all[below(all.size())], to = all[below(all.size())];
    Tokens copy(tokens.begin() + from.begin, tokens.begin() + from.end);
    copy.push_back(", ");
    put({to.begin, to.begin}, copy);
  }

  void dropString() {
    std::vector<Range> all = strings();
    if (all.empty())
      return;
    Range lost = all[below(all.size())];
    if (lost.end < tokens.size() && tokens[lost.end] == ",")
      ++lost.end;
    put(lost, {});
  }

  void put(Range range, const Tokens &replacement) {
    tokens.erase(tokens.begin() + range.begin, tokens.begin() + range.end);
    tokens.insert(tokens.begin() + range.begin, replacement.begin(), replacement.end());
  }

  /// A word with what it is called with or subscripted by, or a parenthesis.
  std::optional<Range> expression() {
    std::vector<size_t> starts;
    for (size_t i = 0; i < tokens.size(); ++i)
      if (isWordCharacter(tokens[i][0]) || tokens[i] == "(")
        starts.push_back(i);
    if (starts.empty())
      return std::nullopt;
    size_t begin = starts[below(starts.size())];
    size_t end = begin + (tokens[begin] != "(");
    if (end < tokens.size() && (tokens[end] == "(" || tokens[end] == "["))
      end = closing(end);
    return Range{begin, end};
  }

  /// Behind the bracket that closes the one at `open`, within its string.
  size_t closing(size_t open) {
    size_t depth = 0;
    for (size_t i = open; i < tokens.size() && tokens[i] != "\""; ++i) {
      depth += tokens[i] == "(" || tokens[i] == "[";
      depth -= tokens[i] == ")" || tokens[i] == "]";
      if (depth == 0)
        return i + 1;
    }
    return open + 1;
  }

  std::vector<Range> strings() {
    std::vector<Range> all;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] != "\"")
        continue;
      size_t begin = i++;
      while (i < tokens.size() && tokens[i] != "\"")
        ++i;
      if (i < tokens.size())
        all.push_back({begin, i + 1});
    }
    return all;
  }

  std::mt19937 random;
  Tokens tokens;
};

} // namespace

std::string mutateSpec(llvm::StringRef text, unsigned seed) { return Mutation(text, seed).run(); }

} // namespace attnc::fuzz
