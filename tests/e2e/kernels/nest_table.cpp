#include "tests/e2e/kernels/nest_table.h"
#include "compiler/driver/compile.h"
#include "compiler/explain/facts.h"
#include "kernels_spec/library.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/attnc/input/shape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnc::e2e {

// Generated from tests/golden by cmake/embed.py.
namespace golden {
std::vector<std::pair<std::string_view, std::string_view>> files();
} // namespace golden

using Json = nlohmann::ordered_json;

static const std::vector<std::string> kTargets = {"sm_80", "sm_90a"};

bool NestRow::sameAs(const NestRow &other) const {
  return name == other.name && states == other.states && recomputed == other.recomputed &&
         materialised == other.materialised;
}

/// The row of a kernel on `target`.
static NestRow rowOf(const KernelFacts &kernel, const std::string &target) {
  NestRow row;
  row.name = kernel.nest->kernel;
  row.forms[target] = kernel.nest->form;
  row.states = kernel.nest->states;
  for (const derivation::Step &step : kernel.nest->derivation)
    if (step.rule == derivation::Rule::Recomputed)
      row.recomputed.push_back(step.fold);
  for (const TensorFacts &tensor : kernel.stores)
    if (tensor.intermediate)
      row.materialised[tensor.tensor->name] = tensor.bytes.value_or(-1);
  return row;
}

/// Adds the nests of one more target: a nest that is there gets the form, others follow.
static void merge(SpecRow &spec, const NestRow &row) {
  auto known = llvm::find_if(spec.nests, [&](const NestRow &nest) { return nest.sameAs(row); });
  if (known == spec.nests.end())
    spec.nests.push_back(row);
  else
    known->forms.insert(row.forms.begin(), row.forms.end());
}

Result<SpecRow> nestsOf(const std::string &name) {
  SpecRow row;
  for (const std::string &target : kTargets) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    driver::loadDialects(context);
    Diagnostics diagnostics;
    std::optional<Spec> spec = parseSpec(context, name + ".json", findInLibrary(name)->text, {},
                                         diagnostics, libraryBases());
    if (!spec)
      return invalidArgument(name + " has errors");
    driver::CompileOptions options;
    options.target = target;
    options.upTo = driver::Stage::Tile;
    options.extents = cli::resolveExtents(*spec, {}, {});
    Result<driver::Compilation> compilation = driver::compile(*spec, options);
    if (!compilation)
      return compilation.error();
    row.shape = shapeText(options.extents);
    Explanation facts = explain(*compilation, spec->doc, options.extents);
    for (const KernelFacts &kernel : facts.kernels)
      merge(row, rowOf(kernel, target));
  }
  return row;
}

/// The lines of a spec in the file, without the braces around it; one line for each thing that can
/// change.
static std::vector<std::string> linesOf(const SpecRow &spec) {
  std::vector<std::string> lines = {fmt::format("    \"shape\": {},", Json(spec.shape).dump()),
                                    "    \"nests\": ["};
  for (const NestRow &nest : spec.nests) {
    lines.push_back(fmt::format("      {{\"nest\": {}, \"forms\": {},", Json(nest.name).dump(),
                                Json(nest.forms).dump()));
    lines.push_back("       \"states\": [");
    for (const std::string &state : nest.states)
      lines.push_back(fmt::format("         {}{}", Json(state).dump(),
                                  &state == &nest.states.back() ? "" : ","));
    lines.push_back(fmt::format("       ], \"recomputed\": {}, \"materialised\": {}}}{}",
                                Json(nest.recomputed).dump(), Json(nest.materialised).dump(),
                                &nest == &spec.nests.back() ? "" : ","));
  }
  lines.push_back("    ]");
  return lines;
}

NestTable NestTable::ofRepository() {
  NestTable table;
  for (auto [path, text] : golden::files()) {
    if (std::filesystem::path(path).stem() != "nests")
      continue;
    Json specs = Json::parse(text);
    for (const auto &[spec, json] : specs.items()) {
      SpecRow &row = table.rows[spec];
      row.shape = json.at("shape");
      for (const Json &nest : json.at("nests"))
        row.nests.push_back({nest.at("nest"), nest.at("forms"), nest.at("states"),
                             nest.at("recomputed"), nest.at("materialised")});
    }
  }
  return table;
}

std::vector<std::string> NestTable::differences(const std::string &spec, const SpecRow &row) const {
  auto found = rows.find(spec);
  if (found == rows.end())
    return {"not in the table"};
  std::vector<std::string> before = linesOf(found->second), now = linesOf(row), list;
  if (before == now)
    return list;
  for (const std::string &line : before)
    if (!llvm::is_contained(now, line))
      list.push_back("-" + line);
  for (const std::string &line : now)
    if (!llvm::is_contained(before, line))
      list.push_back("+" + line);
  if (list.empty())
    list.push_back("the same lines in another order or number");
  return list;
}

std::vector<std::string> NestTable::specs() const {
  std::vector<std::string> names;
  for (const auto &[spec, row] : rows)
    names.push_back(spec);
  return names;
}

std::string NestTable::text() const {
  std::vector<std::string> list;
  for (const auto &[spec, row] : rows)
    list.push_back(
        fmt::format("  {}: {{\n{}\n  }}", Json(spec).dump(), llvm::join(linesOf(row), "\n")));
  return fmt::format("{{\n{}\n}}\n", llvm::join(list, ",\n"));
}

} // namespace attnc::e2e
