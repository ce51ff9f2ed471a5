#include "compiler/frontend/text/json_mistakes.h"
#include "compiler/frontend/text/characters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace attnc {

namespace {

/// The last byte before `place` that is neither space nor comment, or npos. The parser has accepted
/// the text so far.
size_t lastToken(StringRef text, size_t place) {
  size_t last = StringRef::npos;
  bool inString = false;
  for (size_t at = 0; at < place; ++at) {
    char c = text[at];
    if (inString) {
      at += c == '\\';
      inString = c != '"';
      last = at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at).starts_with("/*")) {
      at = std::min(text.find("*/", at + 2), text.size()) + 1;
    } else if (!llvm::isSpace(c)) {
      inString = c == '"';
      last = at;
    }
  }
  return last;
}

StringRef wordAt(StringRef text, size_t place) {
  return text.substr(place).take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A word outside of strings that is no literal of JSON.
JsonMistake strayWord(StringRef text, size_t place, StringRef word) {
  std::string found = "'" + word.take_front(40).str() + "' is not JSON";
  static constexpr std::pair<StringRef, StringRef> spellings[] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  for (auto [python, json] : spellings)
    if (word == python)
      return {place, found, ("JSON writes " + json).str()};
  if (llvm::is_contained({"NaN", "Infinity", "inf", "nan"}, word))
    return {place, found, "JSON has no such number; the expressions of a spec know `inf`"};
  bool isKey = text.substr(place + word.size()).ltrim().starts_with(":");
  return {place, found,
          isKey ? "a key is in double quotes: \"" + word.take_front(40).str() + "\""
                : "a text is in double quotes: \"" + word.take_front(40).str() + "\""};
}

/// A string that the parser could not read to its end.
std::optional<JsonMistake> brokenString(StringRef text, size_t place, StringRef reason) {
  if (reason.contains("UTF-8"))
    return JsonMistake{place, "the file is not valid UTF-8 here", "save it as UTF-8"};
  if (reason.contains("invalid string: forbidden character after backslash") ||
      reason.contains("'\\u'"))
    return JsonMistake{place, "this escape is not one of JSON's",
                       "write a backslash as `\\\\`; index notation needs none"};
  if (reason.contains("invalid string: surrogate"))
    return JsonMistake{place, "this escape is half of a character",
                       "write the character itself; the file is UTF-8"};
  if (reason.contains("U+000A") || reason.contains("U+000D") ||
      reason.contains("missing closing quote"))
    return JsonMistake{place, "the string does not end in its line",
                       "close it with `\"`; a statement over several lines is a list of strings"};
  uint32_t code = 0;
  if (!reason.contains("invalid string: control character") || !decodeCharacter(text, place, code))
    return std::nullopt;
  return JsonMistake{place, "a string holds the control character " + codePoint(code),
                     "write a space for it"};
}

} // namespace

JsonMistake describeJsonMistake(StringRef text, size_t place, StringRef reason, size_t open) {
  if (auto mistake = brokenString(text, place, reason))
    return *mistake;
  StringRef rest = text.substr(place);
  if (size_t zero = text.find('\0'); zero != StringRef::npos && zero <= place + 1)
    return {zero, "the file holds a zero byte", "delete it: a spec is text in UTF-8"};
  if (rest.trim().empty()) {
    if (text.trim().empty())
      return {0, "the file is empty", "write an object of keys: { \"key\": \"value\" }"};
    if (open == StringRef::npos)
      return {place, "the file ends inside a value", "complete it"};
    bool list = text[open] == '[';
    return {open, std::string("this ") + (list ? "list" : "object") + " is not closed",
            std::string("add `") + (list ? ']' : '}') + "` where it ends"};
  }
  size_t before = lastToken(text, place);
  char last = before == StringRef::npos ? 0 : text[before];
  char c = rest.front();
  if (last == ',' && (c == ']' || c == '}'))
    return {before, "a comma with nothing behind it", "remove the comma: JSON has none at the end"};
  if (last == ',' && c == ',')
    return {place, "two commas in a row", "remove one of them"};
  if (c == '\'')
    return {place, "JSON has no strings in single quotes", "write \"double quotes\""};
  if (c == '#')
    return {place, "`#` begins no comment here", "a comment begins with `//`"};
  if (StringRef word = wordAt(text, place);
      !word.empty() && !llvm::isDigit(c) && word != "true" && word != "false" && word != "null")
    return strayWord(text, place, word);
  bool complete = last == '"' || last == ']' || last == '}' || llvm::isAlnum(last);
  bool begins = c == '"' || c == '[' || c == '{' || llvm::isAlnum(c) || c == '-';
  if (complete && open == StringRef::npos)
    return {place, "the value of the file ends before this", "remove what follows"};
  if (complete && begins && reason.contains("':'"))
    return {place, "there is no `:` between the key and its value", "write \"key\": value"};
  if (complete && begins)
    return {place, "a comma is missing before this", "put `,` after the value before it"};
  if (complete && (c == ']' || c == '}') && text[open] + 2 != c)
    return {place, std::string("`") + c + "` closes what `" + text[open] + "` opened",
            std::string("write `") + (text[open] == '[' ? ']' : '}') + "`"};
  uint32_t code = 0;
  if (decodeCharacter(text, place, code) && code >= 0x80)
    return {place, describeUnexpected(text, place).message + ", outside of strings",
            "remove it: between values stand only spaces, `,` and `:`"};
  return {place, "not valid JSON: " + reason.str(),
          "a value is a string, a number, an object { } or a list [ ]"};
}

} // namespace attnc
