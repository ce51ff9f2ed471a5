#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

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

const ScalarExpr *Terms::log(const ScalarExpr *x) {
  return make(ScalarExpr::Kind::Log, x->type, {x});
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

const ScalarExpr *Terms::guarded(const ScalarExpr *condition, bool side, const ScalarExpr *x,
                                 double otherwise) {
  const ScalarExpr *empty = constant(x->type, otherwise);
  return side ? select(condition, x, empty) : select(condition, empty, x);
}

const ScalarExpr *Terms::isEmpty(const ScalarExpr *x) {
  return make(ScalarExpr::Kind::Empty, IntegerType::get(x->type.getContext(), 1), {x});
}

const ScalarExpr *Terms::equal(const ScalarExpr *x, const ScalarExpr *y) {
  return make(ScalarExpr::Kind::Equal, IntegerType::get(x->type.getContext(), 1), {x, y});
}

const ScalarExpr *Terms::whereWeighted(const ScalarExpr *exponent, const ScalarExpr *x) {
  return guarded(isEmpty(exponent), false, x, 0);
}

const ScalarExpr *Terms::withArgs(const ScalarExpr *e, ArrayRef<const ScalarExpr *> args) {
  if (llvm::equal(args, e->args))
    return e;
  return e->kind == ScalarExpr::Kind::Neg ? neg(args[0]) : make(e->kind, e->type, args, e->op);
}

const ScalarExpr *Terms::of(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  bool isOpened = opensAll || (!isComparedElement(array) && (isState(array) || hasWeight(array)));
  if (!map || !isOpened)
    return leaf(array);
  const ScalarExpr *e = open(map, map.getYielded());
  if (!e->leaf && !e->origin && !specName(array.getLoc()).empty())
    e->origin = array;
  return e;
}

const ScalarExpr *Terms::ofMap(Value array) {
  auto map = array.getDefiningOp<MapOp>();
  return map ? open(map, map.getYielded()) : leaf(array);
}

const ScalarExpr *Terms::openAll(Value array) {
  Terms all(program, stream, isState);
  llvm::SaveAndRestore opens(opensAll, true);
  std::swap(opened, all.opened); // what is opened less far is another expression
  const ScalarExpr *e = of(array);
  std::swap(opened, all.opened);
  return e;
}

// What the op declares itself to be.
const ScalarExpr *Terms::ofOp(Operation *op, ArrayRef<const ScalarExpr *> args) {
  Type type = op->getResult(0).getType();
  auto properties = dyn_cast<ScalarProperties>(op);
  if (!properties || !isa<FloatType>(type))
    return make(ScalarExpr::Kind::Op, type, args, op);
  if (properties.getExponentialBase() == M_E)
    return make(ScalarExpr::Kind::Exp, type, args, op);
  switch (properties.getForm()) {
  case ScalarForm::Sum:
    return make(ScalarExpr::Kind::Add, type, args, op);
  case ScalarForm::Difference:
    return make(ScalarExpr::Kind::Sub, type, args, op);
  case ScalarForm::Negation:
    return neg(args[0]);
  case ScalarForm::Product:
    return make(ScalarExpr::Kind::Mul, type, args, op);
  case ScalarForm::Quotient:
    return make(ScalarExpr::Kind::Div, type, args, op);
  case ScalarForm::Logarithm:
    return make(ScalarExpr::Kind::Log, type, args, op);
  case ScalarForm::Choice:
    return make(ScalarExpr::Kind::Select, type, args);
  case ScalarForm::Other:
    return make(ScalarExpr::Kind::Op, type, args, op);
  }
  llvm_unreachable("all forms are listed");
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
  else
    e = ofOp(op, args);
  return opened[scalar] = e;
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

// The work that a comparison of two expressions may take.
static constexpr unsigned kMostCompared = 256;

static bool same(const ScalarExpr *x, const ScalarExpr *y, unsigned &budget) {
  if (x == y)
    return true;
  if (budget == 0 || x->kind != y->kind || x->type != y->type || x->leaf != y->leaf ||
      x->constant != y->constant || x->args.size() != y->args.size())
    return false;
  --budget;
  if (x->op && x->kind == ScalarExpr::Kind::Op &&
      (x->op->getName() != y->op->getName() ||
       x->op->getAttrDictionary() != y->op->getAttrDictionary()))
    return false;
  return llvm::all_of(llvm::zip(x->args, y->args), [&](auto pair) {
    return same(std::get<0>(pair), std::get<1>(pair), budget);
  });
}

bool sameExpression(const ScalarExpr *x, const ScalarExpr *y) {
  unsigned budget = kMostCompared;
  return same(x, y, budget);
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
    case ScalarExpr::Kind::Max:
      return arith::MaximumFOp::create(b, loc, x[0], x[1]);
    case ScalarExpr::Kind::Exp:
      return math::ExpOp::create(b, loc, x[0]);
    case ScalarExpr::Kind::Log:
      return math::LogOp::create(b, loc, x[0]);
    case ScalarExpr::Kind::Empty:
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0],
                                   constant(x[0].getType(), -INFINITY));
    case ScalarExpr::Kind::Equal:
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x[0], x[1]);
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
