#include "compiler/explain/facts.h"
#include "compiler/explain/words.h"

#include "runtime/program/bind.h"
#include "runtime/program/disjoint.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace attnc {

namespace {

using driver::Compilation;
using driver::NestReport;
using driver::WorkTerm;
using Kind = driver::WorkTerm::Kind;

/// Of what goes through memory. Nothing where that of one is not known, or where the sum leaves 64
/// bits.
std::optional<int64_t> sumOfBytes(llvm::ArrayRef<TensorFacts> tensors, int64_t sum) {
  for (const TensorFacts &facts : tensors)
    if (!facts.kept && (!facts.bytes || __builtin_add_overflow(sum, *facts.bytes, &sum)))
      return std::nullopt;
  return sum;
}

/// Gathers what depends on extents.
class Gatherer {
public:
  Gatherer(const Compilation &compilation, const std::map<std::string, int64_t> &extents)
      : compilation(compilation), manifest(compilation.program.manifest) {
    scope.sizes = extents;
    for (const DimDecl &dim : manifest.dims)
      if (dim.extent)
        if (Result<int64_t> extent = evaluateInteger(*dim.extent, scope); extent.ok())
          scope.sizes[dim.name] = *extent;
  }

  std::vector<TensorFacts> saved() const {
    std::vector<TensorFacts> facts;
    for (const SavedValue &value : compilation.saved)
      if (const TensorDecl *decl = compilation.program.manifest.findTensor(value.name))
        facts.push_back(tensor(*decl));
    return facts;
  }

  std::vector<RecomputedFacts> recomputed() const {
    std::vector<RecomputedFacts> facts;
    for (const driver::RecomputedReport &report : compilation.recomputed)
      facts.push_back({tensor(report.value), report.count, report.kernels});
    return facts;
  }

  TensorFacts tensor(const TensorDecl &decl) const {
    bool between = llvm::any_of(manifest.intermediates, [&](const TensorDecl &intermediate) {
      return intermediate.name == decl.name;
    });
    bool kept = llvm::any_of(compilation.nests, [&](const NestReport &nest) {
      return llvm::is_contained(nest.kept, decl.name);
    });
    return {&decl, fmt::format("{}[{}]", dtypeName(decl.dtype), fmt::join(decl.dims, ", ")),
            bytesOf(decl), between && !kept, kept};
  }

  KernelFacts kernel(const NestReport &nest) const {
    KernelFacts facts;
    facts.nest = &nest;
    facts.walk = walkText(nest);
    for (const TensorDecl *read : readBy(nest)) {
      bool streams = llvm::is_contained(nest.streamed, read->name) ||
                     llvm::any_of(read->dims, [&](const std::string &dim) {
                       return llvm::is_contained(nest.stream, dim);
                     });
      (streams ? facts.streamed : facts.resident).push_back(tensor(*read));
    }
    for (const std::string &name : nest.stores)
      if (const TensorDecl *stored = manifest.findTensor(name))
        facts.stores.push_back(tensor(*stored));
    facts.work = work(facts);
    return facts;
  }

  /// What goes from one nest to another. Other variants have intermediates of their own.
  std::vector<TensorFacts> materialised() const {
    std::vector<TensorFacts> tensors;
    for (const TensorDecl &decl : manifest.intermediates)
      if (llvm::any_of(compilation.nests, [&](const NestReport &nest) {
            return llvm::is_contained(nest.intermediates, decl.name);
          }))
        tensors.push_back(tensor(decl));
    return tensors;
  }

  std::vector<TensorFacts> copies() const {
    std::vector<TensorFacts> tensors;
    for (const driver::AlignedCopy &copy : compilation.copies.tensors)
      tensors.push_back(tensor(*manifest.findTensor(copy.standIn)));
    return tensors;
  }

private:
  std::optional<int64_t> bytesOf(const TensorDecl &decl) const {
    for (const std::string &dim : decl.dims)
      if (!scope.sizes.contains(dim))
        return std::nullopt;
    Result<TensorRef> placed = intermediateAt(nullptr, decl, scope);
    Result<int64_t> bytes =
        placed ? intermediateBytes(decl, *placed, scope) : Result<int64_t>(placed.error());
    return bytes ? std::optional(*bytes) : std::nullopt;
  }

  /// The tensors that the nest's kernel reads.
  std::vector<const TensorDecl *> readBy(const NestReport &nest) const {
    std::vector<const TensorDecl *> tensors;
    for (const std::string &name : nest.reads)
      tensors.push_back(manifest.findTensor(name));
    auto variant = llvm::find_if(manifest.variants, [&](const VariantDecl &candidate) {
      return llvm::any_of(candidate.launches,
                          [&](const LaunchDecl &launch) { return launch.kernel == nest.kernel; });
    });
    if (variant == manifest.variants.end())
      return tensors;
    for (const LaunchDecl &launch : variant->launches)
      for (const ArgDecl &arg : launch.args) {
        bool reads = arg.kind == ArgKind::Pointer || arg.kind == ArgKind::TensorMap;
        const TensorDecl *decl = reads ? manifest.findTensor(arg.name) : nullptr;
        if (launch.kernel == nest.kernel && decl && !llvm::is_contained(nest.stores, decl->name) &&
            !llvm::is_contained(tensors, decl))
          tensors.push_back(decl);
      }
    return tensors;
  }

  /// Operations of one kind that the mask leaves; all of them where that is not known.
  std::optional<double> operations(const NestReport &nest, Kind kind) const {
    double sum = 0;
    for (const WorkTerm &term : nest.work.terms) {
      if (term.kind != kind)
        continue;
      double product = static_cast<double>(term.count);
      for (const std::string &dim : term.dims) {
        auto extent = scope.sizes.find(dim);
        if (extent == scope.sizes.end())
          return std::nullopt;
        product *= static_cast<double>(extent->second);
      }
      sum += product * (term.masked ? nest.work.visited.value_or(1) : 1);
    }
    return sum;
  }

  WorkFacts work(const KernelFacts &kernel) const {
    const NestReport &nest = *kernel.nest;
    WorkFacts facts;
    for (const WorkTerm &term : nest.work.terms)
      if (term.kind == Kind::Products)
        facts.formula += fmt::format("{}{}·{}", facts.formula.empty() ? "" : " + ", term.count,
                                     fmt::join(term.dims, "·"));
    facts.products = operations(nest, Kind::Products);
    facts.special = operations(nest, Kind::Special);
    facts.other = operations(nest, Kind::Other);
    facts.visited = nest.work.visited;
    facts.read = sumOfBytes(kernel.streamed, 0);
    if (facts.read)
      facts.read = sumOfBytes(kernel.resident, *facts.read);
    facts.written = sumOfBytes(kernel.stores, 0);
    return facts;
  }

  const Compilation &compilation;
  const Manifest &manifest;
  Scope scope;
};

/// What is not known of one is not known of all.
template <typename T> void addTo(std::optional<T> &sum, const std::optional<T> &one) {
  sum = sum && one ? std::optional(*sum + *one) : std::nullopt;
}

WorkFacts totalOf(const std::vector<KernelFacts> &kernels) {
  WorkFacts total;
  total.products = total.special = total.other = 0;
  total.read = total.written = 0;
  for (const KernelFacts &kernel : kernels) {
    addTo(total.products, kernel.work.products);
    addTo(total.special, kernel.work.special);
    addTo(total.other, kernel.work.other);
    addTo(total.read, kernel.work.read);
    addTo(total.written, kernel.work.written);
  }
  return total;
}

std::string summaryOf(const Compilation &compilation) {
  std::set<std::string> kernels;
  for (const NestReport &nest : compilation.nests)
    kernels.insert(nest.launched());
  size_t nests = compilation.nests.size();
  if (nests == 1)
    return "Everything is computed by one kernel.";
  return kernels.size() == nests
             ? fmt::format("{} kernels, in this order.", nests)
             : fmt::format("{} nests in {}, in this order.", nests,
                           kernels.size() == 1 ? "one kernel"
                                               : fmt::format("{} kernels", kernels.size()));
}

std::string budgetSentence(const Explanation &explanation) {
  std::optional<int64_t> budget = explanation.compilation->program.manifest.memoryBudget;
  if (!budget)
    return "";
  std::string limit = bytesText(static_cast<double>(*budget));
  if (!explanation.materialisedBytes)
    return fmt::format("The memory budget of {} is compared with these when shapes are bound.",
                       limit);
  return fmt::format("{} of the memory budget of {}{}.",
                     bytesText(static_cast<double>(*explanation.materialisedBytes)), limit,
                     *explanation.materialisedBytes <= *budget ? "" : ": this shape is refused");
}

std::string copiesSentence(const Explanation &explanation) {
  std::vector<std::string> before, after;
  int64_t align = 0;
  for (const driver::AlignedCopy &copy : explanation.compilation->copies.tensors) {
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
  std::optional<int64_t> sum = sumOfBytes(explanation.copies, 0);
  return text + (sum ? fmt::format(": {} read and written once more at {}.",
                                   bytesText(static_cast<double>(*sum)), explanation.shape)
                     : ".");
}

} // namespace

std::optional<double> WorkFacts::flops() const {
  return products && special && other ? std::optional(*products + *special + *other) : std::nullopt;
}

std::optional<double> WorkFacts::flopsPerByte() const {
  std::optional<double> count = flops();
  if (!count || !read || !written || *read + *written == 0)
    return std::nullopt;
  return *count / static_cast<double>(*read + *written);
}

/// The rules that were applied, in the order of the enum.
static std::vector<std::pair<std::string, std::string>> rulesOf(const Compilation &compilation) {
  std::vector<std::pair<std::string, std::string>> rules;
  for (derivation::Rule rule : derivation::allRules())
    if (llvm::any_of(compilation.nests, [&](const NestReport &nest) {
          return llvm::any_of(nest.derivation,
                              [&](const derivation::Step &step) { return step.rule == rule; });
        }))
      rules.emplace_back(derivation::nameOf(rule).str(), derivation::statementOf(rule).str());
  return rules;
}

Explanation explain(const Compilation &compilation, const std::string &doc,
                    const std::map<std::string, int64_t> &extents) {
  Gatherer gatherer(compilation, extents);
  Explanation explanation;
  explanation.compilation = &compilation;
  explanation.doc = doc;
  explanation.shape = extents.empty() ? "" : shapeText(extents);
  for (const NestReport &nest : compilation.nests)
    explanation.kernels.push_back(gatherer.kernel(nest));
  for (KernelFacts &kernel : explanation.kernels)
    kernel.facts = factsOf(kernel, compilation.program.manifest, explanation.shape);
  for (KernelFacts &kernel : explanation.kernels)
    if (const KernelDecl *decl = compilation.program.manifest.findKernel(kernel.nest->kernel);
        decl && compilation.target == "cpu" && !decl->notes.empty())
      kernel.facts.push_back({"compiled", {decl->notes}});
  explanation.rules = rulesOf(compilation);
  explanation.total = totalOf(explanation.kernels);
  explanation.summary = summaryOf(compilation);
  explanation.materialised = gatherer.materialised();
  explanation.materialisedBytes = sumOfBytes(explanation.materialised, 0);
  explanation.budgetText = budgetSentence(explanation);
  explanation.copies = gatherer.copies();
  explanation.copiesText = copiesSentence(explanation);
  if (compilation.backward) {
    explanation.saved = gatherer.saved();
    explanation.recomputed = Gatherer(*compilation.backward, extents).recomputed();
    explanation.backward = std::make_shared<const Explanation>(explain(
        *compilation.backward, "Gradients of " + (doc.empty() ? compilation.name : doc), extents));
  }
  return explanation;
}

std::string countText(double count) {
  const char *const units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  if (count >= 1e4)
    for (; count >= 1000 && unit < 5; ++unit)
      count /= 1000;
  return fmt::format("{:.{}f}{}", count, unit ? 1 : 0, units[unit]);
}

std::string declarationText(const TensorFacts &facts) {
  return facts.tensor->name + ": " + facts.type;
}

std::string sizeText(const TensorFacts &facts, const std::string &shape) {
  return facts.type + (facts.bytes ? ", " + bytesText(static_cast<double>(*facts.bytes)) +
                                         (shape.empty() ? "" : " at " + shape)
                                   : "");
}

std::string whyText(const TensorFacts &facts) {
  const auto &[reason, place] = std::tie(facts.tensor->reason, facts.tensor->place);
  return reason + (reason.empty() || place.empty() ? "" : "; ") +
         (place.empty() ? "" : "computed at " + place);
}

std::string shapeText(const std::map<std::string, int64_t> &extents) {
  std::string text;
  for (const auto &[dim, extent] : extents)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim, extent);
  return text;
}

} // namespace attnc
