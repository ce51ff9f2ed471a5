// Steps of kernels whose operands of f32 arrive as high and low halves of f16.
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/encode/power_of_two.h"
#include "compiler/schedule/steps/steps_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {

// Weights are taken to 2^14 or below: a low half then has all of its bits for those above 2^-13 of
// the largest, and twice as much is still a number.
static constexpr int kTopWeight = 14;

static double weightScale(const WarpgroupSchedule &schedule) {
  return std::exp2(kTopWeight - std::ceil(schedule.rescaleThreshold));
}

// True of halves of weights that no reference bounds: each row of a tile has its own scale.
static bool hasOwnScale(const Weight &weight) {
  return weight.inHalves && (weight.reference == -1 || !weight.factors.empty());
}

// f32: the scale at `along` (i32), or 1 if there is none.
static Value loadScale(OpBuilder &b, Location loc, const KernelMemory &memory,
                       red::EncodeOp encoding, ArrayRef<Value> indices, Value along, Value end) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  };
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, constant(0));
  auto branch = scf::IfOp::create(b, loc, TypeRange{b.getF32Type()}, exists, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value last = arith::SubIOp::create(b, loc, end, constant(1));
  SmallVector<Value> at(indices.drop_back());
  at[encoding.getAxis()] =
      arith::ExtSIOp::create(b, loc, b.getI64Type(), arith::MinSIOp::create(b, loc, along, last));
  Value offset = memory.offset(b, loc, encoding.getScale(), at);
  Value scale =
      tile::LoadOp::create(b, loc, b.getF32Type(), memory.pointer(encoding.getScale()), offset);
  scf::YieldOp::create(b, loc, scale);
  b.setInsertionPointToStart(branch.elseBlock());
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
  scf::YieldOp::create(b, loc, one);
  return branch.getResult(0);
}

void StepsLowering::createHalves() {
  lowOperands.clear();
  weightPowers.clear();
  for (auto [weight, operand] : llvm::zip(plan.weights, operands)) {
    weightPowers.push_back(hasOwnScale(weight) ? registers(named("weight_power"), rowsType())
                                               : Value());
    bool hasLow = weight.inHalves && takesLowHalves(schedule.accuracy);
    lowOperands.push_back(hasLow ? registers(named("low_weights"), operand.getType()) : Value());
  }
  tileSums.clear();
  for (auto [s, place] : llvm::zip(plan.states, state))
    tileSums.push_back(s.streamed == -1 || !plan.weights[s.weight].inHalves
                           ? Value()
                           : registers(named("tile_sum"), place.getType()));
  rowScales.clear();
  for (const Contraction &contraction : plan.contractions) {
    const OperandTile &operand = contraction.resident;
    rowScales.push_back({});
    if (!isEncoded(operand))
      continue;
    red::EncodeOp encoding = encodingOf(nest, operand, /*isStreamed=*/false);
    SmallVector<Value> indices = operandIndices(operand.tensorRead(), operand.rowAxis);
    Location loc = named("row_scale");
    Value rows = registers(loc, rowsType());
    auto op = tile::MapOp::create(b, loc, rowBegin, Value(), ValueRange(), rows);
    Block &block = op.getBody().emplaceBlock();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    Value row = block.addArgument(b.getI32Type(), named(plan.row.getValue()));
    Value scale = loadScale(b, loc, memory, encoding, indices, row, extent32(plan.row));
    tile::YieldOp::create(b, loc, scale);
    rowScales.back() = rows;
  }
}

// Products into one accumulator lose less if the large ones come last.
void StepsLowering::startHalves(Location loc, Value into, std::pair<Value, Value> left,
                                std::pair<Value, Value> right, bool transposed) {
  auto start = [&](Value a, Value of, bool isFirst) {
    tile::MmaStartOp::create(b, loc, into, a, of, transposed, /*fresh=*/isFirst);
  };
  auto [high, low] = left;
  auto [rightHigh, rightLow] = right;
  if (low)
    start(low, rightHigh, true);
  if (rightLow)
    start(high, rightLow, !low);
  start(high, rightHigh, !low && !rightLow);
}

void StepsLowering::loadTileScales() {
  tileScales.clear();
  for (const OperandTile &operand : plan.streamed) {
    tileScales.push_back({});
    if (!isEncoded(operand))
      continue;
    red::EncodeOp encoding = encodingOf(nest, operand, /*isStreamed=*/true);
    SmallVector<Value> indices = operandIndices(operand.tensorRead(), operand.rowAxis);
    tileScales.back() = loadScale(b, named("tile_scale"), memory, encoding, indices, column0,
                                  extent32(plan.stream));
  }
}

SmallVector<Value> StepsLowering::knownTileScales() const {
  return llvm::to_vector(
      llvm::make_filter_range(tileScales, [](Value scale) { return bool(scale); }));
}

void StepsLowering::scaleScores() {
  for (auto [contraction, place, rowScale] : llvm::zip(plan.contractions, places, rowScales)) {
    Location loc = red::FoldOp(contraction.fold).getLoc();
    Value ofTile = tileScales[contraction.streamed], ofRows = rowScale;
    if (ofRows && ofTile) {
      ofRows = registers(named("score_scale"), rowsType());
      map(loc, {}, {}, {{rowScale, {}}}, ofRows,
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {arith::MulFOp::create(b, loc, x[0], ofTile).getResult()};
          });
    }
    SmallVector<Input> ins = {{place, {}}};
    if (ofRows)
      ins.push_back({ofRows, {}});
    if (ofRows || ofTile)
      map(loc, {plan.stream, column0}, {}, ins, place,
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {arith::MulFOp::create(b, loc, x[0], ofRows ? x[1] : ofTile).getResult()};
          });
  }
}

// Takes the largest weight of each row to 2^kTopWeight or above, and keeps the power of two.
void StepsLowering::scaleOwnWeights(Value fragment, Value power) {
  Location loc = nest.getLoc();
  Value largest = registers(named("largest"), rowsType(), 0);
  Value least = registers(named("least"), rowsType(), 0);
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Max, fragment, largest);
  tile::ReduceRowsOp::create(b, loc, tile::Combine::Min, fragment, least);
  map(loc, {}, {}, {{largest, {}}, {least, {}}}, largest,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        Value opposite = arith::NegFOp::create(b, loc, x[1]);
        return {arith::MaximumFOp::create(b, loc, x[0], opposite).getResult()};
      });
  tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, largest);
  map(loc, {}, {}, {{largest, {}}}, ValueRange{power, largest},
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        auto [ofRow, inverse] = powerOfTwo(b, loc, x[0], kTopWeight);
        return {ofRow, inverse};
      });
  map(loc, {plan.stream, column0}, {}, {{fragment, {}}, {largest, {}}}, fragment,
      [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
        return {arith::MulFOp::create(b, loc, x[0], x[1]).getResult()};
      });
}

void StepsLowering::convertHalves() {
  Location loc = nest.getLoc();
  Value scale = real(weightScale(schedule));
  for (auto [weight, fragment, operand, low, power] :
       llvm::zip(plan.weights, fragments, operands, lowOperands, weightPowers)) {
    if (!operand)
      continue;
    if (power)
      scaleOwnWeights(fragment, power);
    else if (weight.inHalves)
      map(loc, {plan.stream, column0}, {}, {{fragment, {}}}, fragment,
          [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
            return {arith::MulFOp::create(b, loc, x[0], scale).getResult()};
          });
    tile::ConvertOp::create(b, loc, fragment, operand);
    if (!low)
      continue;
    map(loc, {plan.stream, column0}, {}, {{fragment, {}}, {operand, {}}}, fragment,
        [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
          return {arith::SubFOp::create(b, loc, x[0], x[1]).getResult()};
        });
    tile::ConvertOp::create(b, loc, fragment, low);
  }
}

void StepsLowering::startHalvesOfValues() {
  for (auto [s, place] : llvm::zip(plan.states, tileSums))
    if (place)
      startHalves(red::FoldOp(s.fold).getLoc(), place, {operands[s.weight], lowOperands[s.weight]},
                  {tilesOf[s.streamed], lowTilesOf[s.streamed]}, /*transposed=*/false);
}

// total += sum of a tile, times what its weights and its values were divided by.
void StepsLowering::addTileSum(Location loc, Value total, Value sum, Value ofWeights,
                               Value ofTile) {
  Value scale = ofTile;
  if (ofWeights && ofTile) {
    scale = registers(named("sum_scale"), rowsType());
    map(loc, {}, {}, {{ofWeights, {}}}, scale,
        [&](PointEvaluator &, ValueRange x) -> SmallVector<Value> {
          return {arith::MulFOp::create(b, loc, x[0], ofTile).getResult()};
        });
  } else if (ofWeights) {
    scale = ofWeights;
  } else {
    scale = real(1 / weightScale(schedule));
    if (ofTile)
      scale = arith::MulFOp::create(b, named("sum_scale"), ofTile, scale);
  }
  SmallVector<Value> places = {total, sum};
  if (ofWeights)
    places.push_back(scale);
  auto op = tile::MapOp::create(b, loc, rowBegin, constant(0), places, total);
  Block &block = op.getBody().emplaceBlock();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  block.addArgument(b.getI32Type(), named("row"));
  block.addArgument(b.getI32Type(), named("column"));
  Value known = block.addArgument(b.getF32Type(), total.getLoc());
  Value more = block.addArgument(b.getF32Type(), sum.getLoc());
  Value by = ofWeights ? block.addArgument(b.getF32Type(), named("sum_scale")) : scale;
  Value next = math::FmaOp::create(b, loc, more, by, known);
  tile::YieldOp::create(b, loc, next);
}

// Sums that tensor cores make are cut, not rounded: each of a tile joins the state in f32.
tile::StepOp StepsLowering::promoteStep(ValueRange known) {
  SmallVector<Value> scales; // of each streamed operand
  for (Value scale : tileScales) {
    scales.push_back(scale ? known.front() : Value());
    known = known.drop_front(scale ? 1 : 0);
  }
  return step("promote", 1, [&]() -> SmallVector<Value> {
    for (auto [s, place, sum] : llvm::zip(plan.states, state, tileSums)) {
      if (!sum)
        continue;
      addTileSum(red::FoldOp(s.fold).getLoc(), place, sum, weightPowers[s.weight],
                 scales[s.streamed]);
    }
    return {};
  });
}

// The powers of two that columns of values were divided by.
void StepsLowering::scaleColumns() {
  for (auto [s, place] : llvm::zip(plan.states, state)) {
    if (s.streamed == -1)
      continue;
    const OperandTile &operand = plan.streamed[s.streamed];
    red::EncodeOp encoding = encodingOf(nest, operand, /*isStreamed=*/true);
    if (!encoding || !encoding.getColumns())
      continue;
    SmallVector<Value> at = operandIndices(operand.tensorRead(), operand.rowAxis);
    at.erase(at.begin() + operand.rowAxis);
    at.back() = {};
    Location loc = red::FoldOp(s.fold).getLoc();
    Value base = memory.offset(b, named("columns_base"), encoding.getColumns(), at);
    Value begin = columnPart ? partBegin() : constant(0);
    auto op = tile::MapOp::create(b, loc, rowBegin, begin, ValueRange{place}, place);
    Block &block = op.getBody().emplaceBlock();
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    block.addArgument(b.getI32Type(), named("row"));
    Value column = block.addArgument(b.getI32Type(), named("column"));
    Value total = block.addArgument(b.getF32Type(), place.getLoc());
    Value last = constant(operand.wholeCols() - 1);
    column = arith::MinSIOp::create(b, loc, column, last);
    Value offset = arith::AddIOp::create(b, loc, base, widen(column, ""));
    Value scale =
        tile::LoadOp::create(b, loc, b.getF32Type(), memory.pointer(encoding.getColumns()), offset);
    // Without a stream nobody has found them.
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, extent32(plan.stream),
                                         constant(0));
    scale = arith::SelectOp::create(b, loc, exists, scale, real(1));
    tile::YieldOp::create(b, loc, arith::MulFOp::create(b, loc, total, scale).getResult());
  }
}

} // namespace attnc::schedule
