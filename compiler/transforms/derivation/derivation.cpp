#include "compiler/transforms/derivation/derivation.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace mlir;

namespace attnc::derivation {
namespace {

/// `words` say what a step did, with its details in braces; what stands in brackets is left out
/// where one of its details is missing.
struct Description {
  Rule rule;
  StringLiteral name, statement, words;
};

constexpr Description kDescriptions[] = {
    {Rule::State, "state", "a fold by an associative operation is a running value",
     "a running {kind} over {dims}"},
    {Rule::Term, "term",
     "a sum of terms C(x) exp(a(x) + b(g)) B(g), where x varies along the stream and g stands for "
     "results of it, keeps the sum of C exp(a - m) for each",
     "[({number}) ]{term}; kept: {state}"},
    {Rule::SharedExponent, "shared-exponent", "sums of one exponent a share one reference, max a",
     "relative to {reference}, a state already"},
    {Rule::OwnMaximum, "own-maximum",
     "exp(a) = exp(m) exp(a - m): an exponential that nothing bounds is summed relative to the "
     "running maximum m of its exponent",
     "relative to {reference}, which runs along"},
    {Rule::Rescaled, "rescaled",
     "sum C exp(a - m') = exp(m - m') sum C exp(a - m): exp takes + to *, and * distributes over +",
     "when {reference} moves, the sum is rescaled by exp(old - new)"},
    {Rule::Deferred, "deferred", "sum C(x) B(g) = B(g) sum C(x): * distributes over +",
     "{B} is applied once, after {dims}"},
    {Rule::Counted, "counted", "sum over x of B(g) = B(g) times the number of x",
     "{B} is multiplied by the number of {dims}"},
    {Rule::Moment, "moment",
     "sums of w (x - g)^i, i up to 1 or 2, move with g by the binomial formula: a triangular "
     "action, "
     "where multiplying out would cancel",
     "moments of {x} - g up to degree {degree}, shifted when g moves; g = {g}"},
    {Rule::MaskedWeight, "masked-weight",
     "where(c, exp(a), 0) = exp(where(c, a, -inf)): a mask on a weight is one on its exponent",
     "the mask goes into the exponent"},
    {Rule::MaskFactor, "mask-factor",
     "where(c, exp(a - max a), 0) = where(c, 1, 0) exp(a - max a): the weights without the mask "
     "are there",
     "the mask is a factor of the weights of {a}"},
    {Rule::WeightTest, "weight-test",
     "weights of one sign: where(w == 0, 0, w y) sums to where(sum w == 0, 0, sum w y)",
     "elements of weight 0 do not count"},
    {Rule::LogSplit, "log-split", "log(exp(a) B) = a + log(B)",
     "a logarithm of a weight is opened"},
    {Rule::RaisedTerm, "raised-term",
     "(C exp(a) B)^n = C^n exp(n a) B^n, n > 0: a power distributes over products of what is not "
     "negative",
     "a power of a weight is one of its factors and a multiple of its exponent"},
    {Rule::CancelledMaximum, "cancelled-maximum", "max f(x) = f(max x) for a growing f",
     "{shift} takes the maximum of {a} away: they cancel"},
    {Rule::CombinedExponents, "combined-exponents",
     "c exp(m) / (d exp(n)) = c / d exp(m - n), log(c exp(m)) = m + log(c)",
     "exponents are combined before exp: {value}"},
    {Rule::Shifted, "shifted", "max (a(x) + b(g)) = (max a(x)) + b(g), and so for min",
     "{b} is added after {dims} to {state}"},
    {Rule::Monotone, "monotone",
     "max f(a(x)) is f(max a(x)) where f grows, and f(min a(x)) where it falls",
     "`{operation}` is proven to {growth} with {x}: applied after {dims}"},
    {Rule::Negated, "negated", "min(-x) = -max(x)", "kept as -({state})"},
    {Rule::Reassociated, "reassociated",
     "* is associative and distributes over +: sums of products of sums in any order",
     "computed as {value}"},
    {Rule::Segments, "segments",
     "sum(t, x[s(n) + t]) = sum(j, w[n, j] x[j]), where w is 1 in the segment of n and else 0",
     "a sum over {dims} of each segment is one over {along}, with weights 0 and 1"},
    {Rule::Cut, "cut", "what has no such form starts another pass",
     "needs another pass over {dims}: `{operation}`[ in `{expression}`][ (line {line})][ takes "
     "`{result}`, which is known only at the end of the first]: {property}"},
    {Rule::Demoted, "demoted", "what only tiles of a pass need lives in a tile",
     "exists for one tile at a time, not as {type}"},
    {Rule::Eliminated, "eliminated",
     "a dim that a tile has all of needs no loop of its own; a wide one is cut", "{dims}: {how}"},
    {Rule::Recomputed, "recomputed", "a value with two sequence dims is computed again, not stored",
     "{others} computes it, too"},
    {Rule::Materialised, "materialised",
     "a value that has lost the stream is stored for later nests", "stored for {users}"},
    {Rule::HoistedVector, "hoisted-vector",
     "what varies with rows or with the stream alone is computed once",
     "varies with {dims} alone: computed once, not for each score"},
    {Rule::Split, "split", "folds of parts, merged, are the fold of the whole",
     "{dims} in {parts} parts that fold side by side"},
    {Rule::Merged, "merged", "states combine as the values of two elements do",
     "the parts of {dims} are merged"},
    {Rule::Skipped, "skipped", "a tile that leaves every state at its identity is not visited",
     "tiles of {dims} outside of the mask are skipped"},
    {Rule::TileExtremes, "tile-extremes",
     "a comparison of data is decided for a tile by its extremes",
     "the extremes of {array} over parts of {dims} tell tiles apart"},
};

constexpr auto kRules = [] {
  std::array<Rule, std::size(kDescriptions)> rules{};
  for (size_t i = 0; i < rules.size(); ++i)
    rules[i] = kDescriptions[i].rule;
  return rules;
}();

static_assert([] {
  for (size_t i = 0; i < kRules.size(); ++i)
    if (kRules[i] != Rule(i))
      return false;
  return kRules.size() == size_t(Rule::TileExtremes) + 1;
}());

const Description &describe(Rule rule) { return kDescriptions[static_cast<size_t>(rule)]; }

/// "C = v, a = s, b = -p_max, B = 1 / p_sum"
std::string termText(const Step &step) {
  std::string text;
  for (const char *part : {"C", "a", "b", "B"})
    if (auto found = step.details.find(part); found != step.details.end())
      text += (text.empty() ? "" : ", ") + std::string(part) + " = " + found->second;
  return text;
}

/// `words` with details in the place of braces; sets `missing` where there is none.
std::string filled(StringRef words, const Step &step, bool &missing) {
  std::string text;
  while (!words.empty()) {
    auto [before, rest] = words.split('{');
    text += before;
    if (rest.empty())
      break;
    auto [key, after] = rest.split('}');
    auto found = step.details.find(key.str());
    if (key == "term")
      text += termText(step);
    else if (found != step.details.end())
      text += found->second;
    else
      missing = true;
    words = after;
  }
  return text;
}

} // namespace

ArrayRef<Rule> allRules() { return kRules; }

StringRef nameOf(Rule rule) { return describe(rule).name; }

StringRef statementOf(Rule rule) { return describe(rule).statement; }

std::optional<Rule> findRule(StringRef name) {
  const auto *found =
      llvm::find_if(kDescriptions, [&](const Description &d) { return d.name == name; });
  return found == std::end(kDescriptions) ? std::nullopt : std::optional(found->rule);
}

Step stepAt(Rule rule, Location loc, std::string fold, std::map<std::string, std::string> details) {
  Step step{rule, std::move(fold), std::move(details)};
  if (auto place = loc->findInstanceOf<FileLineColLoc>()) {
    step.line = place.getLine();
    step.column = place.getColumn();
    step.file = place.getFilename().str();
  }
  return step;
}

void forgetOwnFile(Step &step, Operation *op) {
  auto program =
      isa<attn::ProgramOp>(op) ? cast<attn::ProgramOp>(op) : op->getParentOfType<attn::ProgramOp>();
  auto own = program ? program.getLoc()->findInstanceOf<FileLineColLoc>() : FileLineColLoc();
  if (!own || own.getFilename() == step.file)
    step.file.clear();
}

std::string placeText(const Step &step) {
  if (!step.line)
    return "";
  std::string text = "line " + std::to_string(step.line);
  return step.file.empty() ? text : text + " of " + step.file;
}

std::string specTextOf(const Step &step) {
  StringRef words = describe(step.rule).words;
  std::string text;
  while (!words.empty()) {
    auto [always, rest] = words.split('[');
    auto [optional, after] = rest.split(']');
    bool ignored = false, missing = false;
    text += filled(always, step, ignored);
    std::string inside = filled(optional, step, missing);
    text += missing ? "" : inside;
    words = after;
  }
  return text;
}

Attribute encode(MLIRContext *context, const Step &step) {
  Builder b(context);
  SmallVector<NamedAttribute> fields = {b.getNamedAttr("rule", b.getStringAttr(nameOf(step.rule)))};
  if (!step.fold.empty())
    fields.push_back(b.getNamedAttr("fold", b.getStringAttr(step.fold)));
  if (!step.file.empty())
    fields.push_back(b.getNamedAttr("file", b.getStringAttr(step.file)));
  if (step.line)
    fields.push_back(
        b.getNamedAttr("at", b.getDenseI32ArrayAttr({int(step.line), int(step.column)})));
  for (const auto &[key, value] : step.details)
    fields.push_back(b.getNamedAttr(key, b.getStringAttr(value)));
  return b.getDictionaryAttr(fields);
}

static std::optional<Step> decode(DictionaryAttr fields) {
  auto name = fields.getAs<StringAttr>("rule");
  std::optional<Rule> rule = name ? findRule(name.getValue()) : std::nullopt;
  if (!rule)
    return std::nullopt;
  Step step{*rule, "", {}};
  for (NamedAttribute field : fields)
    if (auto text = dyn_cast<StringAttr>(field.getValue())) {
      if (field.getName() == "fold")
        step.fold = text.str();
      else if (field.getName() == "file")
        step.file = text.str();
      else if (field.getName() != "rule")
        step.details[field.getName().str()] = text.str();
    } else if (auto at = dyn_cast<DenseI32ArrayAttr>(field.getValue()); at && at.size() == 2) {
      step.line = at[0];
      step.column = at[1];
    }
  return step;
}

void record(Operation *op, const Step &found) {
  Step step = found;
  forgetOwnFile(step, op);
  SmallVector<Attribute> steps;
  if (auto known = op->getAttrOfType<ArrayAttr>(kAttr))
    llvm::append_range(steps, known);
  Attribute encoded = encode(op->getContext(), step);
  if (llvm::is_contained(steps, encoded))
    return;
  steps.push_back(encoded);
  op->setAttr(kAttr, ArrayAttr::get(op->getContext(), steps));
}

void record(Operation *op, ArrayRef<Step> steps) {
  for (const Step &step : steps)
    record(op, step);
}

std::vector<Step> stepsOf(Operation *op) {
  std::vector<Step> steps;
  if (auto known = op->getAttrOfType<ArrayAttr>(kAttr))
    for (DictionaryAttr fields : known.getAsRange<DictionaryAttr>())
      if (std::optional<Step> step = decode(fields))
        steps.push_back(std::move(*step));
  return steps;
}

std::map<Rule, unsigned> countRules(attn::ProgramOp program) {
  std::map<Rule, unsigned> counts;
  auto count = [&](Operation *op) {
    for (const Step &step : stepsOf(op))
      ++counts[step.rule];
  };
  count(program);
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    count(nest);
  return counts;
}

} // namespace attnc::derivation
