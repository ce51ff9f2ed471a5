#include "tools/attnc/input/shape.h"
#include "compiler/driver/checks/check.h"
#include "compiler/evaluator/evaluator.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/explain/facts.h"
#include "compiler/frontend/text/suggest.h"
#include "dialects/Attn/SpecLocation.h"
#include "tools/attnc/output/failure.h"

#include <cmath>
#include <fmt/format.h>
#include <set>

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

/// The extents that an expression uses.
void collectExtents(const Expr &expr, const std::map<std::string, int64_t> &all,
                    std::map<std::string, int64_t> &used) {
  if (auto found = all.find(expr.name); found != all.end())
    used.insert(*found);
  for (const Expr &operand : expr.operands)
    collectExtents(operand, all, used);
}

/// Refuses extents that a `require` of the spec excludes, with the place of the fact. What cannot
/// be evaluated here is left to the runtime.
void checkRequires(attn::ProgramOp program, const std::map<std::string, int64_t> &extents) {
  for (auto require : program.getBodyBlock()->getOps<attn::RequireOp>()) {
    Result<Expr> fact = hostExpression(require.getCondition());
    Result<Scalar> holds = fact ? evaluate(*fact, {extents, {}, {}}) : Result<Scalar>(int64_t(1));
    if (!holds || isTrue(*holds))
      continue;
    std::map<std::string, int64_t> used;
    collectExtents(*fact, extents, used);
    std::string place = attn::specPlace(require.getLoc());
    throw Failure(
        Usage,
        fmt::format("requirement does not hold: {} ({})", require.getText().str(), shapeText(used)),
        place.empty() ? "" : fmt::format("it stands at {}; give other extents", place));
  }
}

/// Collects extents and finds contradictions.
class ExtentTable {
public:
  explicit ExtentTable(const Spec &spec) : program(driver::programOf(spec)) {
    for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>())
      if (extent.getValue().getType().isScalar())
        computed.insert(extent.getDim().str());
    for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
      names.push_back(dim.getName().str());
      if (dim.isStatic())
        statics[names.back()] = dim.getExtent();
    }
  }

  void addInput(const attn::InputOp &input, const GivenShape &given) {
    ArrayRef<StringAttr> dims = const_cast<attn::InputOp &>(input).getType().getDims();
    std::string place = attn::specPlace(const_cast<attn::InputOp &>(input).getLoc());
    if (dims.size() != given.shape.size())
      throw Failure(Usage,
                    fmt::format("input '{}' has {} axes; the file's array has {}", given.input,
                                dims.size(), given.shape.size()),
                    place.empty() ? "" : fmt::format("it is declared at {}", place));
    for (auto [dim, extent] : llvm::zip_equal(dims, given.shape))
      add(dim.str(), extent, fmt::format("input '{}'", given.input), place);
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
      if (statics.contains(dim) || extents.contains(dim) || computed.contains(dim))
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
    std::map<std::string, int64_t> all = extents;
    if (llvm::Error error = evaluator::completeExtents(program, all))
      throw Failure(Usage, llvm::toString(std::move(error)));
    checkRequires(program, all);
    for (const std::string &dim : computed)
      extents[dim] = all.at(dim);
    return std::move(extents);
  }

private:
  struct Giver {
    std::string who, place;
    std::string declared() const {
      return place.empty() ? "" : fmt::format("; {} is declared at {}", who, place);
    }
  };

  void add(const std::string &dim, int64_t extent, const std::string &who,
           const std::string &place = "") {
    if (auto fixed = statics.find(dim); fixed != statics.end()) {
      if (fixed->second != extent)
        throw Failure(Usage,
                      fmt::format("{} gives dim '{}' the extent {}; the spec says {}", who, dim,
                                  extent, fixed->second),
                      fmt::format("compile it for another extent with --set {}={}", dim, extent));
      return;
    }
    auto [entry, fresh] = extents.try_emplace(dim, extent);
    if (fresh)
      givenBy[dim] = {who, place};
    else if (entry->second != extent)
      throw Failure(Usage,
                    fmt::format("{} gives dim '{}' the extent {}, {} gives it {}", who, dim, extent,
                                givenBy[dim].who, entry->second),
                    "all tensors that carry a dim agree on its extent" + givenBy[dim].declared() +
                        Giver{who, place}.declared());
  }

  attn::ProgramOp program;
  std::set<std::string> computed;
  std::vector<std::string> names;
  std::map<std::string, int64_t> statics, extents;
  std::map<std::string, Giver> givenBy;
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

/// The range of a param in words, "> 0 and <= 2".
static std::string rangeText(attn::ParamOp param) {
  std::string text;
  if (auto lower = param.getLower())
    text = fmt::format("{} {}", param.getLowerOpen() ? ">" : ">=", lower->convertToDouble());
  if (auto upper = param.getUpper())
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ",
                        param.getUpperOpen() ? "<" : "<=", upper->convertToDouble());
  return text;
}

/// Refuses a value outside the declared range, with the place of the declaration.
static void checkRange(attn::ParamOp param, double value) {
  auto lower = param.getLower(), upper = param.getUpper();
  double low = lower ? lower->convertToDouble() : 0, high = upper ? upper->convertToDouble() : 0;
  bool inside = value == value && !(lower && (param.getLowerOpen() ? value <= low : value < low)) &&
                !(upper && (param.getUpperOpen() ? value >= high : value > high));
  if (inside || (!lower && !upper))
    return;
  std::string place = attn::specPlace(param.getLoc());
  throw Failure(Usage,
                fmt::format("param '{}' is {}, but must be {}", param.getName().str(), value,
                            rangeText(param)),
                place.empty() ? "" : fmt::format("its range is declared at {}", place));
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
      throw Failure(Usage, fmt::format("param '{}' is an integer, not {}", name, given->second),
                    fmt::format("for example --param {}={:.0f}", name, std::floor(given->second)));
    if (given != params.end() && integer && std::abs(given->second) >= 0x1p63)
      throw Failure(Usage, fmt::format("param '{}' is an integer of 64 bits, {} is beyond them",
                                       name, given->second));
    if (given != params.end())
      checkRange(param, given->second);
  }
  for (const auto &[name, value] : params)
    if (!llvm::is_contained(names, name))
      throw Failure(Usage, fmt::format("--param: the spec has no param '{}'", name),
                    didYouMean(name, names,
                               names.empty()
                                   ? std::string("it has none")
                                   : fmt::format("its params are {}", fmt::join(names, ", "))));
}

} // namespace attnc::cli
