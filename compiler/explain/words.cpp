#include "compiler/explain/words.h"

#include <fmt/format.h>

namespace attnc {

namespace {

using driver::NestReport;

/// The steps of one fold under its name and place: "o, line 14: rescaled: when p_max moves ...".
std::vector<std::string> derivationLines(const std::vector<derivation::Step> &steps) {
  std::vector<std::string> lines;
  std::string last;
  for (const derivation::Step &step : steps) {
    std::string place = derivation::placeText(step);
    std::string head =
        step.fold.empty() || place.empty() ? step.fold + place : step.fold + ", " + place;
    if (step.fold.empty())
      head = "";
    if (head != last && !head.empty())
      lines.push_back(head);
    last = head;
    lines.push_back(fmt::format("{}{}: {}", head.empty() ? "" : "  ",
                                std::string_view(derivation::nameOf(step.rule)),
                                derivation::specTextOf(step)));
  }
  return lines;
}

std::string resourcesText(const NestReport &nest, const Manifest &manifest) {
  const KernelResources &used = *nest.resources;
  std::string text = fmt::format("{} registers a thread, ", used.registers);
  text += used.spillStores || used.spillLoads ? fmt::format("SPILLS {} bytes stored and {} loaded",
                                                            used.spillStores, used.spillLoads)
                                              : "no spills";
  if (const KernelDecl *kernel = manifest.findKernel(nest.kernel)) {
    Result<int64_t> dynamic = evaluateInteger(kernel->sharedBytes, Scope{});
    text += fmt::format(
        ", {} of shared memory, {} threads a block",
        bytesText(static_cast<double>(used.staticSharedBytes + (dynamic.ok() ? *dynamic : 0))),
        kernel->threads);
  }
  return text;
}

std::string formText(const NestReport &nest) {
  const std::string &how = nest.scheduled.how;
  return nest.form + (how.empty() ? "" : ": " + how);
}

std::vector<std::string> chainLines(const NestReport &nest) {
  std::vector<std::string> lines = {fmt::format(
      "{} computes it with others: a block has one cell, one nest after the other", nest.chain)};
  if (!nest.kept.empty())
    lines.push_back(
        fmt::format("in shared memory, for those after it: {}", fmt::join(nest.kept, ", ")));
  return lines;
}

Fact boundsOf(const NestReport &nest) {
  if (nest.domain.empty())
    return {"mask", {"none that bounds the stream: every tile is visited"}};
  Fact fact{"visits", {nest.domain}};
  if (nest.skipsTiles)
    fact.lines.push_back("tiles outside these bounds change no result: skipped");
  return fact;
}

/// What the mask leaves of the operations that it bounds.
std::string maskText(const NestReport &nest) {
  if (nest.domain.empty() || !nest.skipsTiles)
    return "";
  if (!nest.work.visited)
    return "what the mask leaves out is not known here: counted in full";
  double percent = 100 * (1 - *nest.work.visited);
  return percent < 0.5
             ? ""
             : fmt::format("without the {:.0f} % that are outside the bounds of the mask", percent);
}

Fact workOf(const KernelFacts &kernel, const std::string &shape) {
  const WorkFacts &work = kernel.work;
  Fact fact{"work", {}};
  auto number = [](double count, const char *what) { return countText(count) + what; };
  if (!work.formula.empty())
    fact.lines.push_back(
        (work.products ? number(*work.products, " FLOP in products: ") : "FLOP in products: ") +
        work.formula);
  std::vector<std::string> more;
  if (work.special.value_or(0) > 0)
    more.push_back(number(*work.special, " exponentials and the like"));
  if (work.other.value_or(0) > 0)
    more.push_back(number(*work.other, " other operations"));
  if (!more.empty())
    fact.lines.push_back(fmt::format("{}", fmt::join(more, ", ")));
  if (fact.lines.empty())
    return fact;
  if (std::string text = maskText(*kernel.nest); !text.empty() && !shape.empty())
    fact.lines.push_back(text);
  if (!shape.empty())
    fact.lines.back() += ", at " + shape;
  return fact;
}

Fact movesOf(const WorkFacts &work) {
  if (!work.read || !work.written)
    return {"moves", {}};
  std::string text = fmt::format("{} read and {} written, each tensor once",
                                 bytesText(static_cast<double>(*work.read)),
                                 bytesText(static_cast<double>(*work.written)));
  if (std::optional<double> ratio = work.flopsPerByte())
    text += fmt::format(": {:.1f} FLOP a byte", *ratio);
  return {"moves", {text}};
}

std::vector<std::string> declarations(const std::vector<TensorFacts> &tensors) {
  std::vector<std::string> texts;
  for (const TensorFacts &tensor : tensors)
    texts.push_back(declarationText(tensor));
  return texts;
}

} // namespace

std::string walkText(const NestReport &nest) {
  std::string text;
  if (nest.stream.empty())
    text = "every element on its own";
  else
    text = fmt::format("one pass over {}", fmt::join(nest.stream, ", "));
  if (!nest.row.empty())
    text += fmt::format(" for each tile of rows of {}", fmt::join(nest.row, ", "));
  if (!nest.grid.empty())
    text += fmt::format(", every ({}) in parallel", fmt::join(nest.grid, ", "));
  return text;
}

std::vector<Fact> factsOf(const KernelFacts &kernel, const Manifest &manifest,
                          const std::string &shape) {
  const NestReport &nest = *kernel.nest;
  std::vector<Fact> facts;
  auto add = [&](Fact fact) {
    if (!fact.lines.empty())
      facts.push_back(std::move(fact));
  };
  add({"writes", {fmt::format("{}", fmt::join(nest.stores, ", "))}});
  add({"packs", nest.packs});
  add({"streamed", declarations(kernel.streamed)});
  add({nest.stream.empty() ? "reads" : "resident", declarations(kernel.resident)});
  add({"gathers", nest.gathers});
  add({"keeps", nest.states});
  add({"derived", derivationLines(nest.derivation)});
  if (!nest.stream.empty())
    add(boundsOf(nest));
  add(workOf(kernel, shape));
  add(movesOf(kernel.work));
  if (!nest.chain.empty())
    add({"chain", chainLines(nest)});
  add({"form", {formText(nest)}});
  add({"passed over", nest.passedOver});
  if (!nest.schedule.empty()) {
    add({"schedule", {nest.schedule, "from: " + nest.scheduled.source}});
    add({"roles", nest.scheduled.roles});
    add({"stages", nest.scheduled.stages});
    add({"steps", nest.scheduled.steps});
    if (!nest.scheduled.occupancy.empty())
      add({"occupancy", {nest.scheduled.occupancy}});
    add({"roofline", nest.scheduled.roofline});
  }
  if (nest.resources)
    add({"needs", {resourcesText(nest, manifest)}});
  add({"ptxas says", nest.ptxasNotes});
  return facts;
}

} // namespace attnc
