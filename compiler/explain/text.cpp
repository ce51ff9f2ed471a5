#include "compiler/explain/text.h"

#include <fmt/format.h>

namespace attnc {

namespace {

using driver::NestReport;

std::string heading(const std::string &text, bool isBold) {
  return isBold ? "\033[1m" + text + "\033[0m" : text;
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("    {:<11} {}\n", label, text);
}

std::string kernelText(const KernelFacts &kernel, bool boldNames) {
  std::string text = heading(kernel.nest->kernel, boldNames) + ": " + kernel.walk + "\n";
  for (const Fact &fact : kernel.facts)
    for (size_t i = 0; i < fact.lines.size(); ++i)
      text += line(i == 0 ? fact.label : "", fact.lines[i]);
  return text;
}

std::string rulesText(const Explanation &explanation) {
  std::string text = "By these rules:\n";
  for (const auto &[name, statement] : explanation.rules)
    text += fmt::format("    {:<19}{}\n", name, statement);
  return text;
}

std::string materialisedText(const Explanation &explanation) {
  if (explanation.materialised.empty())
    return "Nothing goes through memory between kernels.\n";
  std::string text = "Through memory between kernels:\n";
  for (const TensorFacts &tensor : explanation.materialised) {
    text += line(tensor.tensor->name, sizeText(tensor, explanation.shape));
    text += line("", whyText(tensor));
  }
  return explanation.budgetText.empty() ? text : text + explanation.budgetText + "\n";
}

std::string savedText(const Explanation &explanation) {
  if (explanation.saved.empty())
    return "Nothing is saved for the backward program.\n";
  std::string text = "Saved for the backward program:\n";
  for (const TensorFacts &tensor : explanation.saved)
    text += line(tensor.tensor->name, sizeText(tensor, explanation.shape));
  return text;
}

std::string recomputedText(const Explanation &explanation) {
  if (explanation.recomputed.empty())
    return "The backward program computes nothing of the forward one again.\n";
  std::string text = "Computed again by the backward program, with the bytes that storing it would "
                     "take:\n";
  for (const RecomputedFacts &facts : explanation.recomputed) {
    text += line(facts.value.tensor->name,
                 (facts.count > 1 ? fmt::format("{} times ", facts.count) : "") +
                     sizeText(facts.value, explanation.shape));
    text += line("", fmt::format("in {}", fmt::join(facts.kernels, ", ")));
  }
  return text;
}

nlohmann::ordered_json tensorsJson(const std::vector<TensorFacts> &tensors) {
  auto list = nlohmann::ordered_json::array();
  for (const TensorFacts &tensor : tensors) {
    nlohmann::ordered_json one = {{"name", tensor.tensor->name},
                                  {"dtype", dtypeName(tensor.tensor->dtype)},
                                  {"dims", tensor.tensor->dims}};
    if (tensor.bytes)
      one["bytes"] = *tensor.bytes;
    if (!tensor.tensor->reason.empty())
      one["why"] = tensor.tensor->reason;
    if (!tensor.tensor->place.empty())
      one["place"] = tensor.tensor->place;
    list.push_back(one);
  }
  return list;
}

nlohmann::ordered_json recomputedJson(const Explanation &explanation) {
  auto list = nlohmann::ordered_json::array();
  for (const RecomputedFacts &facts : explanation.recomputed) {
    nlohmann::ordered_json one = tensorsJson({facts.value})[0];
    one["count"] = facts.count;
    one["kernels"] = facts.kernels;
    list.push_back(one);
  }
  return list;
}

nlohmann::ordered_json workJson(const WorkFacts &work) {
  auto json = nlohmann::ordered_json::object();
  if (!work.formula.empty())
    json["products_formula"] = work.formula;
  auto add = [&](const char *key, const auto &value) {
    if (value)
      json[key] = *value;
  };
  add("product_flops", work.products);
  add("special", work.special);
  add("other", work.other);
  add("visited_share", work.visited);
  add("bytes_read", work.read);
  add("bytes_written", work.written);
  return json;
}

nlohmann::ordered_json derivationJson(const NestReport &nest) {
  auto list = nlohmann::ordered_json::array();
  for (const derivation::Step &step : nest.derivation) {
    nlohmann::ordered_json one = {{"rule", derivation::nameOf(step.rule)}};
    if (!step.fold.empty())
      one["fold"] = step.fold;
    if (step.line) {
      one["line"] = step.line;
      one["column"] = step.column;
      if (!step.file.empty())
        one["file"] = step.file;
    }
    one["text"] = derivation::specTextOf(step);
    if (!step.details.empty())
      one["details"] = step.details;
    list.push_back(one);
  }
  return list;
}

nlohmann::ordered_json kernelJson(const KernelFacts &kernel) {
  const NestReport &nest = *kernel.nest;
  nlohmann::ordered_json json = {{"kernel", nest.kernel},
                                 {"launched", nest.launched()},
                                 {"form", nest.form},
                                 {"passed_over", nest.passedOver},
                                 {"grid", nest.grid},
                                 {"row", nest.row},
                                 {"stream", nest.stream},
                                 {"inner", nest.inner},
                                 {"streamed", tensorsJson(kernel.streamed)},
                                 {"resident", tensorsJson(kernel.resident)},
                                 {"gathers", nest.gathers},
                                 {"packs", nest.packs},
                                 {"states", nest.states},
                                 {"derivation", derivationJson(nest)},
                                 {"skips_tiles", nest.skipsTiles},
                                 {"domain", nest.domain},
                                 {"work", workJson(kernel.work)},
                                 {"schedule", nest.schedule},
                                 {"schedule_from", nest.scheduled.source},
                                 {"schedule_report", nest.scheduled.numbers},
                                 {"steps", nest.scheduled.steps},
                                 {"stores", nest.stores},
                                 {"intermediates", nest.intermediates},
                                 {"kept", nest.kept}};
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

std::string explainText(const Explanation &explanation, bool boldNames) {
  const driver::Compilation &compilation = *explanation.compilation;
  std::string text = heading(compilation.name, boldNames) + " for " + compilation.target + "\n";
  if (!explanation.doc.empty())
    text += explanation.doc + "\n";
  text += "\n" + explanation.summary + "\n";
  for (const KernelFacts &kernel : explanation.kernels)
    text += "\n" + kernelText(kernel, boldNames);
  text += "\n" + rulesText(explanation) + "\n" + materialisedText(explanation);
  if (!explanation.copiesText.empty())
    text += explanation.copiesText + "\n";
  if (explanation.backward)
    text += savedText(explanation) + recomputedText(explanation) + "\n" +
            explainText(*explanation.backward, boldNames);
  return text;
}

nlohmann::ordered_json explainJson(const Explanation &explanation) {
  const driver::Compilation &compilation = *explanation.compilation;
  nlohmann::ordered_json json = {{"ok", true},
                                 {"spec", compilation.name},
                                 {"target", compilation.target},
                                 {"seconds", compilation.seconds},
                                 {"nvrtc_seconds", compilation.nvrtcSeconds}};
  for (const KernelFacts &kernel : explanation.kernels)
    json["kernels"].push_back(kernelJson(kernel));
  json["rules"] = nlohmann::ordered_json::object();
  for (const auto &[name, statement] : explanation.rules)
    json["rules"][name] = statement;
  json["total_work"] = workJson(explanation.total);
  json["materialised"] = tensorsJson(explanation.materialised);
  if (explanation.materialisedBytes)
    json["materialised_bytes"] = *explanation.materialisedBytes;
  if (compilation.program.manifest.memoryBudget)
    json["memory_budget"] = *compilation.program.manifest.memoryBudget;
  json["copied_unless_aligned"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < explanation.copies.size(); ++i) {
    const driver::AlignedCopy &copy = compilation.copies.tensors[i];
    nlohmann::ordered_json one = {
        {"tensor", copy.tensor}, {"kernel", copy.kernel.name}, {"align", copy.align}};
    if (explanation.copies[i].bytes)
      one["bytes"] = *explanation.copies[i].bytes;
    json["copied_unless_aligned"].push_back(one);
  }
  if (explanation.backward) {
    json["saved"] = tensorsJson(explanation.saved);
    json["recomputed"] = recomputedJson(explanation);
    json["backward"] = explainJson(*explanation.backward);
  }
  return json;
}

} // namespace attnc
