#include "tools/attnc/shape.h"
#include "compiler/driver/check.h"
#include "compiler/frontend/suggest.h"
#include "tools/attnc/failure.h"

#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::cli {

namespace {

/// The spec's reference extents. Only integers of at least 1 are taken.
std::map<std::string, int64_t> referenceExtents(const Spec &spec) {
  std::map<std::string, int64_t> extents;
  auto shape = spec.reference.find("shape");
  if (shape == spec.reference.end() || !shape->is_object())
    return extents;
  for (const auto &[dim, extent] : shape->items())
    if (extent.is_number_integer() && extent.get<int64_t>() > 0)
      extents[dim] = extent.get<int64_t>();
  return extents;
}

/// Collects extents and finds contradictions.
class ExtentTable {
public:
  explicit ExtentTable(const Spec &spec) {
    for (auto dim : driver::programOf(spec).getDims().getAsRange<attn::DimAttr>()) {
      names.push_back(dim.getName().str());
      if (dim.isStatic())
        statics[names.back()] = dim.getExtent();
    }
  }

  void addInput(const attn::InputOp &input, const GivenShape &given) {
    ArrayRef<StringAttr> dims = const_cast<attn::InputOp &>(input).getType().getDims();
    if (dims.size() != given.shape.size())
      throw Failure(Usage, fmt::format("input '{}' has {} axes; the file's array has {}",
                                       given.input, dims.size(), given.shape.size()));
    for (auto [dim, extent] : llvm::zip_equal(dims, given.shape))
      add(dim.str(), extent, fmt::format("input '{}'", given.input));
  }

  void addOption(const std::string &dim, int64_t extent) {
    if (!llvm::is_contained(names, dim))
      throw Failure(Usage, fmt::format("--shape: the spec has no dim '{}'", dim),
                    didYouMean(dim, names, fmt::format("its dims are {}", fmt::join(names, ", "))));
    if (statics.contains(dim) && statics[dim] != extent)
      throw Failure(Usage,
                    fmt::format("--shape: dim '{}' is static, {} in the spec", dim, statics[dim]),
                    fmt::format("compile it for another extent with --set {}={}", dim, extent));
    add(dim, extent, "--shape");
  }

  std::map<std::string, int64_t> finish(const std::map<std::string, int64_t> &reference) {
    for (const std::string &dim : names) {
      if (statics.contains(dim) || extents.contains(dim))
        continue;
      auto found = reference.find(dim);
      if (found == reference.end())
        throw Failure(Usage,
                      fmt::format("dim '{}' has no extent: the spec's reference shape does "
                                  "not give one",
                                  dim),
                      fmt::format("add --shape {}=...", dim));
      extents.insert(*found);
    }
    return std::move(extents);
  }

private:
  void add(const std::string &dim, int64_t extent, const std::string &who) {
    if (auto fixed = statics.find(dim); fixed != statics.end()) {
      if (fixed->second != extent)
        throw Failure(Usage,
                      fmt::format("{} gives dim '{}' the extent {}; the spec says {}", who, dim,
                                  extent, fixed->second),
                      fmt::format("compile it for another extent with --set {}={}", dim, extent));
      return;
    }
    auto [entry, fresh] = extents.try_emplace(dim, extent);
    if (!fresh && entry->second != extent)
      throw Failure(Usage, fmt::format("{} gives dim '{}' the extent {}; elsewhere it is {}", who,
                                       dim, extent, entry->second));
  }

  std::vector<std::string> names;
  std::map<std::string, int64_t> statics, extents;
};

attn::InputOp findInput(const Spec &spec, const std::string &name) {
  std::vector<std::string> names;
  for (auto input : driver::programOf(spec).getBodyBlock()->getOps<attn::InputOp>()) {
    if (input.getName() == name)
      return input;
    names.push_back(input.getName().str());
  }
  throw Failure(Usage, fmt::format("--input: the spec has no input '{}'", name),
                didYouMean(name, names, fmt::format("its inputs are {}", fmt::join(names, ", "))));
}

} // namespace

std::map<std::string, int64_t> resolveExtents(const Spec &spec,
                                              const std::map<std::string, int64_t> &shape,
                                              const std::vector<GivenShape> &given) {
  ExtentTable table(spec);
  for (const GivenShape &input : given)
    table.addInput(findInput(spec, input.input), input);
  for (const auto &[dim, extent] : shape)
    table.addOption(dim, extent);
  return table.finish(referenceExtents(spec));
}

void checkParams(const Spec &spec, const std::map<std::string, double> &params) {
  std::vector<std::string> names;
  for (auto param : driver::programOf(spec).getBodyBlock()->getOps<attn::ParamOp>()) {
    std::string name = param.getName().str();
    names.push_back(name);
    auto given = params.find(name);
    if (given == params.end() && !param.getDefaultValue())
      throw Failure(Usage, fmt::format("param '{}' has no default", name),
                    fmt::format("add --param {}=...", name));
    bool integer = isa<IntegerType>(param.getType().getElementType());
    if (given != params.end() && integer && given->second != std::floor(given->second))
      throw Failure(Usage, fmt::format("param '{}' is an integer, not {}", name, given->second));
  }
  for (const auto &[name, value] : params)
    if (!llvm::is_contained(names, name))
      throw Failure(Usage, fmt::format("--param: the spec has no param '{}'", name),
                    didYouMean(name, names,
                               names.empty()
                                   ? std::string("it has none")
                                   : fmt::format("its params are {}", fmt::join(names, ", "))));
}

std::string shapeText(const std::map<std::string, int64_t> &extents) {
  std::string text;
  for (const auto &[dim, extent] : extents)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim, extent);
  return text;
}

} // namespace attnc::cli
