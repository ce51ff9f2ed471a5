#include "compiler/transforms/terms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

// More terms than this are not worth a state each.
static constexpr size_t kMaxTerms = 4;
// Sums and products are multiplied out: expressions that are shared, x = y + y of y = z + z, have
// exponentially many summands. With more than this the fold gets a pass of its own.
static constexpr size_t kMaxParts = 1024;

//===----------------------------------------------------------------------===//
// Building expressions
//===----------------------------------------------------------------------===//

const ScalarExpr *Terms::make(ScalarExpr::Kind kind, Type type, ArrayRef<const ScalarExpr *> args,
                              Operation *op) {
  ScalarExpr &e = pool.emplace_back();
  e.kind = kind;
  e.type = type;
  e.op = op;
  llvm::append_range(e.args, args);
  for (const ScalarExpr *arg : args) {
    e.stream |= arg->stream;
    e.state |= arg->state;
  }
  return &e;
}

const ScalarExpr *Terms::leaf(Value array) {
  auto type = cast<attn::ArrayType>(array.getType());
  ScalarExpr &e = pool.emplace_back();
  e.kind = ScalarExpr::Kind::Leaf;
  e.type = type.getElementType();
  e.leaf = array;
  e.stream = llvm::any_of(stream, [&](StringAttr dim) { return type.hasDim(dim); });
  e.state = isState(array);
  return &e;
}

const ScalarExpr *Terms::constant(Type type, double value) {
  const ScalarExpr *e = make(ScalarExpr::Kind::Constant, type, {});
  pool.back().constant = value;
  return e;
}

const ScalarExpr *Terms::neg(const ScalarExpr *x) {
  if (x->kind == ScalarExpr::Kind::Neg)
    return x->args[0];
  if (x->kind == ScalarExpr::Kind::Constant)
    return constant(x->type, -x->constant);
  return make(ScalarExpr::Kind::Neg, x->type, {x});
}

const ScalarExpr *Terms::binary(ScalarExpr::Kind kind, const ScalarExpr *x, const ScalarExpr *y) {
  return make(kind, x->type, {x, y});
}

const ScalarExpr *Terms::exp(const ScalarExpr *x) {
  return make(ScalarExpr::Kind::Exp, x->type, {x});
}

const ScalarExpr *Terms::sum(ArrayRef<const ScalarExpr *> summands) {
  const ScalarExpr *total = summands.front();
  for (const ScalarExpr *x : summands.drop_front())
    total = x->kind == ScalarExpr::Kind::Neg ? binary(ScalarExpr::Kind::Sub, total, x->args[0])
                                             : binary(ScalarExpr::Kind::Add, total, x);
  return total;
}

const ScalarExpr *Terms::select(const ScalarExpr *condition, const ScalarExpr *x,
                                const ScalarExpr *y) {
  return make(ScalarExpr::Kind::Select, x->type, {condition, x, y});
}

const ScalarExpr *Terms::of(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  if (!map || !isState(array))
    return leaf(array);
  return open(map, map.getYielded());
}

const ScalarExpr *Terms::open(MapOp map, Value scalar) {
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return of(map.getOperand(argument.getArgNumber()));
  if (const ScalarExpr *known = opened.lookup(scalar))
    return known;
  Operation *op = scalar.getDefiningOp();
  SmallVector<const ScalarExpr *> args;
  for (Value operand : op->getOperands())
    args.push_back(open(map, operand));
  const ScalarExpr *e = nullptr;
  if (auto literal = dyn_cast<arith::ConstantOp>(op); literal && isa<FloatAttr>(literal.getValue()))
    e = constant(scalar.getType(), cast<FloatAttr>(literal.getValue()).getValueAsDouble());
  else if (isa<arith::NegFOp>(op))
    e = neg(args[0]);
  else if (isa<arith::SelectOp>(op) && isa<FloatType>(scalar.getType()))
    e = make(ScalarExpr::Kind::Select, scalar.getType(), args);
  else {
    auto kind = llvm::TypeSwitch<Operation *, ScalarExpr::Kind>(op)
                    .Case<arith::AddFOp>([](auto) { return ScalarExpr::Kind::Add; })
                    .Case<SubOp>([](auto) { return ScalarExpr::Kind::Sub; })
                    .Case<arith::MulFOp>([](auto) { return ScalarExpr::Kind::Mul; })
                    .Case<arith::DivFOp>([](auto) { return ScalarExpr::Kind::Div; })
                    .Case<math::ExpOp>([](auto) { return ScalarExpr::Kind::Exp; })
                    .Default([](auto) { return ScalarExpr::Kind::Op; });
    e = make(kind, scalar.getType(), args, op);
  }
  return opened[scalar] = e;
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

static StringRef operationName(const ScalarExpr *e) {
  switch (e->kind) {
  case ScalarExpr::Kind::Op:
    return e->op->getName().stripDialect();
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
  case ScalarExpr::Kind::Select:
    return "where";
  case ScalarExpr::Kind::Leaf:
  case ScalarExpr::Kind::Constant:
    return "a value";
  }
  return "a value";
}

std::nullopt_t Terms::refuse(const ScalarExpr *e, StringRef reason) {
  refuse(operationName(e), reason);
  return std::nullopt;
}

// Appends expressions whose sum is `e`, each of which varies along the stream or depends on a
// state, not both; false if there are none, or too many.
bool Terms::summands(const ScalarExpr *e, SmallVectorImpl<const ScalarExpr *> &out) {
  if (!appendSummands(e, out))
    return false;
  if (out.size() > kMaxParts)
    refuse(e, "adds up too many summands");
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
      out.push_back(binary(e->kind, part, factor));
    return true;
  }
  default:
    break;
  }
  if (e->stream) {
    refuse(e, "mixes the stream with a result of the same pass and is not a sum");
    return false;
  }
  out.push_back(e);
  return true;
}

std::optional<Term> Terms::splitSum(const ScalarExpr *e) {
  SmallVector<const ScalarExpr *> parts, along;
  if (!summands(e, parts))
    return std::nullopt;
  Term term;
  for (const ScalarExpr *part : parts)
    (part->stream ? along : term.shift).push_back(part);
  if (along.empty())
    return refuse(e, "does not vary along the stream");
  term.exponent = sum(along);
  return term;
}

std::optional<SmallVector<Term>> Terms::splitExp(const ScalarExpr *e, double base) {
  const ScalarExpr *argument = e->args[0];
  if (base != M_E) {
    // base^x is exp(x log base); one f32 holds too little of the logarithm. The rest is subtracted
    // where it is negative, so that x = -inf stays -inf.
    double whole = std::log(base), high = static_cast<float>(whole);
    const ScalarExpr *main =
        binary(ScalarExpr::Kind::Mul, argument, constant(argument->type, high));
    const ScalarExpr *rest =
        binary(ScalarExpr::Kind::Mul, argument, constant(argument->type, std::abs(whole - high)));
    argument = binary(whole < high ? ScalarExpr::Kind::Sub : ScalarExpr::Kind::Add, main, rest);
  }
  std::optional<Term> term = splitSum(argument);
  if (!term)
    return std::nullopt;
  return SmallVector<Term>{*term};
}

std::optional<SmallVector<Term>> Terms::splitProduct(const ScalarExpr *x, const ScalarExpr *y) {
  std::optional<SmallVector<Term>> left = split(x);
  std::optional<SmallVector<Term>> right = left ? split(y) : std::nullopt;
  if (!right)
    return std::nullopt;
  if (left->size() * right->size() > kMaxTerms)
    return refuse(x, "multiplies out into too many terms");
  SmallVector<Term> terms;
  for (const Term &l : *left)
    for (const Term &r : *right) {
      Term term = l;
      llvm::append_range(term.factors, r.factors);
      llvm::append_range(term.shift, r.shift);
      llvm::append_range(term.outer, r.outer);
      if (term.factors.size() + term.shift.size() + term.outer.size() > kMaxParts)
        return refuse(x, "multiplies out into too many factors");
      if (term.exponent && r.exponent)
        term.exponent = binary(ScalarExpr::Kind::Add, term.exponent, r.exponent);
      else if (r.exponent)
        term.exponent = r.exponent;
      terms.push_back(std::move(term));
    }
  return terms;
}

// False if finite elements may give an infinity or a NaN: a weight of 0 does not hide these.
static bool keepsFinite(const ScalarExpr *whole) {
  SmallVector<const ScalarExpr *> left = {whole};
  llvm::SmallPtrSet<const ScalarExpr *, 16> seen;
  while (!left.empty()) {
    const ScalarExpr *e = left.pop_back_val();
    if (!seen.insert(e).second)
      continue;
    switch (e->kind) {
    case ScalarExpr::Kind::Leaf:
      break;
    case ScalarExpr::Kind::Constant:
      if (!std::isfinite(e->constant))
        return false;
      break;
    case ScalarExpr::Kind::Select: // whatever the condition
      llvm::append_range(left, ArrayRef(e->args).drop_front());
      break;
    case ScalarExpr::Kind::Neg:
    case ScalarExpr::Kind::Add:
    case ScalarExpr::Kind::Sub:
    case ScalarExpr::Kind::Mul:
      llvm::append_range(left, e->args);
      break;
    case ScalarExpr::Kind::Op:
    case ScalarExpr::Kind::Div:
    case ScalarExpr::Kind::Exp:
      return false;
    }
  }
  return true;
}

// where(c, t, f) = [c] t + [not c] f: a condition along the stream goes into the exponent where
// there is one (an empty weight), else into the coefficient; and into every other factor that may
// be infinite where the condition leaves it out.
std::optional<SmallVector<Term>> Terms::splitSelect(const ScalarExpr *e) {
  const ScalarExpr *condition = e->args[0];
  if (condition->state)
    return condition->stream
               ? refuse(e, "has a condition that mixes the stream with a result of the same pass")
               : refuse(e, "has a condition that depends on a result of the same pass");
  SmallVector<Term> terms;
  for (unsigned side : {1u, 2u}) {
    const ScalarExpr *value = e->args[side];
    if (value->kind == ScalarExpr::Kind::Constant && value->constant == 0)
      continue;
    std::optional<SmallVector<Term>> part = split(value);
    if (!part)
      return std::nullopt;
    auto guarded = [&](const ScalarExpr *x, double otherwise) {
      const ScalarExpr *empty = constant(x->type, otherwise);
      return side == 1 ? select(condition, x, empty) : select(condition, empty, x);
    };
    for (Term &term : *part) {
      if (!term.exponent && term.factors.empty())
        term.factors.push_back(constant(e->type, 1));
      if (term.exponent)
        term.exponent = guarded(term.exponent, -INFINITY);
      for (auto [number, factor] : llvm::enumerate(term.factors))
        if ((number == 0 && !term.exponent) || !keepsFinite(factor))
          factor = guarded(factor, 0);
      terms.push_back(std::move(term));
    }
  }
  if (terms.size() > kMaxTerms)
    return refuse(e, "splits into too many terms");
  return terms;
}

std::optional<SmallVector<Term>> Terms::split(const ScalarExpr *e) {
  Term term;
  if (e->kind == ScalarExpr::Kind::Mul)
    return splitProduct(e->args[0], e->args[1]);
  if (!e->state || !e->stream) {
    (e->stream ? term.factors : term.outer).push_back(e);
    return SmallVector<Term>{term};
  }
  switch (e->kind) {
  case ScalarExpr::Kind::Add:
  case ScalarExpr::Kind::Sub: {
    std::optional<SmallVector<Term>> left = split(e->args[0]);
    if (!left)
      return std::nullopt;
    std::optional<SmallVector<Term>> right =
        split(e->kind == ScalarExpr::Kind::Add ? e->args[1] : neg(e->args[1]));
    if (!right)
      return std::nullopt;
    llvm::append_range(*left, *right);
    return left->size() <= kMaxTerms ? left : refuse(e, "has too many terms");
  }
  case ScalarExpr::Kind::Neg: {
    std::optional<SmallVector<Term>> terms = split(e->args[0]);
    if (terms)
      for (Term &t : *terms)
        t.outer.push_back(constant(e->type, -1));
    return terms;
  }
  case ScalarExpr::Kind::Div:
    if (e->args[1]->stream && e->args[1]->state)
      return refuse(e, "divides by a value that mixes the stream with a result of the same pass");
    return splitProduct(e->args[0],
                        binary(ScalarExpr::Kind::Div, constant(e->type, 1), e->args[1]));
  case ScalarExpr::Kind::Exp:
    return splitExp(e, M_E);
  case ScalarExpr::Kind::Select:
    return splitSelect(e);
  case ScalarExpr::Kind::Op:
    if (isa<math::Exp2Op>(e->op))
      return splitExp(e, 2);
    break;
  default:
    break;
  }
  return refuse(e, "mixes the stream with a result of the same pass, and has no form that can be "
                   "updated while the stream goes by");
}

//===----------------------------------------------------------------------===//
// Back to arrays
//===----------------------------------------------------------------------===//

llvm::SetVector<Value> leavesOf(ArrayRef<const ScalarExpr *> expressions) {
  llvm::SetVector<Value> leaves;
  llvm::SmallDenseSet<const ScalarExpr *> seen; // an expression that is shared is walked once
  SmallVector<const ScalarExpr *> work(llvm::reverse(expressions));
  while (!work.empty()) {
    const ScalarExpr *e = work.pop_back_val();
    if (!seen.insert(e).second)
      continue;
    if (e->leaf)
      leaves.insert(e->leaf);
    llvm::append_range(work, llvm::reverse(e->args));
  }
  return leaves;
}

namespace {
class Emitter {
public:
  Emitter(OpBuilder &b, Location loc) : b(b), loc(loc) {}

  OpBuilder &b;
  Location loc;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<const ScalarExpr *, Value> done;

  Value constant(Type type, double value) {
    return arith::ConstantOp::create(b, loc, FloatAttr::get(type, value));
  }

  Value emit(const ScalarExpr *e) {
    if (e->kind == ScalarExpr::Kind::Leaf)
      return scalars.lookup(e->leaf);
    if (Value known = done.lookup(e))
      return known;
    SmallVector<Value> x;
    for (const ScalarExpr *arg : e->args)
      x.push_back(emit(arg));
    return done[e] = emitOp(e, x);
  }

  Value emitOp(const ScalarExpr *e, ArrayRef<Value> x) {
    switch (e->kind) {
    case ScalarExpr::Kind::Constant:
      return constant(e->type, e->constant);
    case ScalarExpr::Kind::Neg:
      return arith::NegFOp::create(b, loc, x[0]);
    case ScalarExpr::Kind::Add:
      return arith::AddFOp::create(b, loc, x[0], x[1]);
    case ScalarExpr::Kind::Sub:
      return SubOp::create(b, loc, x[0], x[1]);
    case ScalarExpr::Kind::Mul:
      return arith::MulFOp::create(b, loc, x[0], x[1]);
    case ScalarExpr::Kind::Div:
      return arith::DivFOp::create(b, loc, x[0], x[1]);
    case ScalarExpr::Kind::Exp:
      return math::ExpOp::create(b, loc, x[0]);
    case ScalarExpr::Kind::Select:
      return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
    default:
      break;
    }
    IRMapping mapping;
    mapping.map(e->op->getOperands(), x);
    return b.clone(*e->op, mapping)->getResult(0);
  }
};
} // namespace

// A map before `map` in the same block that computes the same.
static MapOp equivalentBefore(MapOp map) {
  for (auto other : map->getBlock()->getOps<MapOp>()) {
    if (other == map)
      break;
    if (OperationEquivalence::isEquivalentTo(other, map, OperationEquivalence::IgnoreLocations))
      return other;
  }
  return {};
}

Value Terms::build(OpBuilder &b, Location loc, const ScalarExpr *e) {
  if (e->kind == ScalarExpr::Kind::Leaf)
    return e->leaf;
  llvm::SetVector<Value> leaves = leavesOf(e);
  auto type =
      attn::ArrayType::get(b.getContext(), unionDims(program, leaves.getArrayRef()), e->type);
  auto map = MapOp::create(b, loc, type, leaves.getArrayRef(),
                           [&](OpBuilder &inner, Location at, ValueRange scalars) {
                             Emitter emitter(inner, at);
                             for (auto [array, scalar] : llvm::zip(leaves, scalars))
                               emitter.scalars[array] = scalar;
                             return emitter.emit(e);
                           });
  if (MapOp known = equivalentBefore(map)) {
    map.erase();
    return known;
  }
  return map;
}

} // namespace attnc
