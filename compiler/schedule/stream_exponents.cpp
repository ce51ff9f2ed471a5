#include "compiler/schedule/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

// 2^x and max(x, -inf -> 0), as the device functions compute them.
static Value exp2(OpBuilder &b, Location loc, Value x) {
  return math::Exp2Op::create(b, loc, x, arith::FastMathFlags::afn);
}

static Value orZero(OpBuilder &b, Location loc, Value x) {
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value empty =
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, empty);
  return arith::SelectOp::create(b, loc, isEmpty, zero, x);
}

// True if something other than an exponent reads the maximum: then it has to be exact.
bool StreamLowering::isResult(red::FoldOp maximum) {
  return llvm::any_of(maximum.getResult().getUses(), [](OpOperand &use) {
    auto fold = dyn_cast<red::FoldOp>(use.getOwner());
    return !fold || fold.getReference() != use.get();
  });
}

// The negation of the comparison holds for NaN, which then reaches the results.
Value StreamLowering::exceedsReference(unsigned number) {
  Location loc = plan.references[number].fold.getLoc();
  auto any = tile::AnyOp::create(b, attn::renamed(loc, "moves"), b.getI1Type(),
                                 ValueRange{top[number], reference[number]});
  OpBuilder::InsertionGuard guard(b);
  Block &block = any.getBody().emplaceBlock();
  b.setInsertionPointToStart(&block);
  Value t = block.addArgument(b.getF32Type(), top[number].getLoc());
  Value m = block.addArgument(b.getF32Type(), reference[number].getLoc());
  if (scaleParam[number]) {
    t = arith::MulFOp::create(b, loc, t, perScore[number]);
    m = arith::MulFOp::create(b, loc, m, perScore[number]);
  }
  double slack = scaleParam[number] ? tiles.slack : tiles.slack / llvm::numbers::log2e;
  Value limit = arith::AddFOp::create(b, loc, m, real(slack));
  Value exceeds = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, t, limit);
  tile::YieldOp::create(b, loc, exceeds);
  return any.getResult();
}

void StreamLowering::moveReference(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  map(factor.getLoc(), {}, {}, {{reference[number], {}}, {top[number], {}}},
      {factor, reference[number]}, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value moved =
            arith::SubFOp::create(b, attn::renamed(loc, "down"), x[0], orZero(b, loc, x[1]));
        Value scaled = arith::MulFOp::create(b, loc, moved, perScore[number]);
        return {exp2(b, loc, scaled), x[1]};
      });
  for (auto [s, sum] : llvm::zip(plan.states, state)) {
    bool against = s.weight != -1 && plan.weights[s.weight].reference == static_cast<int>(number);
    if (against && isa<tile::RowsType>(sum.getType()))
      map(loc, {}, {}, {{sum, {}}, {factor, {}}}, sum,
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {arith::MulFOp::create(b, loc, x[0], x[1]).getResult()};
          });
  }
}

void StreamLowering::rescaleFragments(unsigned number, Value factor) {
  Location loc = plan.references[number].fold.getLoc();
  for (auto [s, sum] : llvm::zip(plan.states, state)) {
    bool against = s.weight != -1 && plan.weights[s.weight].reference == static_cast<int>(number);
    if (against && isa<tile::FragmentType>(sum.getType()))
      tile::ScaleRowsOp::create(b, loc, sum, factor);
  }
}

// The fragment of a weight's elements: exp(score - reference) and the factors.
Value StreamLowering::weightFragment(const Weight &weight) {
  bool exponential = weight.reference != -1;
  Location loc = weight.factors.empty() ? plan.references[weight.reference].fold.getLoc()
                                        : weight.factors.front().getLoc();
  SmallVector<Input> ins;
  for (Value factor : weight.factors)
    for (const Input &input : tileInputs(factor))
      if (llvm::none_of(ins, [&](const Input &known) { return known.place == input.place; }))
        ins.push_back(input);
  Value into;
  unsigned first = ins.size();
  if (exponential) {
    Value array = plan.references[weight.reference].fold.getFactors().front();
    Value score = scores(array, red::FoldKind::Max);
    Value m = reference[weight.reference];
    Value shift = registers(attn::renamed(loc, "shift"), rowsType());
    map(loc, {}, {}, {{m, {}}}, shift, [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
      return {arith::MulFOp::create(b, loc, orZero(b, loc, x[0]), perScore[weight.reference])
                  .getResult()};
    });
    ins.push_back({score, {}});
    ins.push_back({shift, {}});
    unsigned users = llvm::count_if(
        plan.weights, [&](const Weight &w) { return w.reference == weight.reference; });
    bool alsoFolded = llvm::any_of(plan.states, [&](StreamState &s) {
      return s.weight == -1 && s.fold.getFactors().front() == array;
    });
    if (users == 1 && !alsoFolded)
      into = score;
  }
  if (!into)
    into = registers(attn::renamed(loc, "weight"), scoreType());
  map(loc, {plan.stream, column0, /*partial=*/true}, weight.factors, ins, into,
      [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
        Value product;
        if (exponential) {
          Value negated = arith::NegFOp::create(b, loc, x[first + 1]);
          product = exp2(
              b, loc, math::FmaOp::create(b, loc, x[first], perScore[weight.reference], negated));
        }
        for (Value factor : weight.factors) {
          Value element = evaluator.evaluate(factor);
          product = product ? arith::MulFOp::create(b, loc, product, element).getResult() : element;
        }
        if (!product)
          product = real(1);
        if (exponential && weight.factors.empty())
          return {product};
        auto op = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp());
        Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, op.columnIndex(),
                                             extent32(plan.stream));
        return {arith::SelectOp::create(b, loc, inside, product, real(0)).getResult()};
      });
  return into;
}

// The row sums of a weight.
void StreamLowering::sumRows(unsigned weight, Value fragment) {
  for (auto [s, place] : llvm::zip(plan.states, state))
    if (s.weight == static_cast<int>(weight) && s.streamed == -1)
      tile::ReduceRowsOp::create(b, s.fold.getLoc(), tile::Combine::Add, fragment, place);
}

} // namespace attnc::schedule
