// Likely mistakes in specs that are not wrong.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/characters.h"

using namespace mlir;

namespace attnc {

void ProgramBuilder::warn(Diagnostic finding) {
  finding.severity = Diagnostic::Warning;
  report(std::move(finding));
}

//===----------------------------------------------------------------------===//
// Comparisons of indices
//===----------------------------------------------------------------------===//

/// Proofs have a budget that they share with those of subscripts, so not every comparison of a
/// generated spec is looked at.
static constexpr unsigned maxComparisons = 200;
/// Comparisons of one `and` or `or` that are compared with each other.
static constexpr size_t maxSides = 8;

/// True or false if `form op 0` is that for all indices.
static std::optional<bool> decided(IndexForms &forms, ScalarOp op, const IndexForm &form) {
  auto atMost = [&](int64_t bound) { return forms.provesAtMost(form, bound); };
  auto atLeast = [&](int64_t bound) { return forms.provesAtLeast(form, bound); };
  auto choose = [](bool always, bool never) -> std::optional<bool> {
    return always || never ? std::optional(always) : std::nullopt;
  };
  switch (op) {
  case ScalarOp::Lt:
    return choose(atMost(-1), atLeast(0));
  case ScalarOp::Le:
    return choose(atMost(0), atLeast(1));
  case ScalarOp::Gt:
    return choose(atLeast(1), atMost(0));
  case ScalarOp::Ge:
    return choose(atLeast(0), atMost(-1));
  case ScalarOp::Eq:
    return choose(atMost(0) && atLeast(0), atMost(-1) || atLeast(1));
  case ScalarOp::Ne:
    return choose(atMost(-1) || atLeast(1), atMost(0) && atLeast(0));
  default:
    return std::nullopt;
  }
}

/// True if a number that `--set` may replace occurs: what it decides is decided on purpose.
bool ProgramBuilder::dependsOnSetting(const SyntaxExpr &expr) {
  if (expr.kind == SyntaxExpr::Name && integerLet(expr.name))
    return true;
  return llvm::any_of(expr.args, [&](const ExprPtr &arg) { return dependsOnSetting(*arg); });
}

/// The ranges of the indices of an expression: "i lies between 0 and 15; ..."
static std::string rangesOf(const SyntaxExpr &expr, llvm::StringSet<> &named,
                            llvm::function_ref<std::string(StringRef)> lastOf) {
  std::string text;
  if (expr.kind == SyntaxExpr::Name && named.insert(expr.name).second) {
    std::string last = lastOf(expr.name);
    return last.empty() ? "" : expr.name + " lies between 0 and " + last + "; ";
  }
  if (expr.kind == SyntaxExpr::Call && expr.name == "size")
    return "";
  for (const ExprPtr &arg : expr.args)
    text += rangesOf(*arg, named, lastOf);
  return text;
}

void ProgramBuilder::warnAboutComparison(const NameScope &scope, const SyntaxExpr &expr,
                                         const Scalar *left, const Scalar *right) {
  ScalarOp op = scalarOp(expr.op);
  if (scope.names != NameScope::Body || left->type != ScalarType::Int ||
      right->type != ScalarType::Int || ++comparisons > maxComparisons)
    return;
  IndexForms forms(intervals, facts);
  std::optional<IndexForm> form = forms.difference(left, right);
  if (!form || !form->hasIndex)
    return;
  if (op != ScalarOp::Eq && op != ScalarOp::Ne)
    warnAboutAlignment(scope, expr, *form);
  if (!overrides.values.empty() || dependsOnSetting(expr))
    return;
  std::optional<bool> always = decided(forms, op, *form);
  if (!always)
    return;
  llvm::StringSet<> named;
  std::string ranges = rangesOf(expr, named, [&](StringRef name) -> std::string {
    StringAttr dim = dimNamed(name);
    auto last = dim ? Polynomial::subtract(sizePolynomial(dim), Polynomial(1)) : std::nullopt;
    return last ? facts.print(*last) : "";
  });
  warn(scope.text.at(expr.place,
                     std::string("this comparison is always ") + (*always ? "true" : "false"),
                     ranges + (*always ? "leave the comparison out, or choose another bound"
                                       : "choose another bound")));
}

/// The extent that the spec itself gives or tries out: a static one, or that of its reference
/// shape.
std::optional<int64_t> ProgramBuilder::triedExtent(StringAttr dim) {
  if (std::optional<int64_t> extent = symbols.find(dim)->second.extent)
    return extent;
  const JsonValue *reference = root.find("reference");
  const JsonValue *shape = reference ? reference->find("shape") : nullptr;
  const JsonValue *extent = shape ? shape->find(dim.getValue()) : nullptr;
  return extent && extent->kind == JsonValue::Integer ? std::optional(extent->integer)
                                                      : std::nullopt;
}

/// Warns if two indices are compared from their starts although their extents may differ: a mask
/// written for self-attention, which means something else for a longer cache of keys. Nothing is
/// said where the extents are known to be equal, where a size or anything else shifts one of the
/// indices, and where the spec tries different extents: then it is meant.
void ProgramBuilder::warnAboutAlignment(const NameScope &scope, const SyntaxExpr &expr,
                                        const IndexForm &form) {
  IndexForms forms(intervals, facts);
  const IndexForm *pair = &form;
  std::optional<IndexForm> distance; // of abs(i - j) < w
  if (form.terms.size() == 1 && form.terms[0].value->kind == Scalar::Operation &&
      form.terms[0].value->op == ScalarOp::Abs && form.rest.constant()) {
    distance =
        forms.difference(form.terms[0].value->args[0], scalars.integer(builder.getUnknownLoc(), 0));
    pair = distance ? &*distance : pair;
  }
  if (pair->terms.size() != 2 || !pair->rest.constant() || !pair->terms[0].dim ||
      !pair->terms[1].dim || pair->terms[0].coefficient + pair->terms[1].coefficient != 0 ||
      std::abs(pair->terms[0].coefficient) != 1)
    return;
  StringAttr a = pair->terms[0].dim, b = pair->terms[1].dim;
  if (facts.normalise(sizePolynomial(a)) == facts.normalise(sizePolynomial(b)))
    return;
  const JsonValue *lengthA = symbols.find(a)->second.lengthText,
                  *lengthB = symbols.find(b)->second.lengthText;
  if (lengthA && lengthB && lengthA->text == lengthB->text)
    return;
  auto triedA = triedExtent(a), triedB = triedExtent(b);
  if (triedA && triedB && *triedA != *triedB)
    return;
  std::string x = a.str(), y = b.str();
  if (!warnedPairs.insert(std::min(x, y) + " " + std::max(x, y)).second)
    return;
  warn(scope.text.at(
      expr.place,
      "'" + x + "' and '" + y + "' are compared from their starts, and their extents may differ",
      "if they are always equal, say so in `require`: \"size(" + x + ") == size(" + y +
          ")\"; to align the ends, compare with " + y + " + size(" + x + ") - size(" + y +
          "); to align the starts, give the two different extents in the reference shape"));
}

/// The comparisons that `op` (and, or) joins, those behind other operators left out.
static void collectSides(const Scalar *condition, ScalarOp op,
                         SmallVectorImpl<const Scalar *> &sides) {
  if (condition->kind != Scalar::Operation || sides.size() >= maxSides)
    return;
  if (condition->op == op) {
    collectSides(condition->args[0], op, sides);
    collectSides(condition->args[1], op, sides);
  } else if (condition->args.front()->type == ScalarType::Int && condition->op >= ScalarOp::Lt &&
             condition->op <= ScalarOp::Ne) {
    sides.push_back(condition);
  }
}

/// Forms that are not negative exactly where the comparison holds (or, negated, where it does
/// not).
static SmallVector<IndexForm> notNegativeWhere(IndexForms &forms, const Scalar *comparison,
                                               bool negated) {
  auto form = forms.difference(comparison->args[0], comparison->args[1]);
  if (!form)
    return {};
  // x < y is y - x - 1 >= 0; its negation is x - y >= 0.
  auto below = IndexForms::affine(*form, -1, -1), atMost = IndexForms::affine(*form, -1, 0);
  auto above = IndexForms::affine(*form, 1, -1), atLeast = IndexForms::affine(*form, 1, 0);
  if (!below || !atMost || !above || !atLeast)
    return {};
  switch (comparison->op) {
  case ScalarOp::Lt:
    return {negated ? *atLeast : *below};
  case ScalarOp::Le:
    return {negated ? *above : *atMost};
  case ScalarOp::Gt:
    return {negated ? *atMost : *above};
  case ScalarOp::Ge:
    return {negated ? *below : *atLeast};
  case ScalarOp::Eq:
    return negated ? SmallVector<IndexForm>{} : SmallVector<IndexForm>{*atMost, *atLeast};
  case ScalarOp::Ne:
    return negated ? SmallVector<IndexForm>{*atMost, *atLeast} : SmallVector<IndexForm>{};
  default:
    return {};
  }
}

/// Warns if the two sides of an `and` exclude each other, or one side of an `or` always holds.
void ProgramBuilder::warnAboutPair(const NameScope &scope, const SyntaxExpr &expr,
                                   const Scalar *left, const Scalar *right) {
  bool isAnd = expr.op == Operator::And;
  if (scope.names != NameScope::Body || !overrides.values.empty() || dependsOnSetting(expr) ||
      comparisons > maxComparisons)
    return;
  SmallVector<const Scalar *> sides[2];
  collectSides(left, isAnd ? ScalarOp::And : ScalarOp::Or, sides[0]);
  collectSides(right, isAnd ? ScalarOp::And : ScalarOp::Or, sides[1]);
  IndexForms forms(intervals, facts);
  for (const Scalar *a : sides[0])
    for (const Scalar *b : sides[1])
      for (const IndexForm &x : notNegativeWhere(forms, a, !isAnd))
        for (const IndexForm &y : notNegativeWhere(forms, b, !isAnd)) {
          auto sum = IndexForms::add(x, y);
          if (!sum || !x.hasIndex || !y.hasIndex || !forms.provesAtMost(*sum, -1))
            continue;
          warn(scope.text.at(expr.place,
                             isAnd ? "the two sides of this `and` exclude each other: it is "
                                     "always false"
                                   : "one of the two sides of this `or` always holds: it is "
                                     "always true",
                             isAnd ? "compare with other bounds, or join the sides with `or`"
                                   : "compare with other bounds, or join the sides with `and`"));
          return;
        }
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

namespace {

/// The names that an expression mentions.
void collectNames(const SyntaxExpr &expr, llvm::StringSet<> &names) {
  if (!expr.name.empty())
    names.insert(expr.name);
  for (const ExprPtr &arg : expr.args)
    collectNames(*arg, names);
  if (expr.otherwise)
    collectNames(*expr.otherwise, names);
}

/// Every word of every text of a value.
void collectWords(const JsonValue &value, llvm::StringSet<> &words) {
  for (StringRef text = value.text; !text.empty();) {
    size_t length = nameLength(text, 0);
    if (length)
      words.insert(text.take_front(length));
    text = text.drop_front(std::max<size_t>(length, 1));
  }
  for (const JsonValue &element : value.elements)
    collectWords(element, words);
  for (const JsonMember &member : value.members)
    collectWords(member.value, words);
}

/// Names that a reader cannot tell apart.
class LookAlikes {
public:
  /// The earlier name that looks like this one, or "".
  std::string add(StringRef name) {
    auto [it, isNew] = first.try_emplace(lookAlike(name), name.str());
    return isNew || it->second == name ? "" : it->second;
  }

private:
  llvm::StringMap<std::string> first;
};

/// Results that nothing has used yet, in the order of their statements.
class PendingResults {
public:
  void use(const llvm::StringSet<> &names) {
    for (StringRef name : names.keys())
      pending.erase(name);
  }
  /// The place of the value that this one replaces, if nothing has used it.
  std::optional<Diagnostic> assign(StringRef name, Diagnostic place) {
    std::optional<Diagnostic> replaced;
    if (auto it = pending.find(name); it != pending.end())
      replaced = std::move(it->second.second);
    pending[name] = {order++, std::move(place)};
    return replaced;
  }
  /// Those that are left.
  std::vector<std::pair<std::string, Diagnostic>> rest() {
    std::map<size_t, std::pair<std::string, Diagnostic>> sorted;
    for (auto &entry : pending)
      sorted[entry.second.first] = {entry.first().str(), std::move(entry.second.second)};
    std::vector<std::pair<std::string, Diagnostic>> list;
    for (auto &[position, entry] : sorted)
      list.push_back(std::move(entry));
    return list;
  }

private:
  llvm::StringMap<std::pair<size_t, Diagnostic>> pending;
  size_t order = 0;
};

} // namespace

/// Warns about results and dims that nothing uses, and names that look the same. The body has been
/// checked: what does not parse is not there.
void ProgramBuilder::warnAboutStatements() {
  LookAlikes names;
  auto compare = [&](StringRef name, llvm::function_ref<Diagnostic()> place) {
    std::string other = names.add(name);
    if (other.empty())
      return;
    Diagnostic d = place();
    d.message = "the names '" + other + "' and '" + name.str() +
                "' look the same: " + unusualCharacters(other) + " in the first, " +
                unusualCharacters(name) + " in the second";
    d.remedy = "rename one of them, or write both with the same characters";
    warn(std::move(d));
  };
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind != Symbol::Result && symbol.kind != Symbol::Wrong)
      compare(name, [&, offset = symbol.offset] { return file.at(offset, ""); });

  PendingResults results;
  const JsonValue *body = root.find("body");
  for (const JsonValue &value : body ? ArrayRef(body->elements) : ArrayRef<JsonValue>()) {
    llvm::StringSet<> used;
    Diagnostics scratch;
    SourceText text(file, value);
    auto statement = value.kind == JsonValue::String ? parseStatement(text, scratch) : std::nullopt;
    if (!statement) {
      collectWords(value, used); // a repeat, whose names live on from turn to turn
      results.use(used);
      continue;
    }
    collectNames(*statement->value, used);
    results.use(used);
    Diagnostic place = text.at(statement->target.place, "");
    compare(statement->target.name, [&] { return place; });
    if (auto replaced = results.assign(statement->target.name, place)) {
      replaced->message = "the value of '" + statement->target.name + "' is replaced in line " +
                          std::to_string(place.line) + " before anything uses it";
      replaced->remedy = "use it there, or remove this statement";
      warn(std::move(*replaced));
    }
  }
  llvm::StringSet<> received;
  if (const JsonValue *outputs = root.find("outputs"))
    for (const JsonMember &member : outputs->members)
      received.insert(member.key);
  results.use(received);
  for (auto &[name, place] : results.rest()) {
    place.message = "the result '" + name + "' is never used";
    place.remedy = "use it, add it to `outputs`, or remove the statement";
    if (place.file == file.name()) // what a spec extends is not its own to change
      warn(std::move(place));
  }
  warnAboutDims();
}

void ProgramBuilder::warnAboutDims() {
  const JsonValue *dims = root.find("dims");
  if (!dims)
    return;
  llvm::StringSet<> words;
  for (const JsonMember &section : root.members)
    if (section.key != "doc" && section.key != "name" && section.key != "types")
      collectWords(section.value, words);
  for (const JsonMember &dim : dims->members)
    if (!words.contains(dim.key) && file.isOwn(dim.keyOffset))
      warn(file.at(dim.keyOffset, "the dim '" + dim.key + "' is never used", "remove it"));
}

} // namespace attnc
