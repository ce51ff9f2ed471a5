#include "tools/attnc/explain_text.h"
#include "tools/attnc/shape.h"
#include "tools/attnc/terminal.h"

#include "runtime/program/bind.h"
#include "runtime/program/disjoint.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using driver::Compilation;
using driver::NestReport;

std::string bold(const std::string &text) { return styled(text, Style::Bold, colourOnStdout()); }

std::string line(const char *label, const std::string &text) {
  return fmt::format("    {:<12}{}\n", label, text);
}

std::string list(const char *label, const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += line(text.empty() ? label : "", item);
  return text;
}

std::string bytesText(double bytes) {
  const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit ? 1 : 0, units[unit]);
}

/// Bytes of an intermediate; nothing if its sizes cannot be computed.
std::optional<int64_t> bytesOf(const TensorDecl &tensor, const Manifest &manifest,
                               const std::map<std::string, int64_t> &extents) {
  Scope scope;
  scope.sizes = extents;
  for (const DimDecl &dim : manifest.dims)
    if (dim.extent)
      if (Result<int64_t> extent = evaluateInteger(*dim.extent, scope); extent.ok())
        scope.sizes[dim.name] = *extent;
  for (const std::string &dim : tensor.dims)
    if (!scope.sizes.contains(dim))
      return std::nullopt;
  Result<TensorRef> placed = intermediateAt(nullptr, tensor, scope);
  return placed ? spanBytes(*placed) : std::nullopt;
}

std::string shapeOfTensor(const TensorDecl &tensor) {
  return fmt::format("{}[{}]", dtypeName(tensor.dtype), fmt::join(tensor.dims, ", "));
}

/// How the nest walks its dims, as a sentence.
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

std::string resourcesText(const NestReport &nest, const Manifest &manifest) {
  const KernelResources &used = *nest.resources;
  std::string text = fmt::format("{} registers a thread, ", used.registers);
  text += used.spillStores || used.spillLoads ? fmt::format("SPILLS {} bytes stored and {} loaded",
                                                            used.spillStores, used.spillLoads)
                                              : "no spills";
  if (const KernelDecl *kernel = manifest.findKernel(nest.kernel)) {
    Result<int64_t> dynamic = evaluateInteger(kernel->sharedBytes, Scope{});
    text += fmt::format(", {} of shared memory, {} threads a block",
                        bytesText(used.staticSharedBytes + (dynamic.ok() ? *dynamic : 0)),
                        kernel->threads);
  }
  return text;
}

/// The tensors that the nest's kernel reads.
std::vector<const TensorDecl *> readBy(const NestReport &nest, const Manifest &manifest) {
  std::vector<const TensorDecl *> tensors;
  if (manifest.variants.empty())
    return tensors;
  for (const LaunchDecl &launch : manifest.variants.front().launches)
    for (const ArgDecl &arg : launch.args) {
      bool reads = arg.kind == ArgKind::Pointer || arg.kind == ArgKind::TensorMap;
      const TensorDecl *tensor = reads ? manifest.findTensor(arg.name) : nullptr;
      if (launch.kernel == nest.kernel && tensor &&
          !llvm::is_contained(nest.stores, tensor->name) && !llvm::is_contained(tensors, tensor))
        tensors.push_back(tensor);
    }
  return tensors;
}

/// A tensor is known by the dims it has: those along the stream pass by tile by tile, the others
/// are read once for each tile of rows.
std::string placesText(const NestReport &nest, const Manifest &manifest) {
  auto sharesDim = [](const TensorDecl &tensor, const std::vector<std::string> &dims) {
    return llvm::any_of(tensor.dims,
                        [&](const std::string &dim) { return llvm::is_contained(dims, dim); });
  };
  std::vector<std::string> streamed, resident;
  for (const TensorDecl *tensor : readBy(nest, manifest)) {
    std::string text = tensor->name + ": " + shapeOfTensor(*tensor);
    (sharesDim(*tensor, nest.stream) ? streamed : resident).push_back(text);
  }
  return list("streamed", streamed) + list(nest.stream.empty() ? "reads" : "resident", resident);
}

std::string formText(const NestReport &nest) {
  if (nest.form == "cpu")
    return "loops over tiles, compiled by LLVM for this processor";
  return nest.form + (nest.whyGeneric.empty() ? "" : ": " + nest.whyGeneric);
}

std::string skippedText(const NestReport &nest) {
  if (nest.stream.empty())
    return "";
  if (nest.domain.empty())
    return line("mask", "none that bounds the stream: every tile is visited");
  std::string text = line("visits", nest.domain);
  if (nest.skipsTiles)
    text += line("", "tiles outside these bounds would leave every state as it is: skipped");
  return text;
}

std::string scheduleText(const driver::ScheduleReport &report) {
  std::string text = line("", "from: " + report.source);
  text += list("roles", report.roles) + list("stages", report.stages);
  if (!report.occupancy.empty())
    text += line("occupancy", report.occupancy);
  return text + list("roofline", report.roofline);
}

std::string nestText(const NestReport &nest, const Manifest &manifest) {
  std::string text = bold(nest.kernel) + ": " + walkText(nest) + "\n";
  text += line("writes", fmt::format("{}", fmt::join(nest.stores, ", ")));
  text += placesText(nest, manifest);
  text += list("keeps", nest.states);
  text += list("fused", nest.notes);
  text += skippedText(nest);
  if (!nest.inner.empty())
    text += line("whole", fmt::format("{}: held in one tile", fmt::join(nest.inner, ", ")));
  text += line("form", formText(nest));
  if (!nest.schedule.empty())
    text += line("schedule", nest.schedule) + scheduleText(nest.scheduled);
  if (nest.resources)
    text += line("needs", resourcesText(nest, manifest));
  text += list("ptxas says", nest.ptxasNotes);
  return text;
}

/// What goes from one nest to another; the stand-ins of tensors that are not aligned are not.
std::vector<const TensorDecl *> materialised(const Compilation &compilation) {
  std::vector<const TensorDecl *> tensors;
  for (const TensorDecl &tensor : compilation.program.manifest.intermediates)
    if (llvm::none_of(compilation.copies.tensors,
                      [&](const driver::AlignedCopy &copy) { return copy.standIn == tensor.name; }))
      tensors.push_back(&tensor);
  return tensors;
}

std::string materialisedText(const Compilation &compilation,
                             const std::map<std::string, int64_t> &extents) {
  std::vector<const TensorDecl *> tensors = materialised(compilation);
  if (tensors.empty())
    return "Nothing goes through memory between kernels.\n";
  std::string text = "Through memory between kernels:\n";
  for (const TensorDecl *tensor : tensors) {
    std::optional<int64_t> bytes = bytesOf(*tensor, compilation.program.manifest, extents);
    text += line(tensor->name.c_str(),
                 shapeOfTensor(*tensor) +
                     (bytes ? ", " + bytesText(*bytes) + " at " + shapeText(extents) : ""));
  }
  return text;
}

/// Bytes of all stand-ins of tensors that are not aligned.
std::optional<int64_t> copiedBytes(const Compilation &compilation,
                                   const std::map<std::string, int64_t> &extents) {
  int64_t sum = 0;
  for (const driver::AlignedCopy &copy : compilation.copies.tensors) {
    const Manifest &manifest = compilation.program.manifest;
    std::optional<int64_t> bytes = bytesOf(*manifest.findTensor(copy.standIn), manifest, extents);
    if (!bytes)
      return std::nullopt;
    sum += *bytes;
  }
  return sum;
}

/// One line on what serves tensors that are not aligned; empty if there is no need.
std::string copiesText(const Compilation &compilation,
                       const std::map<std::string, int64_t> &extents) {
  std::vector<std::string> before, after;
  int64_t align = 0;
  for (const driver::AlignedCopy &copy : compilation.copies.tensors) {
    (copy.isOutput ? after : before).push_back(copy.kernel.name);
    align = std::max(align, copy.align);
  }
  if (align == 0)
    return "";
  std::string text =
      fmt::format("Unless all addresses and strides are multiples of {} bytes, ", align);
  if (!before.empty())
    text += fmt::format("{} {} inputs to aligned rows first", fmt::join(before, ", "),
                        before.size() == 1 ? "copies" : "copy");
  if (!after.empty())
    text += fmt::format("{}{} {} results from aligned rows last", before.empty() ? "" : " and ",
                        fmt::join(after, ", "), after.size() == 1 ? "copies" : "copy");
  if (std::optional<int64_t> bytes = copiedBytes(compilation, extents))
    text += fmt::format(": {} read and written once more at {}",
                        bytesText(static_cast<double>(*bytes)), shapeText(extents));
  return text + ".\n";
}

nlohmann::ordered_json nestJson(const NestReport &nest) {
  nlohmann::ordered_json json = {{"kernel", nest.kernel},
                                 {"form", nest.form},
                                 {"why_generic", nest.whyGeneric},
                                 {"grid", nest.grid},
                                 {"row", nest.row},
                                 {"stream", nest.stream},
                                 {"inner", nest.inner},
                                 {"states", nest.states},
                                 {"notes", nest.notes},
                                 {"skips_tiles", nest.skipsTiles},
                                 {"domain", nest.domain},
                                 {"schedule", nest.schedule},
                                 {"schedule_from", nest.scheduled.source},
                                 {"schedule_report", nest.scheduled.numbers},
                                 {"stores", nest.stores},
                                 {"intermediates", nest.intermediates}};
  if (nest.resources)
    json["resources"] = {{"registers", nest.resources->registers},
                         {"spill_stores", nest.resources->spillStores},
                         {"spill_loads", nest.resources->spillLoads},
                         {"stack_bytes", nest.resources->stackBytes},
                         {"static_shared_bytes", nest.resources->staticSharedBytes}};
  if (!nest.ptxasNotes.empty())
    json["ptxas_notes"] = nest.ptxasNotes;
  return json;
}

} // namespace

std::string explainText(const Compilation &compilation, const std::string &doc,
                        const std::map<std::string, int64_t> &extents) {
  std::string text = bold(compilation.name) + " for " + compilation.target + "\n";
  if (!doc.empty())
    text += doc + "\n";
  size_t count = compilation.nests.size();
  text += count == 1 ? "\nEverything is computed by one kernel.\n"
                     : fmt::format("\n{} kernels, in this order.\n", count);
  for (const NestReport &nest : compilation.nests)
    text += "\n" + nestText(nest, compilation.program.manifest);
  return text + "\n" + materialisedText(compilation, extents) + copiesText(compilation, extents);
}

nlohmann::ordered_json explainJson(const Compilation &compilation,
                                   const std::map<std::string, int64_t> &extents) {
  nlohmann::ordered_json json = {{"ok", true},
                                 {"spec", compilation.name},
                                 {"target", compilation.target},
                                 {"seconds", compilation.seconds},
                                 {"nvrtc_seconds", compilation.nvrtcSeconds}};
  for (const NestReport &nest : compilation.nests)
    json["kernels"].push_back(nestJson(nest));
  json["materialised"] = nlohmann::ordered_json::array();
  const Manifest &manifest = compilation.program.manifest;
  for (const TensorDecl *tensor : materialised(compilation)) {
    nlohmann::ordered_json one = {
        {"name", tensor->name}, {"dtype", dtypeName(tensor->dtype)}, {"dims", tensor->dims}};
    if (std::optional<int64_t> bytes = bytesOf(*tensor, manifest, extents))
      one["bytes"] = *bytes;
    json["materialised"].push_back(one);
  }
  json["copied_unless_aligned"] = nlohmann::ordered_json::array();
  for (const driver::AlignedCopy &copy : compilation.copies.tensors) {
    nlohmann::ordered_json one = {
        {"tensor", copy.tensor}, {"kernel", copy.kernel.name}, {"align", copy.align}};
    if (std::optional<int64_t> bytes =
            bytesOf(*manifest.findTensor(copy.standIn), manifest, extents))
      one["bytes"] = *bytes;
    json["copied_unless_aligned"].push_back(one);
  }
  return json;
}

} // namespace attnc::cli
