#include "compiler/driver/verify_pass.h"
#include "compiler/evaluator/compare.h"

#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::driver {

namespace {

using Extents = std::map<std::string, int64_t>;
using evaluator::InputKind;
using evaluator::Precision;

// Seed of the inputs: any will do, as long as a failure can be had again.
constexpr uint64_t kSeed = 1;

// Longer than one tile of the largest size that domains are checked in; no multiple of any.
constexpr int64_t kSmallExtent = 21;
constexpr int64_t kFewKeys = 6;

const char *const kReport = "report this with the spec";

/// `extents` with those of dynamic dims at most `limit`.
Extents capped(attn::ProgramOp program, Extents extents, int64_t limit) {
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (auto found = extents.find(dim.getName().str()); found != extents.end() && !dim.isStatic())
      found->second = std::min(found->second, limit);
  return extents;
}

/// The dims that something folds and that have no number in the spec: keys, as a rule.
llvm::SetVector<StringAttr> foldedDims(attn::ProgramOp program, const Extents &extents) {
  llvm::SetVector<StringAttr> dims;
  program.walk([&](Operation *op) {
    if (auto reduce = dyn_cast<attn::ReduceOp>(op))
      dims.insert_range(reduce.getDims().getAsRange<StringAttr>());
    if (auto softmax = dyn_cast<attn::SoftmaxOp>(op))
      dims.insert_range(softmax.getDims().getAsRange<StringAttr>());
  });
  dims.remove_if([&](StringAttr dim) { return !extents.contains(dim.str()); });
  return dims;
}

/// A value that is negative if the range of `param` has one.
std::optional<double> negativeValue(attn::ParamOp param) {
  if (!isa<FloatType>(param.getType().getElementType()))
    return std::nullopt;
  double value = -0.75;
  if (param.getLower())
    value = std::max(value, param.getLower()->convertToDouble() / 2);
  if (param.getUpper())
    value = std::min(value, param.getUpper()->convertToDouble());
  return value < 0 ? std::optional<double>(value) : std::nullopt;
}

/// `actual` with what `expected` has wherever that is 0 and `actual` is NaN.
evaluator::Array withoutEmptyQuotients(evaluator::Array actual, const evaluator::Array &expected) {
  for (auto [x, y] : llvm::zip(actual.value, expected.value))
    if (std::isnan(x) && y == 0)
      x = y;
  return actual;
}

evaluator::EvalOptions optionsFor(Precision precision) {
  evaluator::EvalOptions options;
  options.precision = precision;
  options.checkDomains = precision == Precision::Double;
  options.threads = 1;
  return options;
}

} // namespace

Result<PassVerifier> PassVerifier::create(attn::ProgramOp program, const Extents &extents) {
  PassVerifier verifier;
  // A spec may need more than the small extents: a divisor, a subscript below a constant.
  Extents used = capped(program, extents, kSmallExtent);
  llvm::Error error = verifier.addKinds(program, used);
  if (error && used != extents) {
    llvm::consumeError(std::move(error));
    verifier.all.clear();
    used = extents;
    error = verifier.addKinds(program, used);
  }
  if (error)
    return invalidArgument("passes cannot be verified: " + llvm::toString(std::move(error)),
                           "give the spec a reference shape with every dynamic dim");
  verifier.addFewKeys(program, used);
  verifier.addNegativeParams(program, used);
  return verifier;
}

llvm::Error PassVerifier::add(attn::ProgramOp program, evaluator::EvalInputs inputs,
                              std::string label) {
  llvm::Expected<evaluator::Outputs> expected =
      evaluator::evaluate(program, inputs, optionsFor(Precision::Double));
  if (!expected)
    return expected.takeError();
  llvm::Expected<evaluator::Outputs> single =
      evaluator::evaluate(program, inputs, optionsFor(Precision::EmulatedF32));
  if (!single)
    return single.takeError();
  Case c{std::move(label), std::move(inputs), std::move(*expected), {}};
  for (const auto &[name, output] : c.expected)
    if (!evaluator::compare(output, single->at(name)).passed())
      c.beyondF32.insert(name);
  all.push_back(std::move(c));
  return llvm::Error::success();
}

llvm::Error PassVerifier::addKinds(attn::ProgramOp program, const Extents &extents) {
  for (InputKind kind : evaluator::kInputKinds) {
    auto inputs = evaluator::makeInputs(program, extents, kSeed, kind);
    if (!inputs)
      return inputs.takeError();
    if (llvm::Error error =
            add(program, std::move(*inputs), evaluator::inputKindName(kind).str() + " inputs"))
      return error;
  }
  return llvm::Error::success();
}

// What the spec does not allow at these extents is left out.
void PassVerifier::addFewKeys(attn::ProgramOp program, const Extents &extents) {
  for (int64_t count : {kFewKeys, int64_t(0)}) {
    Extents few = extents;
    for (StringAttr dim : foldedDims(program, extents))
      few[dim.str()] = std::min(few[dim.str()], count);
    auto inputs = evaluator::makeInputs(program, few, kSeed, InputKind::Random);
    if (!inputs) {
      llvm::consumeError(inputs.takeError());
      continue;
    }
    llvm::Error error = add(program, std::move(*inputs),
                            fmt::format("random inputs, {} keys", count ? "few" : "no"));
    if (!error)
      all.back().foldsNothing = count == 0;
    llvm::consumeError(std::move(error));
  }
}

void PassVerifier::addNegativeParams(attn::ProgramOp program, const Extents &extents) {
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>()) {
    std::optional<double> value = negativeValue(param);
    auto inputs = evaluator::makeInputs(program, extents, kSeed, InputKind::Random);
    if (!value || !inputs) {
      llvm::consumeError(inputs.takeError());
      continue;
    }
    std::string name = param.getName().str();
    inputs->params[name] = *value;
    llvm::consumeError(
        add(program, std::move(*inputs), fmt::format("random inputs, {} = {}", name, *value)));
  }
}

Status PassVerifier::compare(const Case &c, attn::ProgramOp program, const std::string &name,
                             Precision precision) {
  bool emulated = precision == Precision::EmulatedF32;
  llvm::Expected<evaluator::Outputs> actual =
      evaluator::evaluate(program, c.inputs, optionsFor(precision));
  if (!actual)
    return internalError(fmt::format("after {} the program cannot be evaluated on {}: {}", name,
                                     c.label, llvm::toString(actual.takeError())),
                         kReport);
  for (const auto &[output, expected] : c.expected) {
    auto found = actual->find(output);
    if (found == actual->end())
      return internalError(name + " lost output '" + output + "'", kReport);
    if (emulated && c.beyondF32.contains(output))
      continue;
    if (c.foldsNothing)
      found->second = withoutEmptyQuotients(std::move(found->second), expected);
    evaluator::Comparison comparison = emulated
                                           ? evaluator::compare(expected, found->second)
                                           : evaluator::compareEvaluations(expected, found->second);
    if (!comparison.passed())
      return internalError(
          fmt::format("{} changed output '{}' on {}{}: {}", name, output, c.label,
                      emulated ? " in emulated f32, beyond what rounding explains" : "",
                      evaluator::summary(expected, found->second, comparison)),
          kReport);
  }
  return {};
}

Status PassVerifier::check(attn::ProgramOp program, const std::string &name) const {
  for (const Case &c : all)
    for (Precision precision : {Precision::Double, Precision::EmulatedF32})
      if (Status status = compare(c, program, name, precision); !status)
        return status;
  return {};
}

std::vector<std::string> PassVerifier::cases() const {
  std::vector<std::string> labels;
  for (const Case &c : all)
    labels.push_back(c.label);
  return labels;
}

} // namespace attnc::driver
