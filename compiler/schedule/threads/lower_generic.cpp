#include "compiler/schedule/threads/lower_generic.h"
#include "compiler/schedule/threads/generic_points.h"
#include "compiler/schedule/threads/point_evaluator.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace attnc::schedule {

static tile::GenericSchedule scheduleOf(red::NestOp nest) {
  return tile::scheduleAs<tile::GenericSchedule>(nest.getScheduleAttr())
      .value_or(tile::GenericSchedule());
}

// Splits the thread's number into the indices of `dims`, the last one fastest, and binds them.
static void bindPoint(PointEvaluator &evaluator, ArrayRef<Value> extents, OpBuilder &builder,
                      Location loc, Value point, ArrayRef<StringAttr> dims) {
  Value rest = point;
  for (size_t i = dims.size(); i-- > 1;) {
    Value extent = extents[i];
    Location here = attn::renamed(loc, dims[i].getValue());
    Location left = attn::renamed(loc, i == 1 ? dims[0].getValue() : "rest");
    evaluator.bind(dims[i], arith::RemSIOp::create(builder, here, rest, extent));
    rest = arith::DivSIOp::create(builder, left, rest, extent);
  }
  if (!dims.empty())
    evaluator.bind(dims[0], rest);
}

// Stores the result where the dims that it has not are 0.
static void storeResult(red::NestOp nest, unsigned number, PointEvaluator &evaluator,
                        const KernelMemory &memory, OpBuilder &builder, ArrayRef<StringAttr> dims) {
  Value result = nest.getResult(number);
  Value array = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()).getValues()[number];
  Location loc = array.getLoc();
  Value value = evaluator.evaluate(array);
  Value first;
  Value zero;
  for (StringAttr dim : dims) {
    if (cast<attn::ArrayType>(result.getType()).hasDim(dim))
      continue;
    if (!zero)
      zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    Value here =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, evaluator.index(dim), zero);
    first = first ? arith::AndIOp::create(builder, loc, first, here).getResult() : here;
  }
  if (red::PackOp pack = packOf(result)) {
    Value stored = evaluator.isStored(pack);
    first = first ? arith::AndIOp::create(builder, loc, first, stored).getResult() : stored;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (first)
    builder.setInsertionPointToStart(
        &scf::IfOp::create(builder, loc, first, /*withElseRegion=*/false).getThenRegion().front());
  SmallVector<Value> subscripts;
  for (StringAttr dim : tensorOf(result).dims)
    subscripts.push_back(evaluator.storeIndex(result, dim));
  tile::StoreOp::create(builder, loc, value, memory.pointer(result),
                        memory.offset(builder, loc, result, subscripts));
}

static void storeResults(red::NestOp nest, ArrayRef<unsigned> results, PointEvaluator &evaluator,
                         const KernelMemory &memory, OpBuilder &builder,
                         ArrayRef<StringAttr> dims) {
  for (unsigned number : results)
    storeResult(nest, number, evaluator, memory, builder, dims);
}

namespace {

/// The indices of a thread's points along one dim.
struct Neighbours {
  StringAttr dim;
  SmallVector<Value> places;  ///< one after the other
  SmallVector<Value> indices; ///< where those beyond the end are the last, to be folded again
  SmallVector<Value> exist;   ///< i1: inside of the extent
};

} // namespace

// From `count` times the index of the dim on.
static Neighbours neighboursAlong(red::NestOp nest, PointEvaluator &evaluator,
                                  const KernelMemory &memory, OpBuilder &builder, StringAttr dim,
                                  int64_t count) {
  Location loc = nest.getLoc(), here = attn::renamed(loc, dim.getValue());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
  };
  Value first = arith::MulIOp::create(builder, attn::renamed(loc, "first"), evaluator.index(dim),
                                      constant(count));
  evaluator.unbind(dim);
  Value extent = memory.extent(builder, loc, dim);
  Value last;
  if (!nest.getBodyBlock()->getOps<red::FoldOp>().empty())
    last = arith::SubIOp::create(builder, loc, extent, constant(1));
  Neighbours all{dim, {}, {}, {}};
  for (int64_t i = 0; i < count; ++i) {
    Value place = arith::AddIOp::create(builder, here, first, constant(i));
    all.places.push_back(place);
    all.indices.push_back(last ? arith::MinSIOp::create(builder, here, place, last).getResult()
                               : place);
    all.exist.push_back(
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, place, extent));
  }
  return all;
}

// The elements of the thread.
static void storeNeighbours(red::NestOp nest, ArrayRef<unsigned> results, PointEvaluator &evaluator,
                            const KernelMemory &memory, OpBuilder &builder,
                            ArrayRef<StringAttr> dims, const Together &together) {
  SmallVector<Neighbours, 2> neighbours;
  SmallVector<StringAttr> varying;
  for (auto [dim, count] : together.dims) {
    neighbours.push_back(neighboursAlong(nest, evaluator, memory, builder, dim, count));
    varying.push_back(dim);
  }
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  auto arrays = llvm::map_to_vector(results, [&](unsigned n) { return yield.getValues()[n]; });
  for (Value array : arrays)
    evaluator.hoist(array, varying);
  const Neighbours &outer = neighbours.front(), &inner = neighbours.back();
  std::vector<PointEvaluator> points = evaluator.neighbours(outer.dim, outer.indices);
  SmallVector<Value> exist = outer.exist;
  if (neighbours.size() > 1) {
    std::vector<PointEvaluator> both;
    exist.clear();
    for (auto [point, inside] : llvm::zip(points, outer.exist))
      for (auto [index, also] : llvm::zip(inner.indices, inner.exist)) {
        both.emplace_back(point).bind(inner.dim, index);
        exist.push_back(arith::AndIOp::create(builder, nest.getLoc(), inside, also));
      }
    points = std::move(both);
  }
  if (together.foldInOneLoop)
    for (Value array : arrays)
      PointEvaluator::foldTogether(points, array, {outer.dim, outer.places});
  for (auto [each, inside] : llvm::zip(points, exist)) {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, nest.getLoc(), inside, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    storeResults(nest, results, each, memory, builder, dims);
  }
}

namespace {

/// The elements of a group of results, while their kernel is built.
class GenericLowering {
public:
  GenericLowering(red::NestOp nest, const KernelSignature &signature, tile::KernelOp kernel,
                  const ResultGroup &group, ArrayRef<StringAttr> cells, OpBuilder &builder)
      : nest(nest), loc(nest.getLoc()), b(builder), memory(nest, signature, kernel),
        evaluator(nest, memory, builder), results(group.results), cells(cells), dims(group.dims),
        together(group.together) {}

  // Each point by a thread of all blocks, if there are so many.
  void storeAt(Value point) {
    SmallVector<Value> extents = pointExtents();
    Value inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, point, product(extents));
    OpBuilder::InsertionGuard guard(b);
    auto guarded = scf::IfOp::create(b, loc, inside, /*withElseRegion=*/false);
    b.setInsertionPointToStart(&guarded.getThenRegion().front());
    store(point, extents);
  }

  // The points of the block's cell by its threads in turn.
  void storeCell(int64_t threads) {
    bindPoint(evaluator, extentsOf(cells), b, loc, widen(tile::BlockOp::create(b, named("block"))),
              cells);
    Value thread = widen(tile::ThreadOp::create(b, named("thread")));
    SmallVector<Value> extents = pointExtents();
    auto turns = scf::ForOp::create(b, loc, thread, product(extents), constant(threads));
    turns.getInductionVar().setLoc(named("point"));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(turns.getBody());
    store(turns.getInductionVar(), extents);
  }

private:
  Location named(StringRef name) { return NameLoc::get(b.getStringAttr(name)); }
  Value widen(Value index) {
    return arith::ExtSIOp::create(b, index.getLoc(), b.getI64Type(), index);
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }

  SmallVector<Value> extentsOf(ArrayRef<StringAttr> list) {
    SmallVector<Value> extents;
    for (StringAttr dim : list)
      extents.push_back(memory.extent(b, loc, dim));
    return extents;
  }

  // A thread has several elements.
  SmallVector<Value> pointExtents() {
    SmallVector<Value> extents = extentsOf(dims);
    for (auto [dim, extent] : llvm::zip(dims, extents))
      if (int64_t count = together.along(dim); count > 1)
        extent = arith::DivSIOp::create(
            b, loc, arith::AddIOp::create(b, loc, extent, constant(count - 1)), constant(count));
    return extents;
  }

  Value product(ArrayRef<Value> extents) {
    Value total;
    for (Value extent : extents)
      total = total ? arith::MulIOp::create(b, loc, total, extent).getResult() : extent;
    return total ? total : constant(1);
  }

  void store(Value point, ArrayRef<Value> extents) {
    bindPoint(evaluator, extents, b, loc, point, dims);
    SmallVector<StringAttr> all(cells);
    llvm::append_range(all, dims);
    if (!together.dims.empty())
      storeNeighbours(nest, results, evaluator, memory, b, all, together);
    else {
      evaluator.readPartsBeside();
      storeResults(nest, results, evaluator, memory, b, all);
    }
  }

  red::NestOp nest;
  Location loc;
  OpBuilder &b;
  KernelMemory memory;
  PointEvaluator evaluator;
  ArrayRef<unsigned> results;
  ArrayRef<StringAttr> cells, dims;
  const Together &together;
};

} // namespace

// Blocks of so many threads for the points of a group's results.
static Attribute blocksFor(red::NestOp nest, const ResultGroup &group, int64_t threads) {
  Builder builder(nest.getContext());
  Attribute points = builder.getI64IntegerAttr(1);
  for (StringAttr dim : group.dims) {
    Attribute count = builder.getI64IntegerAttr(group.together.along(dim));
    points = gridApply("mul", points, gridApply("ceildiv", gridExtent(nest, dim), count));
  }
  return gridApply("ceildiv", points, builder.getI64IntegerAttr(threads));
}

// A block for each cell, or as many as the group with the most points has.
static Attribute gridOf(red::NestOp nest, const tile::GenericSchedule &schedule,
                        ArrayRef<ResultGroup> groups, ArrayRef<StringAttr> cells) {
  Attribute blocks;
  if (!cells.empty())
    for (StringAttr dim : cells) {
      Attribute extent = gridExtent(nest, dim);
      blocks = blocks ? gridApply("mul", blocks, extent) : extent;
    }
  else
    for (const ResultGroup &group : groups) {
      Attribute own = blocksFor(nest, group, schedule.threads);
      blocks = blocks ? gridApply("max", blocks, own) : own;
    }
  return blocks;
}

// Moves arithmetic of i64, offsets mostly, out of branches and loops that do not decide what it is:
// else the device compiler computes the same offset in each of them. What is inside comes first.
static void hoistOffsets(tile::KernelOp kernel) {
  kernel.walk<WalkOrder::PostOrder>([](Operation *op) {
    if (!isa<scf::IfOp, scf::ForOp>(op))
      return;
    for (Region &region : op->getRegions())
      for (Operation &inner : llvm::make_early_inc_range(region.getOps())) {
        bool isOffset = isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(inner) &&
                        inner.getResult(0).getType().isInteger(64);
        bool isKnown = llvm::all_of(inner.getOperands(), [&](Value operand) {
          return !region.isAncestor(operand.getParentRegion());
        });
        if (isOffset && isKnown)
          inner.moveBefore(op);
      }
  });
}

// Neighbours find many things each for itself, and some that only other results need.
static void cleanUp(tile::KernelOp kernel) {
  hoistOffsets(kernel);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  (void)runRegionDCE(rewriter, kernel->getRegions());
}

tile::KernelOp lowerGenericNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  KernelSignature signature(planned);
  tile::GenericSchedule schedule = scheduleOf(nest);
  SmallVector<StringAttr> all = pointDims(nest);
  auto cells = ArrayRef(all).take_front(schedule.cellDims);
  // A block has all results of a cell.
  SmallVector<ResultGroup> groups = cells.empty()
                                        ? resultGroups(nest)
                                        : SmallVector<ResultGroup>{groupOfCell(nest, cells.size())};

  OpBuilder::InsertionGuard guard(builder);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({gridOf(nest, schedule, groups, cells)}), schedule.threads, /*smem=*/0);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  Value point;
  if (cells.empty())
    point = tile::PointOp::create(builder, NameLoc::get(builder.getStringAttr("point")));
  for (const ResultGroup &group : groups) {
    GenericLowering lowering(nest, signature, kernel, group, cells, builder);
    if (cells.empty())
      lowering.storeAt(point);
    else
      lowering.storeCell(schedule.threads);
  }
  cleanUp(kernel);
  return kernel;
}

} // namespace attnc::schedule
