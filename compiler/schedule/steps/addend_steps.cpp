// What scores add to products and grows evenly along the stream, as a further product: of its
// slopes and the distances of a tile's columns from the middle one. What is added to that column is
// an offset of the row, which the maximum takes.
#include "compiler/schedule/steps/steps_lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// Of each warp of a group.
static constexpr int64_t kWarpRows = 16;

// An f32 is the sum of three bf16, its high, middle and low bits: of a slope they are in columns 0,
// 1 and 8 of the left factor. Each lane holds the elements of columns that differ from these in two
// bits, and writes its own as if they had none; the rows of the right factor there are zero.
static constexpr int64_t kPieceBits = 0b1001;
static constexpr int64_t kHigh = 0b0000, kMiddle = 0b0001, kLow = 0b1000;

const Addend *StepsLowering::addendOf(const Contraction &contraction) const {
  if (!joinsAddends(plan, schedule))
    return nullptr;
  const auto *found = llvm::find_if(
      plan.addends, [&](const Addend &each) { return each.fold == contraction.fold; });
  return found == plan.addends.end() ? nullptr : found;
}

static Value isEqual(OpBuilder &b, Location loc, Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
}

void StepsLowering::placeAddends() {
  if (!joinsAddends(plan, schedule))
    return;
  for (const Addend &addend : plan.addends) {
    Location loc = addend.sum.getLoc();
    Value &tile = distances[addend.step];
    if (tile)
      continue;
    tile = tile::SharedOp::create(b, named("distances"), addendTile(b.getContext(), schedule),
                                  b.getI64IntegerAttr(0));
    auto op = tile::TabulateOp::create(b, loc, tile, constant(0));
    OpBuilder::InsertionGuard guard(b);
    Block &block = op.getBody().emplaceBlock();
    b.setInsertionPointToStart(&block);
    Value row = block.addArgument(b.getI32Type(), named("row"));
    Value column = block.addArgument(b.getI32Type(), named("column"));
    Value steps = arith::SubIOp::create(b, loc, column, constant(middleColumn()));
    steps = arith::MulIOp::create(b, loc, steps, constant(addend.step));
    Value distance = arith::SIToFPOp::create(b, named("distance"), b.getF32Type(), steps);
    Value isPiece;
    for (int64_t piece : {kHigh, kMiddle, kLow}) {
      Value is = isEqual(b, loc, row, constant(piece));
      isPiece = isPiece ? arith::OrIOp::create(b, loc, isPiece, is).getResult() : is;
    }
    tile::YieldOp::create(b, loc,
                          arith::SelectOp::create(b, loc, isPiece, distance, real(0)).getResult());
  }
  tile::PublishOp::create(b, nest.getLoc());
}

// A reference that follows scores along the stream moves with each tile if these grow. From the end
// on they fall.
void StepsLowering::chooseDirection() {
  isDescending = {};
  if (!plan.growth || schedule.seesaw || skipsTiles())
    return;
  auto grows = plan.growth->step > 0 ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
  PointEvaluator ofBlock = uniform; // groups may have other indices of a packed dim
  isDescending = arith::CmpFOp::create(b, named("is_descending"), grows,
                                       ofBlock.evaluate(plan.growth->slope), real(0));
}

// A number of tiles counted from the end of the stream in place of its beginning.
Value StepsLowering::fromEnd(Value count) {
  Value ends = arith::AddIOp::create(b, nest.getLoc(), firstTile, endTile);
  return arith::SubIOp::create(b, nest.getLoc(), ends, count);
}

// The bits of an f32 that a bf16 has.
static Value highBits(OpBuilder &b, Location loc, Value x) {
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  Value mask = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0xffff0000));
  Value high = arith::AndIOp::create(b, loc, bits, mask);
  return arith::BitcastOp::create(b, loc, b.getF32Type(), high);
}

tile::StepOp StepsLowering::addendStep() {
  if (distances.empty())
    return {};
  return step("addends", 0, [&]() -> SmallVector<Value> {
    for (const Addend &addend : plan.addends) {
      Location loc = addend.sum.getLoc();
      Value slope = registers(named("slope"), rowsType());
      offset[addend.reference] = registers(named("offset"), rowsType());
      map(loc, {}, {addend.slope, addend.number}, {}, {slope, offset[addend.reference]},
          [&](PointEvaluator &evaluator, ValueRange) -> SmallVector<Value> {
            evaluator.bind(plan.stream, widen(add(column0, middleColumn(), "middle"), ""));
            Value step = evaluator.evaluate(addend.slope);
            Value number =
                arith::SIToFPOp::create(b, loc, b.getF32Type(), evaluator.evaluate(addend.number));
            return {step, arith::MulFOp::create(b, loc, step, number)};
          });
      slopes[addend.sum] = piecesOf(loc, slope);
    }
    return {};
  });
}

Value StepsLowering::piecesOf(Location loc, Value slope) {
  Value pieces =
      registers(named("pieces"), tile::FragmentType::get(b.getContext(), kWarpRows, kAddendRows));
  map(loc, {plan.stream, constant(0)}, {}, {{slope, {}}}, pieces,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value column = cast<tile::MapOp>(b.getInsertionBlock()->getParentOp()).columnIndex();
        Value piece = arith::AndIOp::create(b, loc, column, constant(kPieceBits));
        Value high = highBits(b, loc, x[0]);
        Value rest = arith::SubFOp::create(b, loc, x[0], high);
        Value middle = highBits(b, loc, rest);
        Value low = arith::SubFOp::create(b, loc, rest, middle);
        Value element = real(0);
        for (auto [number, value] : {std::pair(kLow, low), {kMiddle, middle}, {kHigh, high}})
          element = arith::SelectOp::create(b, loc, isEqual(b, loc, piece, constant(number)), value,
                                            element);
        return {element};
      });
  Value operand = registers(named("slopes"), tile::OperandType::get(b.getContext(), kWarpRows,
                                                                    kAddendRows, b.getBF16Type()));
  tile::ConvertOp::create(b, loc, pieces, operand);
  return operand;
}

} // namespace attnc::schedule
