#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/checks/exponent_range.h"
#include "compiler/driver/checks/float64_bounds.h"
#include "compiler/driver/checks/narrow_range.h"
#include "compiler/driver/checks/undefined_values.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OwningOpRef.h"

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

// Longer than one tile of the largest size that domains are checked in, and a multiple of none: a
// prime.
constexpr int64_t kSmallExtent = 23;
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

/// `extents` with small ones for the dynamic dims that have none and are not computed.
Extents completed(attn::ProgramOp program, Extents extents) {
  std::set<StringRef> computed;
  for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>())
    if (extent.getValue().getType().isScalar())
      computed.insert(extent.getDim());
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (!dim.isStatic() && !computed.contains(dim.getName()))
      extents.try_emplace(dim.getName().str(), kSmallExtent);
  return extents;
}

/// A value of the range of `param`: 1 if that is one.
double valueInRange(attn::ParamOp param) {
  double value = 1;
  bool whole = isa<IntegerType>(param.getType().getElementType());
  std::optional<double> lower, upper;
  if (param.getLower())
    lower = param.getLower()->convertToDouble();
  if (param.getUpper())
    upper = param.getUpper()->convertToDouble();
  if (lower && (param.getLowerOpen() ? value <= *lower : value < *lower))
    value = whole ? std::floor(*lower) + 1 : *lower + 1;
  if (upper && (param.getUpperOpen() ? value >= *upper : value > *upper))
    value = !lower  ? *upper - 1
            : whole ? std::ceil(*upper) - (param.getUpperOpen() || *upper != std::floor(*upper))
                    : (*lower + *upper) / 2;
  return value;
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

/// Whether `value` depends on a reduction over one of `dims`, other than a softmax.
bool dependsOnReduction(Value value, ArrayRef<StringAttr> dims) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second || !op)
      continue;
    if (auto reduce = dyn_cast<attn::ReduceOp>(op);
        reduce && llvm::any_of(attn::dimNames(reduce.getDims()),
                               [&](StringAttr dim) { return llvm::is_contained(dims, dim); }))
      return true;
    llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// The outputs that depend on a sum whose elements depend on another reduction over its dims.
std::set<std::string> outputsWithEmptyFactors(attn::ProgramOp program) {
  llvm::DenseSet<Value> values;
  std::set<std::string> outputs;
  for (Operation &op : *program.getBodyBlock()) {
    auto reduce = dyn_cast<attn::ReduceOp>(op);
    bool has = llvm::any_of(op.getOperands(), [&](Value x) { return values.contains(x); }) ||
               (reduce && reduce.getKind() == attn::ReduceKind::Add &&
                dependsOnReduction(reduce.getOperand(), attn::dimNames(reduce.getDims())));
    if (auto output = dyn_cast<attn::OutputOp>(op); output && has)
      outputs.insert(output.getName().str());
    if (has)
      values.insert_range(op.getResults());
  }
  return outputs;
}

/// `actual` with what `expected` has wherever that is 0 and `actual` is NaN.
evaluator::Array withoutEmptyFactors(evaluator::Array actual, const evaluator::Array &expected) {
  for (auto [x, y] : llvm::zip(actual.value, expected.value))
    if (std::isnan(x) && y == 0)
      x = y;
  return actual;
}

/// `actual` with what `expected` has wherever that is not finite.
evaluator::Array withInfinitiesOf(const evaluator::Array &expected, evaluator::Array actual) {
  for (auto [x, y] : llvm::zip(actual.value, expected.value))
    if (!std::isfinite(y))
      x = y;
  return actual;
}

/// True if some element is another one where no exponential overflows or vanishes.
bool leavesRange(const evaluator::Array &expected, const evaluator::Array &inRange) {
  return llvm::any_of(llvm::zip(expected.value, inRange.value), [](auto pair) {
    auto [x, y] = pair;
    return x != y && !(std::isnan(x) && std::isnan(y));
  });
}

/// `actual` with what `expected` has wherever the spec would give something else in `marked`: an
/// infinite sum went into that, or a comparison of what is out of range.
evaluator::Array withoutMarked(evaluator::Array actual, const evaluator::Array &expected,
                               const evaluator::Array &marked) {
  for (size_t i = 0; i < actual.value.size() && i < expected.value.size(); ++i)
    if (marked.value[i] != expected.value[i])
      actual.value[i] = expected.value[i];
  return actual;
}

/// `actual` with what `expected` has wherever f32 does not hold what it is made of.
evaluator::Array withoutLarge(evaluator::Array actual, const evaluator::Array &expected,
                              const evaluator::Array &withinF32) {
  for (auto [x, y, within] : llvm::zip(actual.value, expected.value, withinF32.value))
    if (std::isnan(within) && !std::isnan(y))
      x = y;
  return actual;
}

/// `actual` with what `expected` has wherever it is NaN.
evaluator::Array withoutNaN(evaluator::Array actual, const evaluator::Array &expected) {
  for (auto [x, y] : llvm::zip(actual.value, expected.value))
    if (std::isnan(x))
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

Result<PassVerifier> PassVerifier::create(attn::ProgramOp program, const Extents &given,
                                          const std::map<std::string, double> &params) {
  return create(program, given, params, /*onlyInRange=*/false);
}

Result<PassVerifier> PassVerifier::createInRange(attn::ProgramOp program, const Extents &given) {
  return create(program, given, {}, /*onlyInRange=*/true);
}

Result<PassVerifier> PassVerifier::createForGradients(attn::ProgramOp program,
                                                      attn::ProgramOp whole, const Extents &given,
                                                      const std::map<std::string, double> &params) {
  return create(whole, given, params, /*onlyInRange=*/true, program);
}

Result<PassVerifier> PassVerifier::create(attn::ProgramOp program, const Extents &given,
                                          const std::map<std::string, double> &params,
                                          bool onlyInRange, attn::ProgramOp original) {
  PassVerifier verifier;
  verifier.original = original;
  verifier.params = params;
  verifier.onlyInRange = onlyInRange;
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>())
    if (!param.getDefaultValue())
      verifier.params.try_emplace(param.getName().str(), valueInRange(param));
  Extents extents = completed(program, given);
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
                           "give a shape and params that the spec allows (attnc run --shape "
                           "--param), or the spec a reference shape");
  verifier.addFewKeys(program, used);
  verifier.addNegativeParams(program, used);
  return verifier;
}

static std::vector<std::string> outputNames(attn::ProgramOp program) {
  std::vector<std::string> names;
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>())
    names.push_back(output.getName().str());
  return names;
}

llvm::Expected<evaluator::EvalInputs>
PassVerifier::makeInputs(attn::ProgramOp program, const Extents &extents, InputKind kind) const {
  auto inputs = evaluator::makeInputs(program, extents, kSeed, kind);
  if (!inputs)
    return inputs;
  inputs->params = params;
  if (!original)
    return inputs;
  auto finite = evaluator::makeInputs(program, extents, kSeed);
  if (!finite)
    return finite;
  for (const std::string &name : outputNames(original))
    if (auto gradient = finite->tensors.extract(gradientName(name)))
      inputs->tensors[gradient.key()] = std::move(gradient.mapped());
  return inputs;
}

// `found` with what is expected wherever that comes from an exponential out of range.
static evaluator::Array withoutOverflow(evaluator::Array found, const evaluator::Array &expected,
                                        const evaluator::Array &inRange) {
  for (size_t i = 0; i < found.value.size() && i < expected.value.size(); ++i)
    if (inRange.value[i] != expected.value[i] && !std::isnan(inRange.value[i]))
      found.value[i] = expected.value[i];
  return found;
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
  llvm::Expected<evaluator::Outputs> wide =
      evaluateInFloat64(program, inputs, optionsFor(Precision::Double));
  if (!wide)
    return wide.takeError();
  Case c;
  c.label = std::move(label);
  c.inputs = std::move(inputs);
  c.expected = std::move(*expected);
  c.inFloat64 = std::move(*wide);
  for (const auto &[name, output] : c.expected)
    if (!evaluator::compare(output, single->at(name)).passed())
      c.beyondF32.insert(name);
  OwningOpRef<attn::ProgramOp> clipped(cast<attn::ProgramOp>(program->clone()));
  desugar(*clipped); // softmax has exponentials, too
  if (auto inRange = evaluateInRange(*clipped, c.inputs, optionsFor(Precision::Double)))
    c.inRange = std::move(*inRange);
  else
    llvm::consumeError(inRange.takeError());
  if (onlyInRange)
    findOverflow(c, *clipped);
  all.push_back(std::move(c));
  return llvm::Error::success();
}

void PassVerifier::findOverflow(Case &c, attn::ProgramOp desugared) {
  if (auto sums = evaluateWithoutInfiniteSums(desugared, c.inputs, optionsFor(Precision::Double)))
    c.finiteSums = std::move(*sums);
  else
    llvm::consumeError(sums.takeError());
  if (auto turned = evaluateWithTurnedOverflow(desugared, c.expected, c.inputs,
                                               optionsFor(Precision::Double)))
    c.turned = std::move(*turned);
  else
    llvm::consumeError(turned.takeError());
  if (auto unordered =
          evaluateWithTurnedComparisons(desugared, c.inputs, optionsFor(Precision::Double)))
    c.unordered = std::move(*unordered);
  else
    llvm::consumeError(unordered.takeError());
  OwningOpRef<attn::ProgramOp> folds(cast<attn::ProgramOp>(desugared->clone()));
  toFoldForm(*folds);
  if (auto within = evaluateWithinF32(*folds, c.inputs, optionsFor(Precision::Double)))
    c.withinF32 = std::move(*within);
  else
    llvm::consumeError(within.takeError());
  auto marked = evaluateWithoutOverflow(desugared, c.inputs, optionsFor(Precision::Double));
  if (!marked)
    return llvm::consumeError(marked.takeError());
  for (const auto &[name, expected] : c.expected)
    for (const evaluator::Outputs *other : {&c.inRange, &*marked})
      if (auto found = other->find(name); found != other->end())
        if (leavesRange(expected, found->second))
          c.overflowing.insert(name);
}

llvm::Error PassVerifier::addKinds(attn::ProgramOp program, const Extents &extents) {
  for (InputKind kind : evaluator::kInputKinds) {
    auto inputs = makeInputs(program, extents, kind);
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
    auto inputs = makeInputs(program, few, InputKind::Random);
    if (!inputs) {
      llvm::consumeError(inputs.takeError());
      continue;
    }
    llvm::Error error = add(program, std::move(*inputs),
                            fmt::format("random inputs, {} keys", count ? "few" : "no"));
    if (!error && count == 0)
      all.back().emptyFactors = outputsWithEmptyFactors(program);
    llvm::consumeError(std::move(error));
  }
}

void PassVerifier::addNegativeParams(attn::ProgramOp program, const Extents &extents) {
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>()) {
    std::optional<double> value = negativeValue(param);
    if (!value)
      continue;
    auto inputs = makeInputs(program, extents, InputKind::Random);
    if (!inputs) {
      llvm::consumeError(inputs.takeError());
      continue;
    }
    std::string name = param.getName().str();
    inputs->params[name] = *value;
    // A requirement of the spec may forbid the value.
    llvm::consumeError(
        add(program, std::move(*inputs), fmt::format("random inputs, {} = {}", name, *value)));
  }
}

// The outputs of all of them.
static llvm::Expected<evaluator::Outputs> evaluateInTurn(ArrayRef<attn::ProgramOp> programs,
                                                         evaluator::EvalInputs inputs,
                                                         const evaluator::EvalOptions &options) {
  evaluator::Outputs all;
  for (attn::ProgramOp program : programs) {
    llvm::Expected<evaluator::Outputs> outputs = evaluator::evaluate(program, inputs, options);
    if (!outputs)
      return outputs.takeError();
    for (const auto &[name, output] : *outputs)
      if (auto [passed, isNew] = inputs.tensors.try_emplace(name, output); isNew)
        passed->second.error.clear(); // what it was computed from has rounded as it does
    all.merge(*outputs);
  }
  return all;
}

// Whether this output is a gradient, in which NaN may be, and any number where the spec compares
// NaN: kernels may compute a number there.
bool PassVerifier::leavesOpen(const Case &c, StringRef output) const {
  attn::ProgramOp program = original;
  return program && !llvm::is_contained(outputNames(program), output.str()) &&
         (!hasDefinedOutputs(program, c.inputs) || computesUndefined(program, c.inputs));
}

Status PassVerifier::compare(const Case &c, ArrayRef<attn::ProgramOp> programs,
                             const std::string &name, Precision precision) const {
  bool emulated = precision == Precision::EmulatedF32;
  evaluator::EvalOptions options = optionsFor(precision);
  llvm::Expected<evaluator::Outputs> actual = evaluateInTurn(programs, c.inputs, options);
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
    if (c.emptyFactors.contains(output))
      found->second = withoutEmptyFactors(std::move(found->second), expected);
    if (auto inRange = c.inRange.find(output); inRange != c.inRange.end())
      found->second = withoutOverflow(std::move(found->second), expected, inRange->second);
    if (onlyInRange) {
      if (c.overflowing.contains(output))
        continue;
      found->second = withInfinitiesOf(expected, std::move(found->second));
      for (const evaluator::Outputs *outputs : {&c.finiteSums, &c.turned})
        if (auto marked = outputs->find(output); marked != outputs->end())
          found->second = withoutMarked(std::move(found->second), expected, marked->second);
      if (auto within = c.withinF32.find(output); emulated && within != c.withinF32.end())
        found->second = withoutLarge(std::move(found->second), expected, within->second);
      if (c.emptyFactors.contains(output))
        found->second = withoutNaN(std::move(found->second), expected);
    }
    auto wide = c.inFloat64.find(output);
    auto compareFound = [&] {
      return emulated ? evaluator::compare(expected, found->second)
                      : evaluator::compareEvaluations(expected, found->second,
                                                      wide == c.inFloat64.end() ? nullptr
                                                                                : &wide->second);
    };
    evaluator::Comparison comparison = compareFound();
    if (!comparison.passed() && leavesOpen(c, output)) {
      found->second = withoutNaN(std::move(found->second), expected);
      if (auto turned = c.unordered.find(output); turned != c.unordered.end())
        found->second = withoutMarked(std::move(found->second), expected, turned->second);
      comparison = compareFound();
    }
    if (!comparison.passed())
      return internalError(
          fmt::format("{} changed output '{}' on {}{}: {}", name, output, c.label,
                      emulated ? " in emulated f32, beyond what rounding explains" : "",
                      evaluator::summary(expected, found->second, comparison)),
          kReport);
  }
  return {};
}

Status PassVerifier::check(ArrayRef<attn::ProgramOp> programs, const std::string &name) const {
  for (const Case &c : all)
    for (Precision precision : {Precision::Double, Precision::EmulatedF32})
      if (Status status = compare(c, programs, name, precision); !status)
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
