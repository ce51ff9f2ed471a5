#include "compiler/schedule/threads/lower_generic.h"
#include "compiler/schedule/threads/point_evaluator.h"
#include "compiler/schedule/threads/sliding_values.h"
#include "compiler/transforms/split.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace attnc::schedule {

static tile::GenericSchedule scheduleOf(red::NestOp nest) {
  return tile::scheduleAs<tile::GenericSchedule>(nest.getScheduleAttr())
      .value_or(tile::GenericSchedule());
}

// Elements that a thread has along the last dim where little is folded for each: they share their
// indices, and what is folded without that dim.
static constexpr int64_t kPointsTogether = 4;
// Elements of a fold that are little.
static constexpr int64_t kFewElements = 16;
// Elements along another dim that hand on what a window slides over. More take registers and save
// little: of n points each reads (n + w) / n elements of a window of w.
static constexpr int64_t kPointsOfWindow = 8;

SmallVector<StringAttr> pointDims(red::NestOp nest) {
  llvm::SetVector<StringAttr> order;
  const auto first = tensorOf(nest.getResults().front()); // outlives what goes over its dims
  SmallVector<StringAttr> all = attn::unionDims(attn::programOf(nest), nest.getResults());
  for (StringAttr dim : llvm::reverse(first.dims))
    order.insert(dim);
  for (StringAttr dim : llvm::reverse(all))
    order.insert(dim);
  return llvm::to_vector(llvm::reverse(order));
}

// True if the fold is over parts of a stream, or over as few elements at any size.
static bool isShort(red::FoldOp fold) {
  attn::ProgramOp program = attn::programOf(fold);
  int64_t elements = 1;
  for (StringAttr dim : attn::dimNames(fold.getDims())) {
    attn::DimAttr declared = program.lookupDim(dim);
    if (isPartDim(program, dim))
      continue;
    if (!declared.isStatic() || (elements *= declared.getExtent()) > kFewElements)
      return false;
  }
  return true;
}

namespace {

/// The points of a thread: so many neighbours along each of some dims of the results.
struct Together {
  SmallVector<std::pair<StringAttr, int64_t>> dims;
  bool folds = false; ///< inner folds of all points are in one loop

  int64_t along(StringAttr dim) const {
    for (auto [each, count] : dims)
      if (each == dim)
        return count;
    return 1;
  }
};

} // namespace

// A product of a factor that has the dim x with one that has y: points both ways share them.
static bool isProductOf(red::FoldOp fold, StringAttr x, StringAttr y) {
  auto hasOnly = [&](StringAttr dim, StringAttr other) {
    return llvm::any_of(fold.getFactors(), [&](Value factor) {
      auto type = cast<attn::ArrayType>(factor.getType());
      return type.hasDim(dim) && !type.hasDim(other);
    });
  };
  return hasOnly(x, y) && hasOnly(y, x);
}

// Lanes of a warp are side by side along the last dim, as results lie in memory: so a window slides
// along another.
static Together pointsTogether(red::NestOp nest, ArrayRef<StringAttr> dims) {
  if (dims.empty())
    return {};
  auto folds = nest.getBodyBlock()->getOps<red::FoldOp>();
  auto slides = [&](red::FoldOp fold, StringAttr dim) {
    SmallVector<StringAttr> window = attn::dimNames(fold.getDims());
    return window.size() == 1 && attn::programOf(nest).lookupDim(window[0]).isStatic() &&
           !slidingValues(fold, dim, window[0]).empty();
  };
  StringAttr last = dims.back();
  for (StringAttr dim : dims.drop_back())
    if (llvm::any_of(folds, [&](red::FoldOp fold) { return slides(fold, dim); }))
      return {{{dim, kPointsOfWindow}}, true};
  for (StringAttr dim : dims.drop_back())
    if (nest.states().empty() && llvm::any_of(folds, [&](red::FoldOp fold) {
          return !isShort(fold) && isProductOf(fold, dim, last);
        }))
      return {{{dim, kPointsTogether}, {last, kPointsTogether}}, true};
  if (llvm::all_of(folds, isShort))
    return {{{last, kPointsTogether}}};
  return {};
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

// Stores all results at the point.
static void storeResults(red::NestOp nest, PointEvaluator &evaluator, const KernelMemory &memory,
                         OpBuilder &builder, ArrayRef<StringAttr> dims) {
  for (unsigned number = 0; number < nest.getNumResults(); ++number)
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
static void storeNeighbours(red::NestOp nest, PointEvaluator &evaluator, const KernelMemory &memory,
                            OpBuilder &builder, ArrayRef<StringAttr> dims,
                            const Together &together) {
  SmallVector<Neighbours, 2> neighbours;
  SmallVector<StringAttr> varying;
  for (auto [dim, count] : together.dims) {
    neighbours.push_back(neighboursAlong(nest, evaluator, memory, builder, dim, count));
    varying.push_back(dim);
  }
  ValueRange results = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()).getValues();
  for (Value array : results)
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
  if (together.folds)
    for (Value array : results)
      PointEvaluator::foldTogether(points, array, {outer.dim, outer.places});
  for (auto [each, inside] : llvm::zip(points, exist)) {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, nest.getLoc(), inside, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    storeResults(nest, each, memory, builder, dims);
  }
}

namespace {

/// One kernel while it is built.
class GenericLowering {
public:
  GenericLowering(red::NestOp nest, const KernelSignature &signature, tile::KernelOp kernel,
                  ArrayRef<StringAttr> cells, ArrayRef<StringAttr> dims, OpBuilder &builder)
      : nest(nest), loc(nest.getLoc()), b(builder), memory(nest, signature, kernel),
        evaluator(nest, memory, builder), cells(cells), dims(dims),
        together(pointsTogether(nest, dims)) {}

  void build(int64_t threads) {
    if (cells.empty())
      return storeAt(tile::PointOp::create(b, NameLoc::get(b.getStringAttr("point"))));
    bindPoint(evaluator, extentsOf(cells), b, loc, widen(tile::BlockOp::create(b, named("block"))),
              cells);
    Value thread = widen(tile::ThreadOp::create(b, named("thread")));
    SmallVector<Value> extents = pointExtents();
    auto turns = scf::ForOp::create(b, loc, thread, product(extents), constant(threads));
    turns.getInductionVar().setLoc(named("point"));
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

  // The elements of the thread, if there are any.
  void storeAt(Value point) {
    SmallVector<Value> extents = pointExtents();
    Value inside =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, point, product(extents));
    auto guarded = scf::IfOp::create(b, loc, inside, /*withElseRegion=*/false);
    b.setInsertionPointToStart(&guarded.getThenRegion().front());
    store(point, extents);
  }

  void store(Value point, ArrayRef<Value> extents) {
    bindPoint(evaluator, extents, b, loc, point, dims);
    SmallVector<StringAttr> all(cells);
    llvm::append_range(all, dims);
    if (!together.dims.empty())
      storeNeighbours(nest, evaluator, memory, b, all, together);
    else
      storeResults(nest, evaluator, memory, b, all);
  }

  red::NestOp nest;
  Location loc;
  OpBuilder &b;
  KernelMemory memory;
  PointEvaluator evaluator;
  ArrayRef<StringAttr> cells, dims;
  Together together;
};

} // namespace

tile::KernelOp lowerGenericNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  KernelSignature signature(planned);
  tile::GenericSchedule schedule = scheduleOf(nest);
  SmallVector<StringAttr> all = pointDims(nest);
  auto cells = ArrayRef(all).take_front(schedule.cellDims);
  auto dims = ArrayRef(all).drop_front(schedule.cellDims);

  Together together = pointsTogether(nest, dims);
  Attribute blocks = builder.getI64IntegerAttr(1);
  for (StringAttr dim : cells.empty() ? dims : cells) {
    Attribute extent = gridExtent(nest, dim);
    if (int64_t count = together.along(dim); cells.empty() && count > 1)
      extent = gridApply("ceildiv", extent, builder.getI64IntegerAttr(count));
    blocks = gridApply("mul", blocks, extent);
  }
  if (cells.empty())
    blocks = gridApply("ceildiv", blocks, builder.getI64IntegerAttr(schedule.threads));

  OpBuilder::InsertionGuard guard(builder);
  auto kernel = tile::KernelOp::create(
      builder, nest.getLoc(), kernelName(nest), argumentTypes(signature, nest.getContext()),
      builder.getArrayAttr({blocks}), schedule.threads, /*smem=*/0);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  GenericLowering(nest, signature, kernel, cells, dims, builder).build(schedule.threads);
  IRRewriter rewriter(builder.getContext()); // neighbours find many things each for itself
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return kernel;
}

} // namespace attnc::schedule
