// What is said about a subscript that is not proven to stay inside: which bound is missing, and a
// fact of `require` from which the proof follows.
#include "compiler/frontend/program/program_builder.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace attnc {

/// How far divisions are looked for in a subscript.
static constexpr unsigned maxDivisionDepth = 8;

static bool isConstant(ArrayRef<Polynomial> bounds) {
  return !bounds.empty() && bounds.front().constant();
}

/// The greatest value that is known, or "".
std::string ProgramBuilder::greatestOf(const Scalar *value) {
  Interval interval = intervals.interval(value);
  const Scalar *s = intervals.resolved(value);
  bool isQuotient = s->kind == Scalar::Operation && s->op == ScalarOp::FloorDiv;
  if (isQuotient && !interval.exact && !isConstant(interval.upper)) {
    std::string dividend = greatestOf(s->args[0]);
    auto divisor = intervals.interval(s->args[1]).exact;
    if (dividend.empty() || !divisor)
      return "";
    auto grouped = [](std::string text) {
      return text.find(' ') == std::string::npos ? text : "(" + text + ")";
    };
    return grouped(dividend) + " // " + grouped(facts.print(*divisor));
  }
  return interval.upper.empty() ? "" : facts.print(interval.upper[0]);
}

/// A polynomial as `require` may hold it; nothing where it has a size that only tensors say.
std::optional<std::string> ProgramBuilder::spelledInSizes(const Polynomial &size) {
  auto isKnown = [&](const Polynomial &p) {
    return llvm::none_of(symbols, [&](const auto &entry) {
      const Symbol &symbol = entry.second;
      if (symbol.kind != Symbol::Dim || !symbol.lengthText || symbol.extent)
        return false;
      return p.contains(*sizePolynomial(entry.first).asAtom());
    });
  };
  for (const Polynomial &p : {size, facts.normalise(size)})
    if (isKnown(p))
      return facts.print(p);
  return std::nullopt;
}

/// Quotients of sizes that could be exact, as in k[b, h // (size(h) // size(hk)), j, d].
void ProgramBuilder::collectDivisions(const Scalar *value, unsigned depth,
                                      std::vector<PossibleFact> &found) {
  const Scalar *s = intervals.resolved(value);
  if (s->kind != Scalar::Operation || depth >= maxDivisionDepth)
    return;
  for (const Scalar *arg : s->args)
    collectDivisions(arg, depth + 1, found);
  if (s->op != ScalarOp::FloorDiv || s->type != ScalarType::Int)
    return;
  auto dividend = intervals.interval(s->args[0]).exact,
       divisor = intervals.interval(s->args[1]).exact;
  if (!dividend || !divisor || dividend->constant())
    return;
  auto a = spelledInSizes(*dividend), b = spelledInSizes(*divisor);
  auto grouped = [](std::string text, bool isProduct) {
    return isProduct ? text : "(" + text + ")";
  };
  if (a && b)
    found.push_back({grouped(*a, dividend->all().size() == 1) + " % " +
                         grouped(*b, divisor->asAtom() || divisor->constant()) + " == 0",
                     [=](SizeFacts &sizes) { sizes.assumeDivides(*dividend, *divisor); }});
}

/// The missing bounds as comparisons of sizes. A quotient's bound is one of what is divided.
std::optional<ProgramBuilder::PossibleFact>
ProgramBuilder::boundsAsFact(const Scalar *value, const Polynomial &size, bool above, bool below) {
  PossibleFact fact;
  std::vector<Polynomial> rooms;
  // A comparison helps only if some larger size makes it hold.
  auto require = [&](const Polynomial &low, const Polynomial &high) {
    auto room = Polynomial::subtract(facts.normalise(high), facts.normalise(low));
    auto lowText = spelledInSizes(low), highText = spelledInSizes(high);
    if (!room || !lowText || !highText || llvm::none_of(room->all(), [](const auto &term) {
          return !term.first.empty() && term.second > 0;
        }))
      return false;
    fact.text += (fact.text.empty() ? "" : "\" and \"") + *lowText + " <= " + *highText;
    rooms.push_back(*room);
    return true;
  };
  if (!above) {
    Interval interval = intervals.interval(value);
    if (interval.lower.empty() || !require(Polynomial(0), interval.lower[0]))
      return std::nullopt;
  }
  if (!below) {
    const Scalar *term = intervals.resolved(value);
    auto bound = Polynomial::subtract(size, Polynomial(1));
    while (auto next = bound && !isConstant(intervals.interval(term).upper)
                           ? intervals.dividendAtMost(term, *bound)
                           : std::nullopt) {
      bound = next;
      term = intervals.resolved(term->args[0]);
    }
    Interval interval = intervals.interval(term);
    auto end =
        interval.upper.empty() ? std::nullopt : Polynomial::add(interval.upper[0], Polynomial(1));
    auto limit = bound ? Polynomial::add(*bound, Polynomial(1)) : std::nullopt;
    if (!end || !limit || !require(*end, *limit))
      return std::nullopt;
  }
  fact.assume = [=](SizeFacts &sizes) {
    for (const Polynomial &room : rooms)
      sizes.assumeNotNegative(room);
  };
  return fact;
}

/// A fact with which the subscript is proven to stay inside. It has been tried.
std::optional<std::string>
ProgramBuilder::factThatHelps(const NameScope &scope, const SyntaxExpr &subscript,
                              const Scalar *value, const Polynomial &size, bool above, bool below) {
  std::vector<PossibleFact> candidates;
  collectDivisions(value, 0, candidates);
  if (auto bounds = boundsAsFact(value, size, above, below))
    candidates.push_back(std::move(*bounds));
  auto last = Polynomial::subtract(size, Polynomial(1));
  const SizeFacts known = facts;
  for (const PossibleFact &candidate : candidates) {
    candidate.assume(facts);
    intervals.forget();
    // Evaluated anew: how a quotient is computed depends on what is known of its divisor.
    llvm::SaveAndRestore quiet(repeats, true);
    const Scalar *tried = evaluate(scope, subscript);
    bool proven = last && intervals.provesAtLeast(tried, Polynomial(0)) &&
                  intervals.provesAtMost(tried, *last);
    facts = known;
    intervals.forget();
    if (proven)
      return candidate.text;
  }
  return std::nullopt;
}

/// Reports a subscript that is not proven to stay inside: what is missing `above` 0 or `below` the
/// extent, and what would help.
bool ProgramBuilder::refuseSubscript(const NameScope &scope, const SyntaxExpr &read,
                                     const SyntaxExpr &subscript, StringAttr axis,
                                     const Scalar *value, bool above, bool below) {
  if (extentsIncomplete)
    return false;
  Interval interval = intervals.interval(value);
  Polynomial size = sizePolynomial(axis);
  std::string extent = "size(" + axis.str() + ")";
  std::string message = "cannot show that the subscript `" + scope.quote(subscript) +
                        "` stays inside '" + axis.str() + "' of " + read.name + ":";
  if (!above) {
    message += " it may be below 0";
    if (!interval.lower.empty())
      message += " (its least value is " + facts.print(interval.lower[0]) + ")";
  }
  if (!below) {
    message += std::string(above ? "" : " and") + " it may reach " + extent;
    if (size.constant())
      message += " = " + std::to_string(*size.constant());
    if (std::string greatest = greatestOf(value); !greatest.empty())
      message += " (its greatest value is " + greatest + ")";
  }
  std::string otherwise = "add `else 0` after the subscripts";
  constexpr size_t longest = 60; // of a read that is worth repeating
  if (std::string whole = scope.quote(read); whole.size() <= longest)
    otherwise += ": `" + whole + " else 0`";
  std::string remedy = otherwise;
  if (auto fact = factThatHelps(scope, subscript, value, size, above, below))
    remedy = "if it always stays inside, add to `require`: \"" + *fact + "\"; where it may not, " +
             otherwise;
  else if (value->isConstant() && value->integer < 0)
    remedy = "subscripts count from the start, and the last one is " + extent + " - 1: write `" +
             extent + " - " + std::to_string(0 - static_cast<uint64_t>(value->integer)) +
             "`; where it may be outside, " + otherwise;
  report(scope, subscript.begin, std::move(message), std::move(remedy));
  return false;
}

} // namespace attnc
