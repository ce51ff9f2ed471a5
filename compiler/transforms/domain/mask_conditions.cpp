#include "compiler/transforms/domain/mask_conditions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

template <class Known, class Key, class Rule>
static auto once(Known &known, const Key &key, Rule rule) {
  auto found = known.find(key);
  if (found == known.end()) {
    auto result = rule(); // adds to `known` itself
    found = known.emplace(key, std::move(result)).first;
  }
  return found->second;
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

MaskRef ConditionReader::condition(Scalar x, bool expected) {
  return once(conditions, std::pair(x.value.getAsOpaquePointer(), expected),
              [&] { return findCondition(x, expected); });
}

static std::optional<bool> literalTruth(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant || !value.getType().isInteger(1))
    return std::nullopt;
  return cast<IntegerAttr>(constant.getValue()).getValue().isOne();
}

MaskRef ConditionReader::findCondition(Scalar x, bool expected) {
  if (auto argument = dyn_cast<BlockArgument>(x.value)) {
    Value array = x.map.getOperand(argument.getArgNumber());
    if (auto map = array.getDefiningOp<MapOp>())
      return condition({map, map.getYielded()}, expected);
    auto read = array.getDefiningOp<ReadOp>(); // of truths: 1 or 0
    IntegerRef element = read ? integerOf(read) : nullptr;
    return element ? integers.equal(element, constant(1), expected) : masks.unknown();
  }
  Operation *op = x.value.getDefiningOp();
  auto operand = [&](unsigned i) { return Scalar{x.map, op->getOperand(i)}; };
  if (std::optional<bool> literal = literalTruth(x.value))
    return masks.constant(*literal == expected);
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    MaskRef l = condition(operand(0), expected), r = condition(operand(1), expected);
    return isa<arith::AndIOp>(op) == expected ? masks.both(l, r) : masks.either(l, r);
  }
  if (isa<arith::XOrIOp>(op))
    for (unsigned i : {0u, 1u})
      if (std::optional<bool> flip = literalTruth(op->getOperand(i)))
        return condition(operand(1 - i), expected != *flip);
  if (isa<arith::SelectOp>(op))
    return masks.either(masks.both(condition(operand(0), true), condition(operand(1), expected)),
                        masks.both(condition(operand(0), false), condition(operand(2), expected)));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparison(compare, operand(0), operand(1), expected);
  return masks.unknown();
}

MaskRef ConditionReader::comparison(arith::CmpIOp compare, Scalar x, Scalar y, bool expected) {
  IntegerRef l = integer(x), r = integer(y);
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (!expected)
    predicate = arith::invertPredicate(predicate);
  // x <= y is y - x >= 0, x < y is y - x - 1 >= 0.
  switch (predicate) {
  case arith::CmpIPredicate::sle:
    return integers.notBelow(r, l, 0);
  case arith::CmpIPredicate::slt:
    return integers.notBelow(r, l, 1);
  case arith::CmpIPredicate::sge:
    return integers.notBelow(l, r, 0);
  case arith::CmpIPredicate::sgt:
    return integers.notBelow(l, r, 1);
  case arith::CmpIPredicate::eq:
    return integers.equal(l, r, true);
  case arith::CmpIPredicate::ne:
    return integers.equal(l, r, false);
  default:
    return masks.unknown();
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

IntegerRef ConditionReader::integerOf(Value array) {
  return once(arrays, array.getAsOpaquePointer(), [&] { return findIntegerOf(array); });
}

IntegerRef ConditionReader::findIntegerOf(Value array) {
  if (auto index = array.getDefiningOp<IndexOp>()) {
    TileRange range = tile.range(index.getDimAttr());
    if (!range.first)
      return nullptr;
    if (range.first == range.last) // one index for all of the tile
      return integers.exact(range.first);
    return integers.index(index.getDimAttr());
  }
  if (auto size = array.getDefiningOp<SizeOp>())
    return integers.exact(sizeOf(size.getDimAttr()));
  if (auto map = array.getDefiningOp<MapOp>())
    return integer({map, map.getYielded()});
  if (auto read = array.getDefiningOp<ReadOp>())
    return readOf(read);
  if (!cast<attn::ArrayType>(array.getType()).getElementType().isInteger(64))
    return nullptr;
  if (array.getDefiningOp<ParamOp>())
    return integers.exact(
        red::ScalarOp::create(a.builder(), a.location(), a.builder().getI64Type(), array));
  return nullptr;
}

IntegerRef ConditionReader::integer(Scalar x) {
  return once(scalars, x.value.getAsOpaquePointer(), [&] { return findInteger(x); });
}

// Sums of numbers beyond all indices and params, such as what stands for `outside` in a subscript,
// could leave 64 bits.
IntegerRef ConditionReader::constant(int64_t value) {
  constexpr int64_t most = int64_t(1) << 40;
  return value > most || value < -most ? nullptr : integers.exact(a.constant(value));
}

IntegerRef ConditionReader::findInteger(Scalar x) {
  if (!x.value.getType().isInteger(64))
    return nullptr;
  if (auto argument = dyn_cast<BlockArgument>(x.value))
    return integerOf(x.map.getOperand(argument.getArgNumber()));
  Operation *op = x.value.getDefiningOp();
  if (auto literal = dyn_cast<arith::ConstantOp>(op))
    return constant(cast<IntegerAttr>(literal.getValue()).getInt());
  if (isa<arith::SelectOp>(op))
    return choice(x, op);
  auto operand = [&](unsigned i) { return integer({x.map, op->getOperand(i)}); };
  if (isa<math::AbsIOp>(op)) {
    IntegerRef of = operand(0);
    return integers.max(of, integers.scale(of, -1));
  }
  if (op->getNumOperands() != 2)
    return nullptr;
  IntegerRef l = operand(0), r = operand(1);
  Value p = Integers::exactValue(l), q = Integers::exactValue(r);
  if (isa<arith::AddIOp>(op))
    return integers.add(l, r);
  if (isa<arith::SubIOp>(op))
    return integers.subtract(l, r);
  // Scalars without indices: the same operation.
  if (p && q && isa<arith::MulIOp, arith::FloorDivSIOp>(op)) {
    IRMapping mapping;
    mapping.map(op->getOperands(), ArrayRef<Value>{p, q});
    return integers.exact(a.builder().clone(*op, mapping)->getResult(0));
  }
  if (isa<arith::MaxSIOp>(op))
    return integers.max(l, r);
  if (isa<arith::MinSIOp>(op))
    return integers.min(l, r);
  if (isa<arith::MulIOp>(op)) {
    if (std::optional<int64_t> factor = p ? IndexArithmetic::literal(p) : std::nullopt)
      return integers.scale(r, *factor);
    if (std::optional<int64_t> factor = q ? IndexArithmetic::literal(q) : std::nullopt)
      return integers.scale(l, *factor);
    if (p || q)
      return p ? integers.multiply(r, p) : integers.multiply(l, q);
  }
  if (q && isa<arith::FloorDivSIOp>(op))
    return integers.floorDiv(l, q);
  if (q && isa<ModOp>(op))
    return integers.mod(l, q);
  return nullptr;
}

// True if the condition holds only where `x` is not positive: comparisons of it with literals.
static bool excludesPositive(Value condition, Value x) {
  Operation *op = condition.getDefiningOp();
  if (auto either = dyn_cast_or_null<arith::OrIOp>(op))
    return excludesPositive(either.getLhs(), x) && excludesPositive(either.getRhs(), x);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  std::optional<int64_t> literal =
      compare ? IndexArithmetic::literal(compare.getRhs()) : std::nullopt;
  return literal && *literal <= 0 && compare.getLhs() == x &&
         compare.getPredicate() == arith::CmpIPredicate::eq;
}

// A quotient that is guarded against divisors that are not positive is the plain one where its
// divisor is; elsewhere nothing is known of it.
IntegerRef ConditionReader::guardedQuotient(Scalar x, Operation *select) {
  Operation *quotient = select->getOperand(2).getDefiningOp();
  if (!quotient || !isa<arith::FloorDivSIOp, ModOp>(quotient))
    return nullptr;
  auto safe = quotient->getOperand(1).getDefiningOp<arith::SelectOp>();
  if (!safe || safe.getCondition() != select->getOperand(0) ||
      IndexArithmetic::literal(safe.getTrueValue()) != 1 ||
      !excludesPositive(safe.getCondition(), safe.getFalseValue()))
    return nullptr;
  IntegerRef of = integer({x.map, quotient->getOperand(0)});
  Value divisor = Integers::exactValue(integer({x.map, safe.getFalseValue()}));
  if (!divisor)
    return nullptr;
  return isa<ModOp>(quotient) ? integers.mod(of, divisor) : integers.floorDiv(of, divisor);
}

IntegerRef ConditionReader::choice(Scalar x, Operation *select) {
  if (IntegerRef quotient = guardedQuotient(x, select))
    return quotient;
  Scalar which{x.map, select->getOperand(0)};
  return integers.select(condition(which, true), condition(which, false),
                         integer({x.map, select->getOperand(1)}),
                         integer({x.map, select->getOperand(2)}));
}

Value ConditionReader::sizeOf(StringAttr dim) {
  DimAttr known = program.lookupDim(dim);
  if (known.isStatic())
    return a.constant(known.getExtent());
  Value &size = sizes[dim];
  if (!size) {
    OpBuilder &b = a.builder();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(b.getInsertionBlock());
    auto type = attn::ArrayType::get(b.getContext(), {}, b.getI64Type());
    Value array = SizeOp::create(b, a.location(), type, dim);
    size = red::ScalarOp::create(b, a.location(), b.getI64Type(), array);
  }
  return size;
}

//===----------------------------------------------------------------------===//
// Elements of tensors
//===----------------------------------------------------------------------===//

// True if the expression takes a sixteenth as many values as the tile has indices, or fewer.
bool ConditionReader::isShort(const IntegerRef &x) {
  if (x->kind != Integer::Kind::Sum)
    return isShort(x->args[0]) && isShort(x->args[1]);
  auto isCoarse = [](const Quotient &q) {
    std::optional<int64_t> divisor = IndexArithmetic::literal(q.divisor);
    return q.kind == Quotient::Kind::Floor && divisor && std::abs(q.coefficient) * 16 <= *divisor;
  };
  return x->linear.terms.empty() && llvm::all_of(x->quotients, isCoarse);
}

std::optional<ConditionReader::Span> ConditionReader::spanOf(ReadOp read, unsigned axis,
                                                             bool &streamed) {
  IntegerRef at;
  if (StringAttr dim = read.subscriptDim(axis)) {
    TileRange range = tile.range(dim);
    if (!range.first)
      return std::nullopt;
    at = range.first == range.last ? integers.exact(range.first) : integers.index(dim);
  } else {
    at = integerOf(read.subscriptValue(axis));
  }
  if (!at || !at->assumed.empty())
    return std::nullopt;
  IntegerBounds bounds = integers.bounds(at);
  streamed |= bounds.streamed;
  return Span{bounds.lo, bounds.hi, isShort(at) || IndexArithmetic::same(bounds.lo, bounds.hi)};
}

Value ConditionReader::extreme(red::FoldKind kind, Value array, ArrayRef<Span> spans,
                               bool ofParts) {
  SmallVector<Value> first, last;
  for (const Span &span : spans) {
    first.push_back(span.first);
    last.push_back(span.last);
  }
  return red::ExtremeOp::create(a.builder(), a.location(), a.builder().getI64Type(), kind, array,
                                first, last, ofParts);
}

// True if elements of tensors are behind a value of the domain.
static bool readsElements(Value value) {
  llvm::SetVector<Operation *> reached;
  reached.insert(value.getDefiningOp());
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) // an argument
      continue;
    if (isa<red::ExtremeOp>(reached[i]))
      return true;
    for (Value operand : reached[i]->getOperands())
      reached.insert(operand.getDefiningOp());
  }
  return false;
}

static unsigned axisOf(attn::ArrayType type, StringAttr dim) {
  return llvm::find(type.getDims(), dim) - type.getDims().begin();
}

// The extremes over the box of elements that the tile reads, if that has few elements; along one
// axis it may have many, of which the extremes of parts are known.
IntegerRef ConditionReader::readOf(ReadOp read) {
  Value source = read.getSource();
  auto type = cast<attn::ArrayType>(source.getType());
  auto element = dyn_cast<IntegerType>(type.getElementType());
  unsigned bits = element ? element.getWidth() : 0;
  if (!bits)
    return nullptr;
  bool streamed = false;
  SmallVector<Span> spans;
  std::optional<unsigned> longAxis;
  for (unsigned axis = 0; axis < type.getDims().size(); ++axis) {
    std::optional<Span> span = spanOf(read, axis, streamed);
    if (!span || (!span->isShort && longAxis))
      return nullptr;
    if (!span->isShort)
      longAxis = axis;
    spans.push_back(*span);
  }
  Value outside; // i1: some element of the box lies outside of the tensor
  if (read.getOtherwise())
    for (auto [axis, span] : llvm::enumerate(spans)) {
      if (read.subscriptDim(axis) == type.getDims()[axis])
        continue;
      Value inside = a.both(
          a.notNegative(span.first),
          a.notNegative(a.sub(a.sub(sizeOf(type.getDims()[axis]), span.last), a.constant(1))));
      Value beyond = a.select(inside, a.boolean(false), a.boolean(true));
      outside = outside ? a.either(outside, beyond) : beyond;
    }
  Value largest = source, smallest = source;
  // Nobody finds the extremes of parts of truths; of a box that data choose they say little.
  auto isOfData = [](const Span &s) { return readsElements(s.first) || readsElements(s.last); };
  if (bits == 1 && (longAxis || llvm::any_of(spans, isOfData)))
    return nullptr;
  if (longAxis) {
    StringAttr dim = type.getDims()[*longAxis];
    TileExtremes::Parts parts = extremes.partsOf(source, dim, nest);
    Value length = a.constant(TileExtremes::kPartLength);
    Span &span = spans[*longAxis];
    span = {a.floorDiv(span.first, length), a.floorDiv(span.last, length), true};
    SmallVector<Span> ordered;
    for (StringAttr kept : cast<attn::ArrayType>(parts.max.getType()).getDims())
      ordered.push_back(spans[kept == parts.part ? *longAxis : axisOf(type, kept)]);
    spans = ordered;
    largest = parts.max;
    smallest = parts.min;
  }
  Value lo = extreme(red::FoldKind::Min, smallest, spans, longAxis.has_value());
  IntegerBounds bounds{
      lo,
      largest == smallest &&
              llvm::all_of(spans,
                           [](const Span &s) { return IndexArithmetic::same(s.first, s.last); })
          ? lo
          : extreme(red::FoldKind::Max, largest, spans, longAxis.has_value()),
      streamed};
  if (outside) {
    auto number = static_cast<int64_t>(read.getOtherwise()->convertToDouble());
    if (!constant(number))
      return nullptr;
    Value otherwise = a.constant(number);
    bounds.lo = a.select(outside, a.min(bounds.lo, otherwise), bounds.lo);
    bounds.hi = a.select(outside, a.max(bounds.hi, otherwise), bounds.hi);
  }
  // Arithmetic of wider ones could leave 64 bits.
  return bits > 32 ? integers.withinAny(bounds) : integers.within(bounds);
}

} // namespace attnc
