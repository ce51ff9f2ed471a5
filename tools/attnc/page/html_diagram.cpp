#include "tools/attnc/page/html_diagram.h"
#include "tools/attnc/page/html_drawing.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::NestReport;

constexpr double rowHeight = 22, gap = 5, arrowLength = 16;

std::string dimsText(const std::vector<std::string> &dims) {
  return fmt::format("{}", fmt::join(dims, ", "));
}

/// Draws one nest from top to bottom: what comes, what is done with it, what is kept and stored.
class NestDrawing {
public:
  explicit NestDrawing(const KernelFacts &kernel) : kernel(kernel), nest(*kernel.nest) {}

  Markup draw() {
    double height = drawInside(); // learns how high the frame is
    drawing = {};
    drawFrame(height);
    y = 0;
    drawInside();
    return drawing.finish(height + 14, nest.kernel + ": " + kernel.walk);
  }

private:
  // The frame is x = 4 to 364, with what shows that there are many of it below and to the right.
  static constexpr double left = 16, right = 352, columnLeft = 146;
  static constexpr Box wide{left, 0, right - left, rowHeight};

  void drawFrame(double height) {
    if (!nest.grid.empty() || !nest.row.empty())
      for (double shift : {10.0, 5.0})
        drawing.rect({4 + shift, 2 + shift, 360, height}, "frame", 8);
    drawing.rect({4, 2, 360, height}, "frame", 8);
  }

  double drawInside() {
    y = 22;
    drawing.label(left, y, shortened(placeText(), 56));
    y += 12;
    if (nest.stream.empty())
      drawElements();
    else
      drawStream();
    drawStores();
    return y + 8;
  }

  std::string placeText() const {
    std::string text;
    if (!nest.grid.empty())
      text = fmt::format("for every ({})", dimsText(nest.grid));
    if (!nest.row.empty())
      text += fmt::format("{} every tile of rows of {}", text.empty() ? "for" : " and",
                          dimsText(nest.row));
    return text.empty() ? "once" : text;
  }

  /// A box as wide as the frame, at the present height.
  void wideBox(const std::string &kind, const std::string &text) {
    Box box = wide;
    box.y = y;
    drawing.codeBox(box, kind, text);
    y += rowHeight + gap;
  }

  void arrowDown(double x) {
    y -= gap - 2;
    drawing.arrow({{x, y}, {x, y + arrowLength}});
    y += arrowLength + 4;
  }

  void drawElements() {
    for (const TensorFacts &tensor : kernel.resident)
      wideBox("resident", declarationText(tensor));
    if (!kernel.resident.empty())
      arrowDown(wide.x + wide.width / 2);
    wideBox("visited", "every element on its own");
  }

  //===--- row x stream ----------------------------------------------------------------------===//

  void drawStream() {
    drawing.label(left, y + 14, "streamed along " + shortened(dimsText(nest.stream), 6));
    for (const TensorFacts &tensor : kernel.streamed) {
      drawing.codeBox({columnLeft, y, right - columnLeft, rowHeight}, "streamed",
                      declarationText(tensor));
      y += rowHeight + gap;
    }
    if (kernel.streamed.empty())
      y += rowHeight + gap;
    else
      arrowDown((columnLeft + right) / 2);
    double top = y, bottom = std::max(drawResident(top), drawPlane(top));
    y = bottom + gap;
    if (!nest.states.empty()) {
      arrowDown((columnLeft + right) / 2);
      drawing.label(left, y - 8, nest.row.empty() ? "kept" : "kept for each row");
      for (const std::string &state : nest.states)
        wideBox("state", state);
    }
  }

  double drawResident(double top) {
    constexpr double boxWidth = 112, boxHeight = 36;
    if (kernel.resident.empty())
      return top;
    drawing.label(left, top + 8, "resident");
    double at = top + 14;
    for (const TensorFacts &tensor : kernel.resident) {
      drawing.rect({left, at, boxWidth, boxHeight}, "resident");
      drawing.code(left + 5, at + 15, boxWidth - 8, tensor.tensor->name, "strong");
      drawing.code(left + 5, at + 29, boxWidth - 8, tensor.type, "small");
      at += boxHeight + gap;
    }
    double from = top + 14 + boxHeight / 2;
    drawing.arrow({{left + boxWidth, from}, {columnLeft - 2, from}});
    return at;
  }

  /// The part of row x stream that is visited, a tile of rows in it, and the step that it is at.
  double drawPlane(double top) {
    constexpr double fullHeight = 96, scale = 1.0 / 12;
    bool rows = !nest.row.empty();
    Box plane{columnLeft, top, right - columnLeft, rows ? fullHeight : 2 * rowHeight};
    drawing.rect(plane, "plane", 0);
    std::vector<driver::VisitedPart> parts = nest.work.parts;
    if (parts.empty())
      parts = {{0, 1}};
    double height = plane.height / static_cast<double>(parts.size());
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].hi > parts[i].lo)
        drawing.rect({plane.x + parts[i].lo * plane.width,
                      plane.y + static_cast<double>(i) * height,
                      (parts[i].hi - parts[i].lo) * plane.width, height},
                     "visited", 0);
    drawTile(plane, parts, rows ? 2 * scale : 1);
    double bottom = plane.bottom() + 13;
    drawing.label(right, bottom, shortened(dimsText(nest.stream), 12) + " →", "end");
    if (rows)
      drawing.label(columnLeft, bottom, shortened(dimsText(nest.row), 12) + " ↓");
    return bottom;
  }

  /// A tile of rows: the first one from two thirds down that visits anything.
  void drawTile(const Box &plane, const std::vector<driver::VisitedPart> &parts, double share) {
    size_t at = parts.size() * 2 / 3;
    while (at < parts.size() && parts[at].hi <= parts[at].lo)
      ++at;
    if (at == parts.size())
      return;
    double height = plane.height * share;
    double y = share == 1 ? plane.y : plane.y + plane.height * 2 / 3;
    if (parts.size() > 1)
      y = plane.y + plane.height * static_cast<double>(at) / static_cast<double>(parts.size());
    height = std::min(height, plane.bottom() - y);
    Box tile{plane.x + parts[at].lo * plane.width, y, (parts[at].hi - parts[at].lo) * plane.width,
             height};
    drawing.rect(tile, "tile", 0);
    Box step{tile.x + tile.width * 0.3, y, std::min(tile.width * 0.3, 24.0), height};
    drawing.rect(step, "step", 0);
    if (tile.right() - step.right() > 12)
      drawing.arrow({{step.right() + 2, y + height / 2}, {tile.right() - 2, y + height / 2}});
  }

  void drawStores() {
    arrowDown(wide.x + wide.width / 2);
    for (const TensorFacts &tensor : kernel.stores)
      wideBox(tensor.intermediate ? "between" : "stored",
              declarationText(tensor) + (tensor.intermediate ? " for other kernels" : ""));
  }

  const KernelFacts &kernel;
  const NestReport &nest;
  Drawing drawing;
  double y = 0;
};

/// Kernels from top to bottom, what they leave for others below them, and lines at the right that
/// lead there.
class FlowDrawing {
public:
  explicit FlowDrawing(const Explanation &explanation) : explanation(explanation) {}

  Markup draw() {
    for (const KernelFacts &kernel : explanation.kernels)
      drawKernel(kernel);
    return drawing.finish(y, "The kernels in order, and what goes from one to another");
  }

private:
  static constexpr double left = 6, right = 316, lineHeight = 16, margin = 6;

  /// A tensor on its way, from which a line starts at the right.
  struct Waiting {
    const TensorDecl *tensor;
    double y, lane;
  };

  static std::vector<std::string> namesOf(const std::vector<TensorFacts> &tensors, bool between) {
    std::vector<std::string> names;
    for (const TensorFacts &tensor : tensors)
      if (tensor.intermediate == between)
        names.push_back(tensor.tensor->name);
    return names;
  }

  void drawKernel(const KernelFacts &kernel) {
    std::vector<TensorFacts> reads = kernel.streamed;
    reads.insert(reads.end(), kernel.resident.begin(), kernel.resident.end());
    std::vector<std::string> inputs = namesOf(reads, false),
                             outputs = namesOf(kernel.stores, false);
    double lines = 1 + !inputs.empty() + !outputs.empty();
    Box box{left, y + 4, right - left, lines * lineHeight + 2 * margin};
    drawing.rect(box, "visited", 6);
    double at = box.y + lineHeight;
    auto line = [&](const std::string &text, const std::string &kind) {
      drawing.code(box.x + 8, at, box.width - 16, text, kind);
      at += lineHeight;
    };
    line(kernel.nest->kernel, "strong");
    if (!inputs.empty())
      line("reads " + dimsText(inputs), "");
    if (!outputs.empty())
      line("gives " + dimsText(outputs), "");
    drawArrivals(reads, box);
    y = box.bottom();
    for (const TensorFacts &tensor : kernel.stores)
      if (tensor.intermediate)
        drawWaiting(tensor, box.bottom());
    y += 10;
  }

  void drawArrivals(const std::vector<TensorFacts> &reads, const Box &box) {
    double at = box.y + 8;
    for (const Waiting &waiting : waits)
      if (llvm::any_of(reads, [&](const TensorFacts &t) { return t.tensor == waiting.tensor; })) {
        drawing.arrow(
            {{right, waiting.y}, {waiting.lane, waiting.y}, {waiting.lane, at}, {right, at}});
        at = std::min(at + 8, box.bottom() - 4);
      }
  }

  void drawWaiting(const TensorFacts &tensor, double from) {
    constexpr double indent = 26;
    Box box{left + indent, y + gap + 3, right - left - indent, rowHeight};
    drawing.codeBox(box, "between", tensor.tensor->name + ": " + sizeText(tensor, ""));
    drawing.arrow({{left + indent / 2, from},
                   {left + indent / 2, box.y + rowHeight / 2},
                   {box.x, box.y + rowHeight / 2}});
    double lane = right + 10 + 9 * static_cast<double>(waits.size() % 6);
    waits.push_back({tensor.tensor, box.y + rowHeight / 2, lane});
    y = box.bottom();
  }

  const Explanation &explanation;
  Drawing drawing;
  std::vector<Waiting> waits;
  double y = 0;
};

} // namespace

Markup nestPicture(const KernelFacts &kernel) { return NestDrawing(kernel).draw(); }

Markup flowPicture(const Explanation &explanation) {
  return explanation.kernels.size() < 2 ? Markup() : FlowDrawing(explanation).draw();
}

} // namespace attnc::cli
