#include "compiler/frontend/text/statement_lines.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace attnc {

static bool isListOfStrings(const JsonValue &value) {
  return value.kind == JsonValue::Array && !value.elements.empty() &&
         llvm::all_of(value.elements,
                      [](const JsonValue &line) { return line.kind == JsonValue::String; });
}

static JsonValue joined(const JsonValue &lines) {
  JsonValue statement;
  statement.kind = JsonValue::String;
  statement.offset = lines.offset;
  for (const JsonValue &line : lines.elements) {
    // The last place of a line is that of its end, where the break stands.
    for (size_t i = 0; i <= line.text.size(); ++i)
      statement.textOffsets.push_back(static_cast<uint32_t>(line.textOffset(i)));
    statement.text += line.text + '\n';
  }
  statement.text.pop_back();
  return statement;
}

void joinStatementLines(JsonValue &spec) {
  for (JsonMember &member : spec.members) {
    if (member.key != "body")
      continue;
    for (JsonValue &statement : member.value.elements)
      if (isListOfStrings(statement))
        statement = joined(statement);
      else if (statement.kind == JsonValue::Object)
        joinStatementLines(statement);
  }
}

std::string inOneLine(StringRef text) {
  constexpr StringRef blanks = " \t\r\n";
  std::string line;
  while (!text.empty()) {
    StringRef between = text.take_while([&](char c) { return blanks.contains(c); });
    text = text.drop_front(between.size());
    bool breaks = between.contains('\n') || between.contains('\r');
    bool inside = !line.empty() && !text.empty() && !StringRef("([").contains(line.back()) &&
                  !StringRef(")]").contains(text.front());
    if (!breaks)
      line += between;
    else if (inside)
      line += ' ';
    StringRef words = text.take_until([&](char c) { return blanks.contains(c); });
    line += words;
    text = text.drop_front(words.size());
  }
  return line;
}

} // namespace attnc
