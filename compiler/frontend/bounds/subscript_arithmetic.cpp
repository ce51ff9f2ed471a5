#include "compiler/frontend/bounds/subscript_arithmetic.h"

using namespace mlir;

namespace attnc {

/// How deep expressions are looked into; what is deeper counts as data.
static constexpr unsigned maxNesting = 1000;
/// What the runtime checks when shapes and params are bound.
static constexpr int64_t largestExtent = int64_t(1) << 30;
static constexpr int64_t largestParam = int64_t(1) << 40;

static constexpr int64_t least = std::numeric_limits<int64_t>::min();
static constexpr int64_t greatest = std::numeric_limits<int64_t>::max();

//===----------------------------------------------------------------------===//
// What values an expression can take
//===----------------------------------------------------------------------===//

SubscriptArithmetic::Reach SubscriptArithmetic::reach(const Scalar *s, unsigned depth) {
  if (auto it = known.find(s); it != known.end())
    return it->second;
  Reach result = {{least, greatest}, false, true};
  if (depth < maxNesting) {
    if (s->kind == Scalar::Array)
      result = ofArray(s, depth);
    else if (s->kind == Scalar::Operation)
      result = ofOperation(s, depth);
    else if (s->kind == Scalar::Constant)
      result = {{s->integer, s->integer}};
  }
  known[s] = result;
  return result;
}

SubscriptArithmetic::Reach SubscriptArithmetic::ofArray(const Scalar *s, unsigned depth) {
  if (const Scalar *source = intervals.sourceOf(s->array))
    return reach(source, depth + 1);
  Operation *op = s->array.getDefiningOp();
  if (isa<attn::IndexOp>(op))
    return {{0, largestExtent - 1}};
  if (isa<attn::SizeOp>(op))
    return {{0, largestExtent}};
  if (isa<attn::ParamOp>(op))
    return {{-largestParam, largestParam}};
  if (intervals.isLeaf(s->array)) // the length of a dim
    return {{0, largestExtent}, false, true};
  Reach result = {{least, greatest}, false, true};
  auto read = dyn_cast<attn::ReadOp>(op);
  if (!read)
    return result;
  auto stored = dyn_cast<IntegerType>(read.getSource().getType().getElementType());
  if (!stored || stored.getWidth() >= 64)
    return result;
  bool isUnsigned = stored.isUnsigned();
  result.lo = isUnsigned ? 0 : llvm::minIntN(stored.getWidth());
  result.hi =
      isUnsigned ? int64_t(llvm::maxUIntN(stored.getWidth())) : llvm::maxIntN(stored.getWidth());
  if (read.getOtherwise()) {
    auto other = static_cast<Wide>(read.getOtherwise()->convertToDouble());
    result.lo = std::min(result.lo, other);
    result.hi = std::max(result.hi, other);
  }
  return result;
}

/// The least and the greatest value of one step, were integers unbounded; nothing if any integer.
std::optional<SubscriptArithmetic::Span> SubscriptArithmetic::stepOf(ScalarOp op,
                                                                     ArrayRef<Reach> args) {
  auto magnitude = [](const Span &r) { return std::max(-r.lo, r.hi); };
  const Span &a = args.front(), &b = args.back();
  switch (op) {
  case ScalarOp::Add:
    return Span{a.lo + b.lo, a.hi + b.hi};
  case ScalarOp::Sub:
    return Span{a.lo - b.hi, a.hi - b.lo};
  case ScalarOp::Neg:
    return Span{-a.hi, -a.lo};
  case ScalarOp::Abs:
    return Span{0, magnitude(a)};
  case ScalarOp::Mul: {
    Wide corners[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    return Span{*llvm::min_element(corners), *llvm::max_element(corners)};
  }
  case ScalarOp::FloorDiv: // by 0 it is 0, and a divisor of -1 has been taken care of
    return b.lo >= 0 ? Span{std::min<Wide>(a.lo, 0), std::max<Wide>(a.hi, 0)}
                     : Span{least, greatest};
  case ScalarOp::Mod:
    return b.lo >= 0 ? Span{0, std::max<Wide>(b.hi - 1, 0)} : Span{least, greatest};
  case ScalarOp::Min:
    return Span{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
  case ScalarOp::Max:
    return Span{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
  case ScalarOp::Where:
    return Span{std::min(args[1].lo, b.lo), std::max(args[1].hi, b.hi)};
  default:
    return std::nullopt;
  }
}

/// True if the step computes anew and may leave ±(2^63 - 1).
bool SubscriptArithmetic::leaves(ScalarOp op, const Span &step) {
  bool computes = op == ScalarOp::Add || op == ScalarOp::Sub || op == ScalarOp::Mul ||
                  op == ScalarOp::Neg || op == ScalarOp::Abs;
  return computes && (step.lo < -greatest || step.hi > greatest);
}

SubscriptArithmetic::Reach SubscriptArithmetic::ofOperation(const Scalar *s, unsigned depth) {
  SmallVector<Reach, 3> args;
  Reach result = {{least, greatest}, false, false};
  for (const Scalar *arg : s->args) {
    args.push_back(reach(arg, depth + 1));
    result.wraps |= args.back().wraps;
    result.measured |= args.back().measured;
  }
  if (s->type != ScalarType::Int)
    return result;
  std::optional<Span> step = stepOf(s->op, args);
  result.measured |= !step;
  if (!step)
    return result;
  result.wraps |= leaves(s->op, *step);
  result.lo = std::max<Wide>(step->lo, least);
  result.hi = std::min<Wide>(step->hi, greatest);
  return result;
}

//===----------------------------------------------------------------------===//
// The expression with a check of each step
//===----------------------------------------------------------------------===//

const Scalar *SubscriptArithmetic::make(const Scalar *like, ScalarOp op, ScalarType type,
                                        ArrayRef<const Scalar *> args) {
  return scalars.operation(like->loc, op, type, args);
}

const Scalar *SubscriptArithmetic::both(const Scalar *a, const Scalar *b) {
  return a && b ? make(a, ScalarOp::And, ScalarType::Bool, {a, b}) : a ? a : b;
}

const Scalar *SubscriptArithmetic::checked(const Scalar *subscript) {
  Safe result = safe(subscript, 0);
  if (!result.valid)
    return result.value;
  return make(subscript, ScalarOp::Where, ScalarType::Int,
              {result.valid, result.value, constant(subscript, least)});
}

SubscriptArithmetic::Safe SubscriptArithmetic::safe(const Scalar *s, unsigned depth) {
  if (!reach(s, depth).wraps)
    return {s};
  if (auto it = rewritten.find(s); it != rewritten.end())
    return it->second;
  Safe result = s->kind == Scalar::Array   ? safe(intervals.sourceOf(s->array), depth + 1)
                : s->op == ScalarOp::Where ? safeChoice(s, depth)
                                           : safeOperation(s, depth);
  rewritten[s] = result;
  return result;
}

// Only the side that is taken has to be valid.
SubscriptArithmetic::Safe SubscriptArithmetic::safeChoice(const Scalar *s, unsigned depth) {
  Safe condition = safe(s->args[0], depth + 1);
  Safe a = safe(s->args[1], depth + 1), b = safe(s->args[2], depth + 1);
  auto choose = [&](ScalarType type, const Scalar *x, const Scalar *y) {
    return make(s, ScalarOp::Where, type, {condition.value, x, y});
  };
  const Scalar *valid = nullptr;
  if (a.valid || b.valid) {
    const Scalar *yes = scalars.condition(s->loc, true);
    valid = choose(ScalarType::Bool, a.valid ? a.valid : yes, b.valid ? b.valid : yes);
  }
  return {choose(s->type, a.value, b.value), both(condition.valid, valid)};
}

SubscriptArithmetic::Safe SubscriptArithmetic::safeOperation(const Scalar *s, unsigned depth) {
  SmallVector<const Scalar *, 3> args;
  SmallVector<Reach, 3> reaches;
  const Scalar *valid = nullptr;
  for (const Scalar *arg : s->args) {
    Safe operand = safe(arg, depth + 1);
    args.push_back(operand.value);
    valid = both(valid, operand.valid);
    reaches.push_back(reach(arg, depth + 1));
  }
  std::optional<Span> step = s->type == ScalarType::Int ? stepOf(s->op, reaches) : std::nullopt;
  if (!step || !leaves(s->op, *step))
    return {make(s, s->op, s->type, args), valid};
  if (s->op == ScalarOp::Mul && args[0]->isConstant())
    std::swap(args[0], args[1]);
  const Scalar *fits = fitsStep(s, args, step->hi > greatest, step->lo < -greatest);
  // The step itself must not leave 64 bits either where its value is not used.
  int64_t harmless = s->op == ScalarOp::Sub ? -1 : 0;
  args[0] = make(s, ScalarOp::Where, ScalarType::Int, {fits, args[0], constant(s, harmless)});
  return {make(s, s->op, s->type, args), both(valid, fits)};
}

/// The condition that the step stays within ±(2^63 - 1), given the ends that are in doubt; computed
/// within 64 bits itself.
const Scalar *SubscriptArithmetic::fitsStep(const Scalar *s, ArrayRef<const Scalar *> args,
                                            bool above, bool below) {
  const Scalar *a = args.front(), *b = args.back();
  const Scalar *zero = constant(s, 0), *most = constant(s, greatest),
               *fewest = constant(s, -greatest);
  auto number = [&](ScalarOp op, ArrayRef<const Scalar *> operands) {
    return make(s, op, ScalarType::Int, operands);
  };
  auto atMost = [&](const Scalar *x, const Scalar *y) {
    return make(s, ScalarOp::Le, ScalarType::Bool, {x, y});
  };
  auto equal = [&](const Scalar *x, const Scalar *y) {
    return make(s, ScalarOp::Eq, ScalarType::Bool, {x, y});
  };
  const Scalar *fits = nullptr;
  switch (s->op) {
  case ScalarOp::Add:
    if (above)
      fits = atMost(a, number(ScalarOp::Sub, {most, number(ScalarOp::Max, {b, zero})}));
    if (below)
      fits = both(
          fits,
          atMost(number(ScalarOp::Sub, {fewest, number(ScalarOp::Min, {b, constant(s, 1)})}), a));
    return fits;
  case ScalarOp::Sub:
    if (above)
      fits = atMost(a, number(ScalarOp::Add, {most, number(ScalarOp::Min, {b, zero})}));
    if (below)
      fits = both(
          fits,
          atMost(number(ScalarOp::Add, {fewest, number(ScalarOp::Max, {b, constant(s, -1)})}), a));
    return fits;
  case ScalarOp::Mul: {
    const Scalar *size = number(ScalarOp::Abs, {number(ScalarOp::Max, {b, fewest})});
    const Scalar *room =
        number(ScalarOp::FloorDiv, {most, number(ScalarOp::Max, {size, constant(s, 1)})});
    fits = both(atMost(a, room), atMost(number(ScalarOp::Neg, {room}), a));
    if (b->isConstant())
      return b->integer > least ? fits : equal(a, zero);
    fits = both(fits, atMost(fewest, b));
    const Scalar *none = make(s, ScalarOp::Or, ScalarType::Bool, {equal(a, zero), equal(b, zero)});
    return make(s, ScalarOp::Or, ScalarType::Bool, {fits, none});
  }
  default: // the negation or magnitude of the least integer
    return atMost(fewest, a);
  }
}

} // namespace attnc
