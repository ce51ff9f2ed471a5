// What a fold's lift is split into: terms, each of which a pass can keep.
#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include "dialects/Attn/SpecLocation.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

// Sums and products are multiplied out: expressions that are shared, x = y + y of y = z + z, have
// exponentially many summands. With more than this the fold gets a pass of its own.
static constexpr size_t kMaxParts = 1024;

// Names of results are looked for no further than this.
static constexpr size_t kMostBehind = 64;

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

StringRef Terms::nameOf(const ScalarExpr *e) {
  switch (e->kind) {
  case ScalarExpr::Kind::Op:
    return operationWord(e->op);
  case ScalarExpr::Kind::Div:
    return "/";
  case ScalarExpr::Kind::Mul:
    return "*";
  case ScalarExpr::Kind::Add:
    return "+";
  case ScalarExpr::Kind::Sub:
  case ScalarExpr::Kind::Neg:
    return "-";
  case ScalarExpr::Kind::Exp:
    return "exp";
  case ScalarExpr::Kind::Log:
    return "log";
  case ScalarExpr::Kind::Max:
    return "maximum";
  case ScalarExpr::Kind::Empty:
  case ScalarExpr::Kind::Equal:
    return "==";
  case ScalarExpr::Kind::Select:
    return "where";
  case ScalarExpr::Kind::Leaf:
    if (auto map = e->leaf.getDefiningOp<MapOp>())
      if (Operation *op = map.getYielded().getDefiningOp())
        return operationWord(op);
    return e->leaf.getDefiningOp<ReadOp>() ? "[ ]" : operationWord(e->leaf.getDefiningOp());
  case ScalarExpr::Kind::Constant:
    return "a constant";
  }
  llvm_unreachable("all kinds are named");
}

// The first result of the pass that `e` takes.
static const ScalarExpr *resultIn(const ScalarExpr *e) {
  if (!e->state)
    return nullptr;
  if (!e->stream && (e->leaf || e->origin))
    return e;
  for (const ScalarExpr *arg : e->args)
    if (const ScalarExpr *found = resultIn(arg))
      return found;
  return nullptr;
}

// The result of the pass that a contraction or a read takes, which expressions do not open.
Value Terms::resultBehind(Value array) {
  llvm::SmallSetVector<Value, 8> work;
  work.insert(array);
  for (size_t i = 0; i < std::min(work.size(), kMostBehind); ++i) {
    Operation *op = work[i].getDefiningOp();
    bool varies = leaf(work[i])->stream;
    if (!varies && !specName(work[i].getLoc()).empty())
      return work[i];
    for (Value operand : op->getOperands())
      if (isState(operand))
        work.insert(operand);
  }
  return {};
}

std::nullopt_t Terms::refuse(const ScalarExpr *e, StringRef property) {
  if (!refused.operation.empty())
    return std::nullopt;
  const ScalarExpr *result = resultIn(e);
  refused = {nameOf(e).str(), definitionOf(e), result ? specTextOf(result) : "", property.str()};
  for (Value array : leavesOf(e))
    if (Value behind = !result && isState(array) ? resultBehind(array) : Value())
      refused.result = specTextOf(behind);
  Operation *op = e->op;
  if (e->leaf) {
    op = e->leaf.getDefiningOp();
    auto read = dyn_cast<ReadOp>(op);
    refused.expression = read ? subscriptedWords(read) : definitionOf(e->leaf);
    refused.property = read ? "it reads the result at other elements than the pass is at"
                       : isComparedElement(e->leaf)
                           ? "it is compared with its own maximum or minimum, which is one of its "
                             "elements to the last digit only if both are computed in one way"
                           : "it folds the result together with what varies along "
                             "the stream: " +
                                 property.str();
  }
  if (auto place = op ? op->getLoc()->findInstanceOf<FileLineColLoc>() : FileLineColLoc())
    refused.line = place.getLine();
  return std::nullopt;
}

bool Terms::summands(const ScalarExpr *e, SmallVectorImpl<const ScalarExpr *> &out) {
  if (!appendSummands(e, out))
    return false;
  if (out.size() > kMaxParts)
    refuse(e, "it adds up too many summands");
  return out.size() <= kMaxParts;
}

bool Terms::appendSummands(const ScalarExpr *e, SmallVectorImpl<const ScalarExpr *> &out) {
  if (!e->state) {
    out.push_back(e);
    return true;
  }
  SmallVector<const ScalarExpr *> parts;
  switch (e->kind) {
  case ScalarExpr::Kind::Add:
    return summands(e->args[0], out) && summands(e->args[1], out);
  case ScalarExpr::Kind::Sub:
    if (!summands(e->args[0], out) || !summands(e->args[1], parts))
      return false;
    for (const ScalarExpr *part : parts)
      out.push_back(neg(part));
    return true;
  case ScalarExpr::Kind::Neg:
    if (!summands(e->args[0], parts))
      return false;
    for (const ScalarExpr *part : parts)
      out.push_back(neg(part));
    return true;
  case ScalarExpr::Kind::Mul:
  case ScalarExpr::Kind::Div: {
    bool left = e->kind == ScalarExpr::Kind::Mul && e->args[0]->neutral();
    const ScalarExpr *factor = e->args[left ? 0 : 1], *rest = e->args[left ? 1 : 0];
    if (!factor->neutral())
      break;
    if (!summands(rest, parts))
      return false;
    for (const ScalarExpr *part : parts)
      out.push_back(part->kind == ScalarExpr::Kind::Neg
                        ? neg(binary(e->kind, part->args[0], factor))
                        : binary(e->kind, part, factor));
    return true;
  }
  case ScalarExpr::Kind::Log:
    if (e->stream)
      return appendLogarithm(e->args[0], out);
    break;
  default:
    break;
  }
  if (e->stream) {
    refuse(e, "it is not a sum a(x) + b(g) of what varies along the stream and of results");
    return false;
  }
  out.push_back(e);
  return true;
}

// log(exp(a + b) * B) = a + b + log(B).
bool Terms::appendLogarithm(const ScalarExpr *argument, SmallVectorImpl<const ScalarExpr *> &out) {
  std::optional<SmallVector<Term>> terms = split(argument);
  if (!terms)
    return false;
  const Term &term = terms->front();
  if (terms->size() > 1 || !term.differences.empty() || term.condition) {
    refuse(argument, "log takes products apart, not sums");
    return false;
  }
  if (!term.factors.empty() && !term.outer.empty()) {
    refuse(argument, "log takes products apart only where the sign of each factor is proven");
    return false;
  }
  usedRules.insert(derivation::Rule::LogSplit);
  if (term.exponent)
    out.push_back(term.exponent);
  llvm::append_range(out, term.shift);
  auto product = [&](ArrayRef<const ScalarExpr *> factors) {
    const ScalarExpr *result = factors.front();
    for (const ScalarExpr *factor : factors.drop_front())
      result = binary(ScalarExpr::Kind::Mul, result, factor);
    return result;
  };
  for (ArrayRef<const ScalarExpr *> factors :
       {ArrayRef<const ScalarExpr *>(term.factors), ArrayRef<const ScalarExpr *>(term.outer)})
    if (!factors.empty())
      out.push_back(log(product(factors)));
  return true;
}

std::optional<Term> Terms::splitSum(const ScalarExpr *e) {
  SmallVector<const ScalarExpr *> parts, along;
  if (!summands(e, parts))
    return std::nullopt;
  Term term;
  for (const ScalarExpr *part : parts)
    if (part->stream)
      along.push_back(part);
    else
      term.shift.push_back(part);
  if (along.empty())
    return refuse(e, "it does not vary along the stream");
  term.exponent = sum(along);
  return term;
}

std::optional<SmallVector<Term>> Terms::splitExp(const ScalarExpr *e, double base) {
  const ScalarExpr *argument = e->args[0];
  if (base != M_E) {
    // base^x is exp(x log base); one f32 holds too little of the logarithm. The rest is subtracted
    // where it is negative, so that x = -inf stays -inf.
    double whole = std::log(base), high = static_cast<float>(whole);
    double low = static_cast<float>(std::abs(whole - high)); // as it will be read again
    const ScalarExpr *main =
        binary(ScalarExpr::Kind::Mul, argument, constant(argument->type, high));
    const ScalarExpr *rest = binary(ScalarExpr::Kind::Mul, argument, constant(argument->type, low));
    argument = binary(whole < high ? ScalarExpr::Kind::Sub : ScalarExpr::Kind::Add, main, rest);
  }
  std::optional<Term> term = splitSum(argument);
  if (!term)
    return std::nullopt;
  return SmallVector<Term>{*term};
}

// Multiples of one value are one summand, as those of one exponent are one exponent.
void Terms::appendShift(Term &term, const ScalarExpr *part) {
  for (const ScalarExpr *&known : term.shift)
    if (const ScalarExpr *multiple = sumOfMultiples(known, part)) {
      known = multiple;
      return;
    }
  term.shift.push_back(part);
}

std::optional<SmallVector<Term>> Terms::splitProduct(const ScalarExpr *x, const ScalarExpr *y) {
  std::optional<SmallVector<Term>> left = split(x);
  std::optional<SmallVector<Term>> right = left ? split(y) : std::nullopt;
  if (!right)
    return std::nullopt;
  if (left->size() * right->size() > kMaxTerms)
    return refuse(x, "it multiplies out into more than four terms");
  SmallVector<Term> terms;
  for (const Term &l : *left)
    for (const Term &r : *right) {
      if (l.condition && r.condition)
        return refuse(x, "it multiplies two values that count only where a weight does");
      if (l.differences.size() + r.differences.size() > 2)
        return refuse(x, "it multiplies more than two differences: multiplied out they would "
                         "cancel");
      if (!l.differences.empty() && !r.differences.empty() &&
          !sameExpression(l.differences[0].base, r.differences[0].base))
        return refuse(x, "it multiplies differences of two values: multiplied out they would "
                         "cancel");
      Term term = l;
      term.vanishes |= r.vanishes;
      llvm::append_range(term.differences, r.differences);
      if (r.condition) {
        term.condition = r.condition;
        term.countsWhere = r.countsWhere;
        term.weight = r.weight;
      }
      llvm::append_range(term.factors, r.factors);
      for (const ScalarExpr *part : r.shift)
        appendShift(term, part);
      llvm::append_range(term.outer, r.outer);
      if (term.factors.size() + term.shift.size() + term.outer.size() > kMaxParts)
        return refuse(x, "it multiplies out into too many factors");
      if (term.exponent && r.exponent) {
        const ScalarExpr *multiple = sumOfMultiples(term.exponent, r.exponent);
        term.exponent =
            multiple ? multiple : binary(ScalarExpr::Kind::Add, term.exponent, r.exponent);
      } else if (r.exponent)
        term.exponent = r.exponent;
      terms.push_back(std::move(term));
    }
  return terms;
}

// Appends signed summands of `e`; those that mix the stream with a state are no sums.
bool Terms::flatten(const ScalarExpr *e, bool negative, SmallVectorImpl<const ScalarExpr *> &out) {
  bool mixes = e->stream && e->state;
  if (out.size() >= kMaxParts) {
    refuse(e, "it adds up too many summands");
    return false;
  }
  if (mixes && e->kind == ScalarExpr::Kind::Log) {
    SmallVector<const ScalarExpr *> parts;
    if (!appendLogarithm(e->args[0], parts))
      return false;
    for (const ScalarExpr *part : parts)
      out.push_back(negative ? neg(part) : part);
    return true;
  }
  if (!mixes && !(e->stream && hasWeight(e))) {
    out.push_back(negative ? neg(e) : e);
    return true;
  }
  switch (e->kind) {
  case ScalarExpr::Kind::Add:
    return flatten(e->args[0], negative, out) && flatten(e->args[1], negative, out);
  case ScalarExpr::Kind::Sub:
    return flatten(e->args[0], negative, out) && flatten(e->args[1], !negative, out);
  case ScalarExpr::Kind::Neg:
    return flatten(e->args[0], !negative, out);
  default:
    out.push_back(negative ? neg(e) : e);
    return true;
  }
}

// A sum is one term for each summand. What varies along the stream and what depends on a state,
// x and g, stay together as the difference x - (-g): apart, they would cancel in products.
std::optional<SmallVector<Term>> Terms::splitDifferences(const ScalarExpr *e) {
  SmallVector<const ScalarExpr *> parts, along, states;
  if (!flatten(e, false, parts))
    return std::nullopt;
  SmallVector<Term> terms;
  for (const ScalarExpr *part : parts) {
    if (part->stream && (part->state || hasWeight(part))) {
      std::optional<SmallVector<Term>> mixed = split(part);
      if (!mixed)
        return std::nullopt;
      llvm::append_range(terms, *mixed);
    } else {
      (part->state ? states : along).push_back(part);
    }
  }
  bool varies = llvm::any_of(along, [](const ScalarExpr *part) { return part->stream; });
  Term rest;
  if (varies && !states.empty()) {
    rest.differences.push_back({sum(along), neg(states.front()), false});
    for (const ScalarExpr *part : ArrayRef(states).drop_front())
      rest.differences[0].centre =
          part->kind == ScalarExpr::Kind::Neg
              ? binary(ScalarExpr::Kind::Add, rest.differences[0].centre, part->args[0])
              : binary(ScalarExpr::Kind::Sub, rest.differences[0].centre, part);
  } else if (varies) {
    rest.factors.push_back(sum(along));
  } else {
    llvm::append_range(along, states);
    if (!along.empty())
      rest.outer.push_back(sum(along));
  }
  if (!along.empty() || !states.empty())
    terms.push_back(std::move(rest));
  return terms.size() <= kMaxTerms ? std::optional(terms)
                                   : refuse(e, "it has more than four terms");
}

std::optional<SmallVector<Term>> Terms::split(const ScalarExpr *e) {
  Term term;
  if (e->kind == ScalarExpr::Kind::Mul)
    return splitProduct(e->args[0], e->args[1]);
  if ((!e->state || !e->stream) && !hasWeight(e)) {
    (e->stream ? term.factors : term.outer).push_back(e);
    return SmallVector<Term>{term};
  }
  switch (e->kind) {
  case ScalarExpr::Kind::Add:
  case ScalarExpr::Kind::Sub:
  case ScalarExpr::Kind::Log:
    return splitDifferences(e);
  case ScalarExpr::Kind::Neg: {
    std::optional<SmallVector<Term>> terms = split(e->args[0]);
    if (terms)
      for (Term &t : *terms)
        t.outer.push_back(constant(e->type, -1));
    return terms;
  }
  case ScalarExpr::Kind::Div:
    if (e->args[1]->stream && e->args[1]->state)
      return refuse(e, "it divides by a value that varies along the stream and with the result: 1 "
                       "/ (x + g) is no "
                       "product of a part of x and a part of g");
    return splitProduct(e->args[0],
                        binary(ScalarExpr::Kind::Div, constant(e->type, 1), e->args[1]));
  case ScalarExpr::Kind::Exp:
    return splitExp(e, M_E);
  case ScalarExpr::Kind::Select:
    return splitSelect(e);
  case ScalarExpr::Kind::Op:
    if (double base = exponentialBase(e); base != 0)
      return splitExp(e, base);
    if (const ScalarExpr *n = powerOf(e))
      return splitPower(e, n);
    if (std::optional<SmallVector<Term>> terms = splitHomogeneous(e))
      return terms;
    break;
  default:
    break;
  }
  return refuse(e, "it is not a homomorphism from + to * and not a product, so the result has no "
                   "place in an exponent or a factor of a term");
}

} // namespace attnc
