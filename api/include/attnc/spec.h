#pragma once

/// Specs for the C++ interface: from a file, from text, or put together by a program.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnc {

/// What to compile: docs/spec.md is the language. A value; nothing is read or checked before a
/// compile, whose errors have places in the file or the text.
class Spec {
public:
  /// The file is read at each compile.
  static Spec fromFile(std::string path) { return Spec(std::move(path), {}, true); }
  /// JSON with comments. `name` stands for the file in errors.
  static Spec fromText(std::string text, std::string name = "spec") {
    return Spec(std::move(name), std::move(text), false);
  }

  bool isFile() const { return fromPath; }
  /// The path, or what stands for it.
  const std::string &name() const { return label; }
  /// Empty for a file.
  const std::string &text() const { return content; }

private:
  Spec(std::string label, std::string content, bool fromPath)
      : label(std::move(label)), content(std::move(content)), fromPath(fromPath) {}

  std::string label, content;
  bool fromPath;
};

/// Puts the text of a spec together. Texts are those of docs/spec.md, quoted here as JSON needs it,
/// and are checked when the spec is compiled. What this has no function for (lengths, nested
/// repeats, a schedule) is written as text.
///
///   Spec spec = SpecBuilder("average")
///                   .dim("d", 64)
///                   .input("s", "f32[i, j]")
///                   .input("v", "f32[j, d]")
///                   .statement("o[i,d] = sum(j, softmax(j, s) * v)")
///                   .output("o", "f32")
///                   .spec();
class SpecBuilder {
public:
  explicit SpecBuilder(std::string_view name) : title(quoted(name)) {}

  SpecBuilder &doc(std::string_view sentence) {
    about = quoted(sentence);
    return *this;
  }
  /// A named type, which Options::set may replace: type("T", "bf16").
  SpecBuilder &type(std::string_view name, std::string_view type) {
    return add(types, name, quoted(type));
  }
  /// A static extent, in elements.
  SpecBuilder &dim(std::string_view name, std::int64_t extent) {
    return add(dims, name, std::to_string(extent));
  }
  /// An extent computed from others: dim("n", "size(m)").
  SpecBuilder &dim(std::string_view name, std::string_view extent) {
    return add(dims, name, quoted(extent));
  }
  SpecBuilder &let(std::string_view name, std::int64_t value) {
    return add(lets, name, std::to_string(value));
  }
  SpecBuilder &let(std::string_view name, std::string_view expression) {
    return add(lets, name, quoted(expression));
  }
  /// param("scale", "f32 > 0 = 1/sqrt(size(d))").
  SpecBuilder &param(std::string_view name, std::string_view declaration) {
    return add(params, name, quoted(declaration));
  }
  /// A fact about sizes: require("size(i) >= size(m)").
  SpecBuilder &require(std::string_view condition) { return add(requirements, condition); }
  /// input("q", "T[b, h, i, d]").
  SpecBuilder &input(std::string_view name, std::string_view declaration) {
    return add(inputs, name, quoted(declaration));
  }
  /// The next line of the body.
  SpecBuilder &statement(std::string_view text) { return add(body, text); }
  /// Statements that run `count` times, each with the values of the names in `carry` that the one
  /// before has left.
  SpecBuilder &repeat(std::int64_t count, const std::vector<std::string> &carry,
                      const std::vector<std::string> &statements) {
    return repeatText(std::to_string(count), carry, statements);
  }
  /// `count` is a let: repeat("steps", ...).
  SpecBuilder &repeat(std::string_view count, const std::vector<std::string> &carry,
                      const std::vector<std::string> &statements) {
    return repeatText(quoted(count), carry, statements);
  }
  SpecBuilder &output(std::string_view name, std::string_view type) {
    return add(outputs, name, quoted(type));
  }

  /// An input whose gradient the program's entry point "backward" gives.
  SpecBuilder &grad(std::string_view input) { return add(gradients, input); }

  /// JSON, a line for each thing that was added.
  std::string text() const {
    std::string json = "{\n  \"attnc\": 1,\n  \"name\": " + title;
    if (!about.empty())
      json += ",\n  \"doc\": " + about;
    append(json, "types", types, "{}");
    append(json, "dims", dims, "{}");
    append(json, "let", lets, "{}");
    append(json, "require", requirements, "[]");
    append(json, "params", params, "{}");
    append(json, "inputs", inputs, "{}");
    append(json, "body", body, "[]");
    append(json, "outputs", outputs, "{}");
    append(json, "grad", gradients, "[]");
    return json + "\n}\n";
  }
  /// The text under `name`, which stands for the file in errors.
  Spec spec(std::string name = "spec") const { return Spec::fromText(text(), std::move(name)); }

private:
  using Lines = std::vector<std::string>;

  static std::string quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string json = "\"";
    for (char letter : text) {
      auto code = static_cast<unsigned char>(letter);
      if (letter == '"' || letter == '\\')
        json += {'\\', letter};
      else if (code < 0x20)
        json += {'\\', 'u', '0', '0', digits[code >> 4], digits[code & 15]};
      else
        json += letter;
    }
    return json + '"';
  }
  static std::string joined(const Lines &lines, const char *separator) {
    std::string text;
    for (const std::string &line : lines)
      text += (text.empty() ? "" : separator) + line;
    return text;
  }
  static std::string list(const std::vector<std::string> &texts) {
    Lines lines;
    for (const std::string &text : texts)
      lines.push_back(quoted(text));
    return "[" + joined(lines, ", ") + "]";
  }
  /// A key of the spec; an empty one is left out, as its lack says more in an error.
  static void append(std::string &json, const char *key, const Lines &lines, const char *braces) {
    if (!lines.empty())
      json += std::string(",\n  \"") + key + "\": " + braces[0] + "\n    " +
              joined(lines, ",\n    ") + "\n  " + braces[1];
  }
  SpecBuilder &add(Lines &lines, std::string_view text) {
    lines.push_back(quoted(text));
    return *this;
  }
  SpecBuilder &add(Lines &lines, std::string_view name, const std::string &json) {
    lines.push_back(quoted(name) + ": " + json);
    return *this;
  }
  SpecBuilder &repeatText(const std::string &count, const std::vector<std::string> &carry,
                          const std::vector<std::string> &statements) {
    body.push_back("{\"repeat\": " + count + ", \"carry\": " + list(carry) +
                   ", \"body\": " + list(statements) + "}");
    return *this;
  }

  std::string title, about;
  Lines types, dims, lets, requirements, params, inputs, body, outputs, gradients;
};

} // namespace attnc
