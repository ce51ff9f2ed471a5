#include "tools/attnc/page/html_page.h"
#include "tools/attnc/page/explain_changes.h"
#include "tools/attnc/page/html_diagram.h"
#include "tools/attnc/page/html_writer.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli::page {
// Embedded (CMakeLists.txt).
std::vector<std::pair<std::string_view, std::string_view>> files();
} // namespace attnc::cli::page

namespace attnc::cli {

namespace {

using driver::Compilation;
using driver::NestReport;

Markup section(const std::string &id, const char *title, const Markup &content) {
  return element("section", {{"id", id}}, element("h2", title) + content);
}

Markup paragraph(const std::string &text, const char *kind = "") {
  return text.empty() ? Markup() : element("p", {{"class", kind}}, Markup(text));
}

/// Text in which names stand between backquotes.
Markup withNames(std::string_view text) {
  Markup result;
  for (size_t open; (open = text.find('`')) != text.npos;) {
    size_t close = text.find('`', open + 1);
    if (close == text.npos)
      break;
    result += Markup(text.substr(0, open)) +
              element("code", Markup(text.substr(open + 1, close - open - 1)));
    text.remove_prefix(close + 1);
  }
  return result + Markup(text);
}

Markup folded(const Markup &summary, const Markup &content, bool open = false) {
  return element("details", {{"open", open ? "open" : ""}}, element("summary", summary) + content);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Markup codeBlock(const Markup &lines, const char *kind) {
  return element("pre", {{"class", kind}, {"tabindex", "0"}}, element("code", lines));
}

/// A line of code; the style sheet numbers or marks it.
Markup codeLine(std::string_view text, const char *kind, const std::string &id = "") {
  return element("span", {{"class", kind}, {"id", id}}, Markup(text) + Markup("\n"));
}

Markup numberedCode(std::string_view text, const std::string &idPrefix = "") {
  Markup lines;
  size_t number = 0;
  for (std::string_view line : splitLines(text)) {
    ++number;
    lines += codeLine(line, "line", idPrefix.empty() ? "" : idPrefix + std::to_string(number));
  }
  return codeBlock(lines, "numbered");
}

Markup comparedCode(const Comparison &comparison) {
  Markup lines;
  for (const ComparedLine &line : comparison.lines)
    lines += codeLine(line.text, line.change == ComparedLine::Added     ? "line added"
                                 : line.change == ComparedLine::Removed ? "line removed"
                                                                        : "line");
  return codeBlock(lines, "compared");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Labels that the page shows in another way, or in the summary.
bool isShownElsewhere(const Fact &fact, const NestReport &nest) {
  return std::string_view(fact.label) == "roofline" && nest.scheduled.numbers.contains("bounds");
}

Markup factList(const KernelFacts &kernel) {
  Markup list;
  for (const Fact &fact : kernel.facts) {
    if (isShownElsewhere(fact, *kernel.nest))
      continue;
    list += element("dt", fact.label);
    for (const std::string &line : fact.lines)
      list += line.starts_with("  ") ? element("dd", {{"class", "step"}}, withNames(line.substr(2)))
                                     : element("dd", withNames(line));
  }
  return element("dl", list);
}

/// Bars of the bounds of a tile step, and what is said beside them.
Markup rooflineOf(const NestReport &nest) {
  const nlohmann::ordered_json &numbers = nest.scheduled.numbers;
  if (!numbers.contains("bounds"))
    return {};
  Markup before, after, bars;
  double largest = numbers.at("predicted").at("clocks").get<double>();
  std::string limit = numbers.at("predicted").at("limit");
  for (const auto &[name, clocks] : numbers.at("bounds").items())
    largest = std::max(largest, clocks.get<double>());
  auto addBar = [&](const std::string &name, double clocks, const char *kind) {
    Markup bar = element(
        "span", {{"class", kind}, {"style", fmt::format("width:{:.1f}%", 100 * clocks / largest)}});
    bars += element("tr", element("th", {{"scope", "row"}}, Markup(name)) +
                              element("td", {{"class", "number"}}, Markup(countText(clocks))) +
                              element("td", {{"class", "bars"}}, bar));
  };
  for (const auto &[name, clocks] : numbers.at("bounds").items())
    if (clocks.get<double>() > 0)
      addBar(name, clocks.get<double>(), name == limit ? "bar limit" : "bar");
  addBar("predicted", numbers.at("predicted").at("clocks").get<double>(), "bar predicted");
  // The first line is of the work, then each bound has one, and the last ones sum it up.
  const std::vector<std::string> &lines = nest.scheduled.roofline;
  for (const std::string &line : lines) {
    bool ofBound =
        std::any_of(numbers.at("bounds").items().begin(), numbers.at("bounds").items().end(),
                    [&](const auto &bound) { return line.ends_with("clocks: " + bound.key()); });
    if (!ofBound)
      (&line == &lines.front() ? before : after) += paragraph(line);
  }
  return element("h4", "Clocks of a tile step, by what bounds them") + before +
         element("table", {{"class", "chart"}}, bars) + after;
}

Markup legend(const KernelFacts &kernel) {
  Markup items;
  auto add = [&](bool shown, const char *kind, const char *text) {
    if (shown)
      items += element("li", {{"class", kind}}, Markup(text));
  };
  bool streams = !kernel.nest->stream.empty();
  auto stores = [&](bool between) {
    return std::any_of(kernel.stores.begin(), kernel.stores.end(),
                       [&](const TensorFacts &t) { return t.intermediate == between; });
  };
  add(!kernel.streamed.empty(), "streamed", "streamed: passes by, tile after tile");
  add(!kernel.resident.empty(), "resident",
      streams ? "resident: read once for a tile of rows" : "read");
  add(streams, "visited", "visited");
  add(streams && !kernel.nest->row.empty(), "tile", "a tile of rows, and the step it is at");
  add(!kernel.nest->states.empty(), "state", "kept while the stream passes");
  add(stores(true), "between", "stored for other kernels");
  add(stores(false), "stored", "stored: a result");
  return element("ul", {{"class", "legend"}}, items);
}

Markup rolesTable(const NestReport &nest) {
  Markup rows;
  auto add = [&](const char *role, const std::vector<std::string> &dims, const char *meaning) {
    if (!dims.empty())
      rows += element("tr", element("th", {{"scope", "row"}}, Markup(role)) +
                                element("td", {{"class", "dims"}},
                                        Markup(fmt::format("{}", fmt::join(dims, ", ")))) +
                                element("td", meaning));
  };
  add("grid", nest.grid, "each index on its own, in parallel");
  add("row", nest.row, "tiled: a block of threads has some");
  add("stream", nest.stream, "folded tile by tile, in order");
  add("inner", nest.inner, "whole inside a tile");
  return rows.empty() ? Markup() : element("table", {{"class", "roles"}}, rows);
}

Markup kernelArticle(const KernelFacts &kernel, size_t index) {
  return element(
      "article", {{"id", fmt::format("kernel-{}", index + 1)}},
      element("h3", element("code", kernel.nest->kernel)) + paragraph(kernel.walk + ".") +
          element("div", {{"class", "beside"}},
                  element("figure", nestPicture(kernel) + legend(kernel)) +
                      element("div", rolesTable(*kernel.nest) + rooflineOf(*kernel.nest))) +
          factList(kernel));
}

Markup kernels(const Explanation &explanation) {
  Markup content = paragraph(explanation.summary);
  if (Markup flow = flowPicture(explanation); !flow.empty())
    content += element("figure", flow);
  for (size_t i = 0; i < explanation.kernels.size(); ++i)
    content += kernelArticle(explanation.kernels[i], i);
  Markup rules;
  for (const auto &[name, statement] : explanation.rules)
    rules += element("dt", Markup(name)) + element("dd", Markup(statement));
  content += element("h3", "The rules by which they were derived") + element("dl", rules);
  return section("kernels", "Kernels", content);
}

//===----------------------------------------------------------------------===//
// Work and memory
//===----------------------------------------------------------------------===//

using Text = std::string (*)(double);

std::string orUnknown(const std::optional<double> &value, Text text) {
  return value ? text(*value) : "not known";
}

std::optional<double> asReal(const std::optional<int64_t> &value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::string shareText(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string ratioText(double ratio) { return fmt::format("{:.1f}", ratio); }

/// One quantity of all kernels, and of all together where that means something.
struct Quantity {
  const char *name;
  std::vector<std::string> values;
};

Quantity quantity(const Explanation &explanation, const char *name, Text text,
                  std::optional<double> (*of)(const WorkFacts &), bool adds = true) {
  Quantity result{name, {}};
  for (const KernelFacts &kernel : explanation.kernels)
    result.values.push_back(orUnknown(of(kernel.work), text));
  if (explanation.kernels.size() > 1)
    result.values.push_back(adds ? orUnknown(of(explanation.total), text) : "");
  return result;
}

std::vector<Quantity> quantities(const Explanation &explanation) {
  auto add = [&](const char *name, Text text, std::optional<double> (*of)(const WorkFacts &),
                 bool adds = true) { return quantity(explanation, name, text, of, adds); };
  return {
      add("FLOP in products", countText, [](const WorkFacts &w) { return w.products; }),
      add("exponentials and the like", countText, [](const WorkFacts &w) { return w.special; }),
      add("other operations", countText, [](const WorkFacts &w) { return w.other; }),
      add(
          "part that the mask leaves", shareText, [](const WorkFacts &w) { return w.visited; },
          false),
      add("bytes read", bytesText, [](const WorkFacts &w) { return asReal(w.read); }),
      add("bytes written", bytesText, [](const WorkFacts &w) { return asReal(w.written); }),
      add("FLOP a byte", ratioText, [](const WorkFacts &w) { return w.flopsPerByte(); }),
  };
}

Markup headings(const std::vector<Markup> &names) {
  Markup row = element("td", "");
  for (const Markup &name : names)
    row += element("th", {{"scope", "col"}}, name);
  return element("tr", row);
}

Markup tableRow(const Markup &name, const std::vector<std::string> &values) {
  Markup row = element("th", {{"scope", "row"}}, name);
  for (const std::string &value : values)
    row += element("td", {{"class", "number"}}, Markup(value));
  return element("tr", row);
}

/// Kernels are columns, or rows where there are many.
Markup workTable(const Explanation &explanation) {
  std::vector<Quantity> all = quantities(explanation);
  std::vector<Markup> kernels, names;
  for (const KernelFacts &kernel : explanation.kernels)
    kernels.push_back(element("code", kernel.nest->kernel));
  if (kernels.size() > 1)
    kernels.push_back("all");
  Markup rows;
  if (explanation.kernels.size() <= 2) {
    rows = headings(kernels);
    for (const Quantity &one : all)
      rows += tableRow(one.name, one.values);
  } else {
    for (const Quantity &one : all)
      names.push_back(one.name);
    rows = headings(names);
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::vector<std::string> values;
      for (const Quantity &one : all)
        values.push_back(one.values[i]);
      rows += tableRow(kernels[i], values);
    }
  }
  return element("div", {{"class", "scrolls"}, {"tabindex", "0"}},
                 element("table", {{"class", "work"}}, rows));
}

Markup between(const Explanation &explanation) {
  if (explanation.materialised.empty())
    return paragraph("Nothing goes through memory between kernels.");
  Markup list;
  for (const TensorFacts &tensor : explanation.materialised)
    list += element("dt", element("code", tensor.tensor->name)) +
            element("dd", sizeText(tensor, explanation.shape) + ". " + whyText(tensor));
  return paragraph("Through memory between kernels:") + element("dl", list) +
         paragraph(explanation.budgetText);
}

Markup work(const Explanation &explanation) {
  Markup content = paragraph(explanation.shape.empty()
                                 ? "The spec has no reference shape: give one with --shape."
                                 : "At " + explanation.shape + ".");
  content += workTable(explanation);
  content +=
      paragraph("A value counts once for every element that it has; comparisons, choices and "
                "integers do not count. Each tensor counts once, however often its tiles "
                "are read from a cache.",
                "note");
  return section("work", "Work and memory",
                 content + between(explanation) + paragraph(explanation.copiesText));
}

//===----------------------------------------------------------------------===//
// IR and code
//===----------------------------------------------------------------------===//

Markup passSummary(const std::string &name, const std::string &what, const std::string &changes) {
  return element("b", name) + Markup(": " + what + " ") +
         (changes.empty() ? Markup()
                          : element("span", {{"class", "changes"}}, Markup("(" + changes + ")")));
}

std::string changesText(const Comparison &comparison) {
  if (comparison.rewritten)
    return "all of it is new";
  if (comparison.added + comparison.removed == 0)
    return "nothing changed";
  return fmt::format("{} {} more, {} gone", comparison.added,
                     comparison.added == 1 ? "line" : "lines", comparison.removed);
}

Markup passes(const Compilation &compilation) {
  Markup content = paragraph(
      "Lines that a pass added are marked with +, those it removed with −, indentation and "
      "the numbers of values aside.",
      "note");
  content += folded(passSummary("attn", "what the spec says", ""),
                    codeBlock(Markup(compilation.attn), "plain"));
  const std::string *before = &compilation.attn;
  for (const driver::PassRecord &pass : compilation.passes) {
    Comparison comparison = compareLines(*before, pass.ir);
    content += folded(passSummary(pass.name, pass.summary, changesText(comparison)),
                      comparedCode(comparison));
    before = &pass.ir;
  }
  return section("passes", "Pass by pass", content);
}

Markup generated(const Compilation &compilation) {
  Markup content;
  for (const NestReport &nest : compilation.nests)
    if (!nest.source.empty())
      content += folded(element("b", nest.launched() + ".cu"), numberedCode(nest.source));
  if (content.empty())
    content = paragraph("The kernels are compiled by LLVM for this processor; "
                        "attnc compile --emit llvm prints them.");
  return section("code", "Generated code", content);
}

//===----------------------------------------------------------------------===//
// The page
//===----------------------------------------------------------------------===//

Markup spec(const SpecSource &source) {
  return section("spec", "Spec",
                 paragraph(source.fileName, "note") + numberedCode(source.text, "line-"));
}

Markup contents() {
  Markup list;
  for (auto [id, title] : {std::pair("spec", "Spec"),
                           {"kernels", "Kernels"},
                           {"work", "Work and memory"},
                           {"passes", "Pass by pass"},
                           {"code", "Generated code"}})
    list += element("a", {{"href", std::string("#") + id}}, Markup(title));
  return element("nav", {{"aria-label", "Contents"}}, list);
}

Markup head(const Compilation &compilation) {
  Markup content = element("meta", {{"charset", "utf-8"}}, {});
  content +=
      element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  content += element("meta", {{"http-equiv", "Content-Security-Policy"},
                              {"content", "default-src 'none'; style-src 'unsafe-inline'"}});
  content += element("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  content += element("title", compilation.name + " for " + compilation.target);
  return element("head", content + styleSheet(page::files().front().second));
}

} // namespace

std::string explainHtml(const Explanation &explanation, const SpecSource &source) {
  const Compilation &compilation = *explanation.compilation;
  Markup title = element("h1", compilation.name) +
                 paragraph("compiled for " + compilation.target, "target") +
                 paragraph(explanation.doc);
  Markup body = element("header", title + contents()) +
                element("main", spec(source) + kernels(explanation) + work(explanation) +
                                    passes(compilation) + generated(compilation)) +
                element("footer", paragraph("Written by attnc " ATTNC_VERSION "."));
  Markup page = element("html", {{"lang", "en"}}, head(compilation) + element("body", body));
  return "<!DOCTYPE html>\n" + page.str() + "\n";
}

} // namespace attnc::cli
