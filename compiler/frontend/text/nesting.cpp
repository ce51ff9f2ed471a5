#include "compiler/frontend/text/nesting.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using llvm::StringRef;

namespace attnc {

namespace {

/// Goes through the tokens of a text. Run twice, so that it knows the aliases of locations, which
/// are defined behind their use.
class NestingScan {
public:
  explicit NestingScan(StringRef text) : text(text) {}

  enum Finding { Fits, TooDeep, TooLong };

  /// What is too much, at `place()`.
  Finding run() {
    at = begin = 0;
    levels.clear();
    nesting = size = 0;
    definition = nullptr;
    for (StringRef token = next(), after; !token.empty(); token = after) {
      size_t here = begin;
      after = next();
      if (Finding found = visit(token, after); found != Fits) {
        begin = here;
        return found;
      }
      last = token;
    }
    return Fits;
  }

  size_t place() const { return begin; }

private:
  struct Level {
    char bracket;
    size_t chain = 0; ///< operators since the last separator
  };
  /// An attribute, type or location that has a name.
  struct Alias {
    size_t depth = 0, size = 0;
  };

  /// The next token; empty at the end. Its place is `begin`.
  StringRef next() {
    while (at < text.size() && (llvm::isSpace(text[at]) || text.substr(at).starts_with("//")))
      at = text[at] == '/' ? std::min(text.find('\n', at), text.size()) : at + 1;
    begin = at;
    at = std::min(begin + length(text.substr(begin)), text.size());
    return text.slice(begin, at);
  }

  static size_t length(StringRef rest) {
    auto isWord = [](char c) { return llvm::isAlnum(c) || StringRef("_.$").contains(c); };
    if (rest.starts_with("\"")) {
      size_t end = 1;
      while (end < rest.size() && rest[end] != '"')
        end += rest[end] == '\\' ? 2 : 1;
      return end + 1;
    }
    for (StringRef symbol : {"->", ">=", "<=", "=="})
      if (rest.starts_with(symbol))
        return 2;
    size_t prefix = rest.empty() || !StringRef("#!%^@").contains(rest[0]) ? 0 : 1;
    return std::max<size_t>(prefix + rest.drop_front(prefix).take_while(isWord).size(), 1);
  }

  Finding visit(StringRef token, StringRef after) {
    if (definition && levels.empty() && endsDefinition(token))
      definition = nullptr;
    bool names = token.size() > 1 && (token[0] == '#' || token[0] == '!');
    if (names && levels.empty() && after == "=") {
      definition = &aliases[token];
      *definition = {};
    }
    Alias used;
    if (auto found = aliases.find(token); names && found != aliases.end() && after != "=")
      used = found->second;
    track(token);
    size_t depth = nesting + used.depth;
    size += 1 + used.size;
    if (definition) {
      definition->depth = std::max(definition->depth, depth);
      definition->size += 1 + used.size;
    }
    return depth > maxMlirNesting ? TooDeep : size > maxMlirTokens ? TooLong : Fits;
  }

  /// Whether a token outside of brackets is not part of the value that an alias names.
  bool endsDefinition(StringRef token) const {
    auto continues = [](StringRef t) {
      return llvm::StringSwitch<bool>(t)
          .Cases({"=", ":", "->", "-", "<", "(", "[", "{"}, true)
          .Default(false);
    };
    return !(continues(token) || last == "=" || last == ":" || last == "->" || last == "-");
  }

  /// Follows brackets and chains of operators: `nesting` is how many of both are open.
  void track(StringRef token) {
    char c = token[0];
    if (token.size() == 1 && StringRef("([{<").contains(c)) {
      levels.push_back({c});
      ++nesting;
    } else if (token == ">") {
      if (!levels.empty() && levels.back().bracket == '<')
        pop();
    } else if (token.size() == 1 && StringRef(")]}").contains(c)) {
      // What is `<` and was not closed before is a comparison.
      char open = c == ')' ? '(' : static_cast<char>(c - 2);
      while (!levels.empty() && levels.back().bracket == '<')
        pop();
      if (!levels.empty() && levels.back().bracket == open)
        pop();
    } else if (!levels.empty() && (token == "," || token == ":" || token == "=")) {
      nesting -= std::exchange(levels.back().chain, 0);
    } else if (!levels.empty() && isOperator(token)) {
      ++levels.back().chain;
      ++nesting;
    }
  }

  static bool isOperator(StringRef token) {
    return llvm::StringSwitch<bool>(token)
        .Cases({"+", "-", "*", "mod", "floordiv", "ceildiv"}, true)
        .Default(false);
  }

  void pop() {
    nesting -= 1 + levels.back().chain;
    levels.pop_back();
  }

  StringRef text, last;
  size_t at = 0, begin = 0;
  std::vector<Level> levels;
  size_t nesting = 0, size = 0;
  llvm::StringMap<Alias> aliases;
  Alias *definition = nullptr; ///< the alias whose value is being read
};

} // namespace

bool checkNesting(const SourceFile &file, Diagnostics &diagnostics) {
  NestingScan scan(file.text());
  NestingScan::Finding found = scan.run();
  if (found == NestingScan::Fits)
    found = scan.run();
  if (found == NestingScan::TooDeep)
    diagnostics.add(file.at(
        scan.place(), "nested deeper than " + std::to_string(maxMlirNesting) + " levels",
        "a program in the attn dialect needs a few: brackets, operators of a chain and what is "
        "named by an alias count together"));
  else if (found == NestingScan::TooLong)
    diagnostics.add(file.at(scan.place(),
                            "more than " + std::to_string(maxMlirTokens) +
                                " words and signs where every alias is written out",
                            "name larger things by fewer aliases"));
  return found == NestingScan::Fits;
}

} // namespace attnc
