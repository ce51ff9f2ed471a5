// JSON with comments, every value with its place in the file.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_JSON_SOURCE_H
#define ATTNC_COMPILER_FRONTEND_TEXT_JSON_SOURCE_H

#include "compiler/frontend/text/diagnostics.h"
#include "compiler/frontend/text/spec_bases.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace attnc {

/// The text of a spec, with byte offsets turned into lines and columns. The text must outlive it.
/// Behind its own text, and a byte between, stand the texts of the specs that it extends. Not
/// thread-safe.
class SourceFile {
public:
  SourceFile(llvm::StringRef fileName, llvm::StringRef text);

  llvm::StringRef name() const { return fileName; }
  llvm::StringRef text() const { return content; }

  /// Adds the file that this one extends, and keeps its text; to be called once.
  SourceFile &append(SpecSource source);
  const SourceFile *extended() const { return base.get(); }
  /// Whether an offset is in this file, and not in one that it extends.
  bool isOwn(size_t offset) const { return !base || offset <= content.size(); }
  /// The name of the file that an offset is in.
  llvm::StringRef nameAt(size_t offset) const {
    return isOwn(offset) ? name() : base->nameAt(offset - content.size() - 1);
  }
  /// "line 15", of another file than this with its name.
  std::string lineText(size_t offset) const;
  /// Whether one of those that it extends lies on this machine alone.
  bool extendsFiles() const { return base && (kept.isFile || base->extendsFiles()); }

  struct Position {
    unsigned line, column;
  };
  /// Line and column (code points), both from 1. Offsets past the end mean the end.
  Position position(size_t offset) const;

  /// The byte offset of a line and a column of bytes, both from 1; within its own text for any
  /// numbers.
  size_t offset(unsigned line, unsigned column) const;

  /// A finding at a byte offset, whose caret points into the source line.
  Diagnostic at(size_t offset, std::string message, std::string remedy = "") const;

private:
  size_t lineIndex(size_t offset) const;

  std::string fileName;
  llvm::StringRef content;
  SpecSource kept; ///< what `base` is about
  std::unique_ptr<SourceFile> base;
  std::vector<size_t> lineStarts;
  // The last place asked for: places come close together, and a file may be one long line.
  mutable size_t lastOffset = 0, lastLine = 0;
  mutable unsigned lastColumn = 1;
};

struct JsonMember;

/// A JSON value and where its token begins.
struct JsonValue {
  enum Kind { Null, Bool, Integer, Float, String, Array, Object };
  Kind kind = Null;
  size_t offset = 0;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  /// For a String with escapes: the source offset of every byte of `text`, then of its end.
  std::vector<uint32_t> textOffsets;
  std::vector<JsonValue> elements;
  std::vector<JsonMember> members;

  /// The member of this key, or null.
  const JsonValue *find(llvm::StringRef key) const;
  /// Where byte `index` of a String's text stands in the source.
  size_t textOffset(size_t index) const;
  /// Members in their order.
  nlohmann::ordered_json toJson() const;
};

struct JsonMember {
  std::string key;
  size_t keyOffset = 0;
  JsonValue value;
};

/// "an object", "a string", ...: the kind of a value in an error message.
llvm::StringRef kindName(JsonValue::Kind kind);

/// Parses the file. Duplicate keys and nesting deeper than 64 are errors. Nothing after a syntax
/// error is looked at. Returns nothing on any error.
std::optional<JsonValue> parseJson(const SourceFile &file, Diagnostics &diagnostics);

} // namespace attnc

#endif
