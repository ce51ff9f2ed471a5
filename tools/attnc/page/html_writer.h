// Markup that is well-formed by construction: text is escaped once, where it becomes markup.
#ifndef ATTNC_TOOLS_ATTNC_PAGE_HTML_WRITER_H
#define ATTNC_TOOLS_ATTNC_PAGE_HTML_WRITER_H

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace attnc::cli {

/// A piece of markup (HTML or SVG): elements that are closed and text that is escaped.
class Markup {
public:
  Markup() = default;
  /// Plain text. Bytes that are not UTF-8 become U+FFFD, control characters their pictures.
  Markup(std::string_view text);
  Markup(const std::string &text) : Markup(std::string_view(text)) {}
  Markup(const char *text) : Markup(std::string_view(text)) {}

  Markup &operator+=(const Markup &other);
  friend Markup operator+(Markup a, const Markup &b) { return a += b; }

  bool empty() const { return markup.empty(); }
  const std::string &str() const { return markup; }

private:
  friend Markup element(std::string_view,
                        std::initializer_list<std::pair<std::string_view, std::string>>,
                        const Markup &);
  friend Markup styleSheet(std::string_view);
  std::string markup;
};

/// Attributes by name; those with an empty value are left out.
using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

/// <tag attributes>content</tag>; <tag attributes/> for the elements that have no content in HTML
/// and, where it is empty, in SVG.
Markup element(std::string_view tag, Attributes attributes, const Markup &content = {});
inline Markup element(std::string_view tag, const Markup &content) {
  return element(tag, {}, content);
}

/// <style>css</style>. The text is ours: no "<" and no "&" in it.
Markup styleSheet(std::string_view css);

/// `text` in at most `columns` columns of a terminal, with an ellipsis where it is longer.
std::string shortened(std::string_view text, int columns);

/// Columns that `text` takes in a terminal: wide characters take two.
int columnsOf(std::string_view text);

} // namespace attnc::cli

#endif
