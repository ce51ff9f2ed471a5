#include "tools/attnc/page/html_drawing.h"

#include <fmt/format.h>

namespace attnc::cli {

// What a column takes in fonts of one width; the style sheet has the sizes.
static constexpr double columnWidth = 11 * 0.61, smallColumnWidth = 10 * 0.61;

static std::string number(double value) { return fmt::format("{:.6g}", value); }

void Drawing::rect(const Box &box, const std::string &kind, double radius) {
  content += element("rect", {{"class", kind},
                              {"x", number(box.x)},
                              {"y", number(box.y)},
                              {"width", number(box.width)},
                              {"height", number(box.height)},
                              {"rx", number(radius)}});
}

void Drawing::code(double x, double y, double room, const std::string &text,
                   const std::string &kind) {
  double column = kind == "small" ? smallColumnWidth : columnWidth;
  std::string shown = shortened(text, static_cast<int>(room / column));
  Markup title = shown == text ? Markup() : element("title", text);
  content += element(
      "text",
      {{"class", kind.empty() ? "code" : "code " + kind}, {"x", number(x)}, {"y", number(y)}},
      title + shown);
}

void Drawing::label(double x, double y, const std::string &text, const std::string &anchor) {
  content +=
      element("text", {{"x", number(x)}, {"y", number(y)}, {"text-anchor", anchor}}, Markup(text));
}

void Drawing::codeBox(const Box &box, const std::string &kind, const std::string &text) {
  constexpr double margin = 6;
  rect(box, kind);
  code(box.x + margin, box.y + box.height / 2 + 4, box.width - 2 * margin, text);
}

void Drawing::arrow(std::initializer_list<std::pair<double, double>> points, bool head) {
  std::string path;
  for (auto [x, y] : points)
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L", number(x), number(y));
  content += element("path", {{"class", "line"}, {"d", path}});
  if (!head)
    return;
  auto [x, y] = *(points.end() - 1);
  auto [fromX, fromY] = *(points.end() - 2);
  double dx = x > fromX ? 1 : x < fromX ? -1 : 0, dy = y > fromY ? 1 : y < fromY ? -1 : 0;
  constexpr double length = 6, half = 3.5;
  content += element("polygon", {{"class", "head"},
                                 {"points", fmt::format("{},{} {},{} {},{}", number(x), number(y),
                                                        number(x - dx * length - dy * half),
                                                        number(y - dy * length - dx * half),
                                                        number(x - dx * length + dy * half),
                                                        number(y - dy * length + dx * half))}});
}

Markup Drawing::finish(double height, const std::string &title) const {
  return element("svg",
                 {{"class", "picture"},
                  {"viewBox", fmt::format("0 0 {} {}", number(width), number(height))},
                  {"role", "img"}},
                 element("title", title) + content);
}

} // namespace attnc::cli
