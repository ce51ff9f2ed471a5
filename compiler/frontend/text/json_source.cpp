#include "compiler/frontend/text/json_source.h"
#include "compiler/frontend/text/json_mistakes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <nlohmann/json.hpp>

using llvm::StringRef;

namespace attnc {

//===----------------------------------------------------------------------===//
// SourceFile
//===----------------------------------------------------------------------===//

SourceFile::SourceFile(StringRef fileName, StringRef text)
    : fileName(fileName.str()), content(text), lineStarts{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      lineStarts.push_back(i + 1);
}

SourceFile &SourceFile::append(SpecSource source) {
  kept = std::move(source);
  base = std::make_unique<SourceFile>(kept.fileName, kept.text);
  return *base;
}

std::string SourceFile::lineText(size_t offset) const {
  return "line " + std::to_string(position(offset).line) +
         (isOwn(offset) ? "" : " of " + nameAt(offset).str());
}

size_t SourceFile::lineIndex(size_t offset) const {
  return llvm::upper_bound(lineStarts, offset) - lineStarts.begin() - 1;
}

SourceFile::Position SourceFile::position(size_t offset) const {
  if (!isOwn(offset))
    return base->position(offset - content.size() - 1);
  offset = std::min(offset, content.size());
  size_t line = lineIndex(offset);
  bool sameLine = line == lastLine;
  size_t from = sameLine ? lastOffset : lineStarts[line];
  unsigned column = sameLine ? lastColumn : 1;
  for (char c : content.slice(std::min(from, offset), std::max(from, offset)))
    column += ((c & 0xC0) != 0x80) * (from <= offset ? 1 : -1);
  lastOffset = offset;
  lastLine = line;
  lastColumn = column;
  return {static_cast<unsigned>(line + 1), column};
}

size_t SourceFile::offset(unsigned line, unsigned column) const {
  size_t begin = lineStarts[std::min<size_t>(std::max(line, 1u), lineStarts.size()) - 1];
  return std::min<size_t>(begin + std::max(column, 1u) - 1, content.size());
}

Diagnostic SourceFile::at(size_t offset, std::string message, std::string remedy) const {
  if (!isOwn(offset))
    return base->at(offset - content.size() - 1, std::move(message), std::move(remedy));
  offset = std::min(offset, content.size());
  // Very long lines are cut around the caret, since a finding is kept and printed.
  constexpr size_t reach = 200;
  size_t begin = lineStarts[lineIndex(offset)];
  begin = std::max(begin, offset > reach ? offset - reach : 0);
  StringRef line =
      content.substr(begin, 2 * reach).take_until([](char c) { return c == '\n' || c == '\r'; });
  Position place = position(offset);
  Diagnostic d;
  d.file = fileName;
  d.line = place.line;
  d.column = place.column;
  d.message = std::move(message);
  d.expression = line.str();
  d.caretOffset = static_cast<unsigned>(std::min(offset - begin, line.size()));
  d.remedy = std::move(remedy);
  return d;
}

//===----------------------------------------------------------------------===//
// JsonValue
//===----------------------------------------------------------------------===//

StringRef kindName(JsonValue::Kind kind) {
  switch (kind) {
  case JsonValue::Null:
    return "null";
  case JsonValue::Bool:
    return "a boolean";
  case JsonValue::Integer:
    return "an integer";
  case JsonValue::Float:
    return "a number that is no 64-bit integer";
  case JsonValue::String:
    return "a string";
  case JsonValue::Array:
    return "a list";
  case JsonValue::Object:
    return "an object";
  }
  return "";
}

const JsonValue *JsonValue::find(StringRef key) const {
  for (const JsonMember &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

size_t JsonValue::textOffset(size_t index) const {
  if (textOffsets.empty())
    return offset + 1 + std::min(index, text.size());
  return textOffsets[std::min(index, textOffsets.size() - 1)];
}

nlohmann::ordered_json JsonValue::toJson() const {
  switch (kind) {
  case Null:
    return nullptr;
  case Bool:
    return boolean;
  case Integer:
    return integer;
  case Float:
    return number;
  case String:
    return text;
  case Array: {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const JsonValue &element : elements)
      list.push_back(element.toJson());
    return list;
  }
  case Object: {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const JsonMember &member : members)
      object[member.key] = member.value.toJson();
    return object;
  }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

/// Follows the tokens of a text that the JSON parser has accepted so far. The parser's events
/// carry no positions, but come in the order of the tokens.
class TokenCursor {
public:
  explicit TokenCursor(StringRef text) : text(text) {
    if (text.starts_with("\xEF\xBB\xBF"))
      at = 3;
  }

  /// Skips what stands between tokens and returns the offset of the next token.
  size_t next() {
    while (at < text.size()) {
      if (StringRef(" \t\r\n,:").contains(text[at]))
        ++at;
      else if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      else if (text.substr(at).starts_with("/*"))
        at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
      else
        break;
    }
    return at;
  }

  void skip(size_t bytes) { at = std::min(at + bytes, text.size()); }

  void skipWord() {
    while (at < text.size() && (llvm::isAlnum(text[at]) || StringRef("+-.").contains(text[at])))
      ++at;
  }

  /// Skips a string token. If it has escapes, fills `offsets` with the source offset of every
  /// byte of the decoded text, then of its end.
  void skipString(StringRef decoded, std::vector<uint32_t> &offsets) {
    size_t begin = at + 1;
    at = begin;
    if (text.substr(begin).starts_with(decoded) && begin + decoded.size() < text.size() &&
        text[begin + decoded.size()] == '"' && !decoded.contains('\\')) {
      at = begin + decoded.size() + 1;
      return;
    }
    offsets.reserve(decoded.size() + 1);
    while (at < text.size() && text[at] != '"')
      skipCharacter(offsets);
    offsets.resize(decoded.size(), static_cast<uint32_t>(at));
    offsets.push_back(static_cast<uint32_t>(at));
    skip(1);
  }

private:
  /// One byte of the source, or one escape, which may stand for up to four bytes of UTF-8.
  void skipCharacter(std::vector<uint32_t> &offsets) {
    auto place = static_cast<uint32_t>(at);
    if (text[at] != '\\') {
      offsets.push_back(place);
      ++at;
      return;
    }
    if (at + 1 >= text.size() || text[at + 1] != 'u') {
      offsets.push_back(place);
      skip(2);
      return;
    }
    unsigned code = hexadecimal(at + 2);
    skip(6);
    unsigned bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    if (code >= 0xD800 && code < 0xDC00) { // the first half of a surrogate pair
      skip(6);
      bytes = 4;
    }
    offsets.insert(offsets.end(), bytes, place);
  }

  unsigned hexadecimal(size_t begin) const {
    unsigned value = 0;
    return text.substr(begin, 4).getAsInteger(16, value) ? 0 : value;
  }

  StringRef text;
  size_t at = 0;
};

/// Builds the tree from the parser's events.
class TreeBuilder {
public:
  using Json = nlohmann::json;
  static constexpr size_t maxDepth = 64;

  TreeBuilder(const SourceFile &file, Diagnostics &diagnostics)
      : file(file), diagnostics(diagnostics), cursor(file.text()) {}

  bool null() { return word({}); }
  bool boolean(bool value) {
    JsonValue v;
    v.kind = JsonValue::Bool;
    v.boolean = value;
    return word(std::move(v));
  }
  bool number_integer(Json::number_integer_t value) {
    JsonValue v;
    v.kind = JsonValue::Integer;
    v.integer = value;
    v.number = static_cast<double>(value);
    return word(std::move(v));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (value <= static_cast<uint64_t>(INT64_MAX))
      return number_integer(static_cast<int64_t>(value));
    return number_float(static_cast<double>(value), "");
  }
  bool number_float(Json::number_float_t value, const std::string &) {
    JsonValue v;
    v.kind = JsonValue::Float;
    v.number = value;
    return word(std::move(v));
  }
  bool string(std::string &value) {
    JsonValue v;
    v.kind = JsonValue::String;
    v.offset = cursor.next();
    cursor.skipString(value, v.textOffsets);
    v.text = std::move(value);
    return append(std::move(v));
  }
  bool binary(Json::binary_t &) { return false; }
  bool start_object(size_t) { return open(JsonValue::Object); }
  bool start_array(size_t) { return open(JsonValue::Array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string &value) {
    Frame &frame = frames.back();
    frame.keyOffset = cursor.next();
    std::vector<uint32_t> unused;
    cursor.skipString(value, unused);
    if (!frame.keys.insert(value).second)
      diagnostics.add(
          file.at(frame.keyOffset, "the key '" + value + "' occurs twice", "remove one of them"));
    frame.key = std::move(value);
    return true;
  }

  bool parse_error(size_t offset, const std::string &, const Json::exception &exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    StringRef what = exception.what();
    size_t colon = what.find(": ");
    StringRef reason = colon == StringRef::npos ? what.split("] ").second : what.substr(colon + 2);
    reason.consume_front("syntax error ");
    // The parser has read up to the end of a whole literal: the mistake is where it begins.
    bool wholeToken = (reason.contains("unexpected") && reason.contains(" literal")) ||
                      reason.contains("U+000A") || reason.contains("U+000D") ||
                      reason.contains("closing quote");
    size_t place = wholeToken ? cursor.next() : offset ? offset - 1 : 0;
    size_t open = frames.empty() ? StringRef::npos : frames.back().value.offset;
    JsonMistake mistake = describeJsonMistake(file.text(), place, reason, open);
    diagnostics.add(file.at(mistake.place, std::move(mistake.message), std::move(mistake.remedy)));
    return false;
  }

  JsonValue root;

private:
  struct Frame {
    JsonValue value;
    std::string key;
    size_t keyOffset = 0;
    llvm::StringSet<> keys;
  };

  bool word(JsonValue v) {
    v.offset = cursor.next();
    cursor.skipWord();
    return append(std::move(v));
  }

  bool open(JsonValue::Kind kind) {
    Frame frame;
    frame.value.kind = kind;
    frame.value.offset = cursor.next();
    cursor.skip(1);
    if (frames.size() >= maxDepth) {
      diagnostics.add(file.at(frame.value.offset,
                              "JSON nested deeper than " + std::to_string(maxDepth) + " levels",
                              "specs and schedules need only a few levels"));
      return false;
    }
    frames.push_back(std::move(frame));
    return true;
  }

  bool close() {
    cursor.next();
    cursor.skip(1);
    JsonValue value = std::move(frames.back().value);
    frames.pop_back();
    return append(std::move(value));
  }

  bool append(JsonValue v) {
    if (frames.empty()) {
      root = std::move(v);
      return true;
    }
    Frame &frame = frames.back();
    if (frame.value.kind == JsonValue::Array)
      frame.value.elements.push_back(std::move(v));
    else
      frame.value.members.push_back({std::move(frame.key), frame.keyOffset, std::move(v)});
    return true;
  }

  const SourceFile &file;
  Diagnostics &diagnostics;
  TokenCursor cursor;
  std::vector<Frame> frames;
};

} // namespace

std::optional<JsonValue> parseJson(const SourceFile &file, Diagnostics &diagnostics) {
  unsigned before = diagnostics.errorCount();
  TreeBuilder builder(file, diagnostics);
  StringRef text = file.text();
  bool done = nlohmann::json::sax_parse(text.begin(), text.end(), &builder,
                                        nlohmann::json::input_format_t::json,
                                        /*strict=*/true, /*ignore_comments=*/true);
  if (!done || diagnostics.errorCount() != before)
    return std::nullopt;
  return std::move(builder.root);
}

} // namespace attnc
