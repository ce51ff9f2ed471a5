#include "compiler/schedule/warpgroups/warpgroup_compute.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/slab/tile_weights.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

// Measured: 128 columns and more gain 2 % from a rescale that products hide, 64 columns lose 2 %.
static constexpr int64_t kWideState = 96;

void WarpgroupCompute::locateRows() {
  Location loc = nest.getLoc();
  std::string row = plan.row.getValue().str();
  auto div = [&](Value x, int64_t y) -> Value {
    return b.createOrFold<arith::DivUIOp>(loc, x, constant(y));
  };
  auto rem = [&](Value x, int64_t y) -> Value {
    return arith::RemUIOp::create(b, loc, x, constant(y));
  };
  Value groupRow = arith::MulIOp::create(b, loc, group, constant(64));
  Value warp = tile::WarpOp::create(b, named("warp"));
  warpRow = arith::MulIOp::create(b, named("warp_row"), add(warp, -4), constant(16));
  branchRows = std::min<int64_t>(64, tiles.rows);
  if (tiles.pack == 1) {
    branchRow0 = arith::AddIOp::create(b, named(row + "_group"), row0, groupRow);
    rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, warpRow);
  } else {
    // The tile has the rows of one index of the packed dim after those of the other. Where it has
    // fewer indices than room, warps compute the last one again and store nothing.
    StringAttr dim = plan.packing->dim;
    Value first = narrow(uniform.index(dim), dim.getValue());
    Value index = arith::AddIOp::create(b, loc, first, div(warpRow, tiles.rows));
    Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, packedEnd);
    index = arith::MinSIOp::create(b, loc, index, add(packedEnd, -1));
    uniform.bind(dim, widen(index, dim.getValue()));
    branchRow0 = arith::AddIOp::create(b, named(row + "_group"), row0, rem(groupRow, tiles.rows));
    rowBegin = arith::AddIOp::create(b, named(row + "_begin"), row0, rem(warpRow, tiles.rows));
    packedBegin =
        arith::SelectOp::create(b, named(row + "_stored"), isThere, rowBegin, extent32(plan.row));
  }
  indexValues.append({branchRow0, rowBegin});
}

void WarpgroupCompute::createPlaces() {
  reference.clear();
  top.clear();
  state.clear();
  scaleParam.clear();
  perScore.clear();
  createStates(/*keepTops=*/false);
  places.clear();
  for (const Contraction &contraction : plan.contractions)
    places.push_back(contractionPlace(red::FoldOp(contraction.fold), {}));
  factors.clear();
  for (unsigned i = 0; i < plan.references.size(); ++i)
    factors.push_back(rescaleFactor(i));
  operands.assign(plan.weights.size(), Value());
  bool arePassed = !multipliesTiles(plan);
  for (const StreamState &s : plan.states)
    if (s.streamed != -1 && arePassed && !operands[s.weight]) {
      const OperandTile &values = plan.streamed[s.streamed];
      Type element = isEncoded(values) ? b.getF16Type() : values.element;
      auto type = tile::OperandType::get(b.getContext(), tiles.warpRows, tiles.columns, element);
      operands[s.weight] = registers(attn::renamed(red::FoldOp(s.fold).getLoc(), "weights"), type);
    }
}

// Fragments whose reference has moved are rescaled while the products of the next scores run, which
// holds up the group whose turn is next; narrow ones, soon done, before.
bool WarpgroupCompute::rescalesBehindScores() const {
  return llvm::any_of(plan.states, [&](const StreamState &s) {
    return s.streamed != -1 && plan.streamed[s.streamed].cols >= kWideState;
  });
}

void WarpgroupCompute::rescaleMoved(ValueRange moved) {
  for (auto [number, flag] : llvm::enumerate(moved)) {
    auto branch = scf::IfOp::create(b, nest.getLoc(), flag, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&branch.getThenRegion().front());
    rescaleFragments(number, factors[number]);
  }
}

SmallVector<Value> WarpgroupCompute::statePlaces() {
  SmallVector<Value> list;
  for (Value place : state)
    if (isa<tile::FragmentType>(place.getType()))
      list.push_back(place);
  return list;
}

void WarpgroupCompute::firstReference(unsigned number) {
  red::FoldOp fold = plan.references[number].fold;
  Location loc = fold.getLoc();
  Value score = scores(fold.getFactors().front(), red::FoldKind::Max);
  Value into = top[number] ? top[number] : reference[number];
  reduceMaximum(number, score, into);
  tile::ReduceQuadOp::create(b, loc, tile::Combine::Max, into);
  if (top[number])
    copyRows(loc, into, reference[number]);
  anchorExponents(number);
}

void WarpgroupCompute::convertWeights() {
  for (auto [fragment, operand] : llvm::zip(fragments, operands))
    if (operand)
      tile::ConvertOp::create(b, nest.getLoc(), fragment, operand);
}

} // namespace attnc::schedule
