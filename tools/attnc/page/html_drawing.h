// Boxes, arrows and text of an SVG picture that grows downwards.
#ifndef ATTNC_TOOLS_ATTNC_PAGE_HTML_DRAWING_H
#define ATTNC_TOOLS_ATTNC_PAGE_HTML_DRAWING_H

#include "tools/attnc/page/html_writer.h"

namespace attnc::cli {

struct Box {
  double x, y, width, height;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// Lengths are in units of a picture that is 380 wide; the page shows one in about a pixel.
class Drawing {
public:
  static constexpr double width = 380;

  void rect(const Box &box, const std::string &kind, double radius = 4);
  /// A line of letters of one width from `x` on, shortened to `room`; the whole text is its title.
  void code(double x, double y, double room, const std::string &text, const std::string &kind = "");
  /// A line of running text.
  void label(double x, double y, const std::string &text, const std::string &anchor = "start");
  /// A box with a line of code in it.
  void codeBox(const Box &box, const std::string &kind, const std::string &text);
  /// A line from point to point, with a head at the last one. Segments are level or upright.
  void arrow(std::initializer_list<std::pair<double, double>> points, bool head = true);

  /// The picture; `title` says what it shows to those who cannot see it.
  Markup finish(double height, const std::string &title) const;

private:
  Markup content;
};

} // namespace attnc::cli

#endif
