// Places in JSON.
#include "compiler/frontend/text/json_source.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace attnc {
namespace {

struct Parsed {
  explicit Parsed(std::string text) : text(std::move(text)), file("t.json", this->text) {
    root = parseJson(file, diagnostics);
  }
  std::string text;
  SourceFile file;
  Diagnostics diagnostics;
  std::optional<JsonValue> root;
};

TEST(JsonSource, ValuesKnowWhereTheyBegin) {
  Parsed p("\xEF\xBB\xBF// a comment, \"with\" signs: {\n{ /* : , */ \"a\" : [1, -2.5e3 ,true],\n"
           "  \"b\": {\"c\": null, \"d\": \"x\\\"y\"} }\n");
  ASSERT_TRUE(p.root);
  auto at = [&](const JsonValue &v) { return p.text.substr(v.offset, 4); };
  const JsonValue &list = *p.root->find("a");
  EXPECT_EQ(at(list), "[1, ");
  EXPECT_EQ(at(list.elements[0]), "1, -");
  EXPECT_EQ(at(list.elements[1]), "-2.5");
  EXPECT_EQ(at(list.elements[2]), "true");
  const JsonValue &object = *p.root->find("b");
  EXPECT_EQ(at(object), "{\"c\"");
  EXPECT_EQ(at(*object.find("c")), "null");
  EXPECT_EQ(at(*object.find("d")), "\"x\\\"");
  EXPECT_EQ(p.text.substr(object.members[1].keyOffset, 3), "\"d\"");
  EXPECT_EQ(p.root->toJson(), nlohmann::json::parse(p.text.substr(3), nullptr, true, true));
}

TEST(JsonSource, BytesOfStringsKnowWhereTheyStand) {
  // a, a newline, a character of two bytes, one of four (a surrogate pair), z
  Parsed p(R"(["a\n\u00e4\ud83d\ude00z"])");
  ASSERT_TRUE(p.root);
  const JsonValue &s = p.root->elements[0];
  ASSERT_EQ(s.text, "a\n\xC3\xA4\xF0\x9F\x98\x80z");
  std::string marks;
  for (size_t i = 0; i < s.text.size(); ++i)
    marks += p.text[s.textOffset(i)];
  EXPECT_EQ(marks, "a\\\\\\\\\\\\\\z");
  EXPECT_EQ(s.textOffset(2), p.text.find("\\u00e4"));
  EXPECT_EQ(s.textOffset(4), p.text.find("\\ud83d"));
  EXPECT_EQ(p.text[s.textOffset(s.text.size())], '"');
}

TEST(JsonSource, StringsWithoutEscapesMapOneToOne) {
  Parsed p("[\"a\xC3\xA4z\"]");
  ASSERT_TRUE(p.root);
  const JsonValue &s = p.root->elements[0];
  EXPECT_TRUE(s.textOffsets.empty());
  EXPECT_EQ(p.text[s.textOffset(3)], 'z');
}

TEST(JsonSource, ColumnsCountCharacters) {
  std::string text = "ab\n\xC3\xA4\xE2\x82\xAC"
                     "c\n";
  SourceFile file("t", text);
  auto place = [&](size_t offset) {
    auto [line, column] = file.position(offset);
    return std::pair(line, column);
  };
  EXPECT_EQ(place(text.find('c')), std::pair(2u, 3u));
  EXPECT_EQ(place(3), std::pair(2u, 1u)); // backwards on the same line
  EXPECT_EQ(place(1), std::pair(1u, 2u));
  EXPECT_EQ(place(1000), std::pair(3u, 1u));
}

TEST(JsonSource, LargeUnsignedNumbersDoNotWrap) {
  Parsed p("[18446744073709551615, 9223372036854775807]");
  ASSERT_TRUE(p.root);
  EXPECT_EQ(p.root->elements[0].kind, JsonValue::Float);
  EXPECT_EQ(p.root->elements[1].kind, JsonValue::Integer);
  EXPECT_EQ(p.root->elements[1].integer, INT64_MAX);
}

} // namespace
} // namespace attnc
