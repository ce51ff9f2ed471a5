#include "compiler/schedule/threads/lower_generic.h"
#include "compiler/schedule/threads/point_evaluator.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

static int64_t threadsOf(red::NestOp nest) {
  auto schedule = tile::scheduleAs<tile::GenericSchedule>(nest.getScheduleAttr());
  return schedule.value_or(tile::GenericSchedule()).threads;
}

// The dims of all results; neighbouring threads store what lies side by side.
static SmallVector<StringAttr> pointDims(red::NestOp nest) {
  llvm::SetVector<StringAttr> order;
  const auto first = tensorOf(nest.getResults().front()); // outlives what goes over its dims
  for (StringAttr dim : llvm::reverse(first.dims))
    order.insert(dim);
  SmallVector<StringAttr> all = attn::unionDims(attn::programOf(nest), nest.getResults());
  for (StringAttr dim : llvm::reverse(all))
    order.insert(dim);
  return llvm::to_vector(llvm::reverse(order));
}

// Splits the thread's number into the indices of `dims`, the last one fastest, and binds them.
static void bindPoint(PointEvaluator &evaluator, const KernelMemory &memory, OpBuilder &builder,
                      Location loc, Value point, ArrayRef<StringAttr> dims) {
  Value rest = point;
  for (size_t i = dims.size(); i-- > 1;) {
    Value extent = memory.extent(builder, loc, dims[i]);
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
  OpBuilder::InsertionGuard guard(builder);
  if (first)
    builder.setInsertionPointToStart(
        &scf::IfOp::create(builder, loc, first, /*withElseRegion=*/false).getThenRegion().front());
  SmallVector<Value> subscripts;
  for (StringAttr dim : tensorOf(result).dims)
    subscripts.push_back(evaluator.index(dim));
  tile::StoreOp::create(builder, loc, value, memory.pointer(result),
                        memory.offset(builder, loc, result, subscripts));
}

tile::KernelOp lowerGenericNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  Location loc = nest.getLoc();
  KernelSignature signature(planned);
  SmallVector<StringAttr> dims = pointDims(nest);
  int64_t threads = threadsOf(nest);

  Attribute points = builder.getI64IntegerAttr(1);
  for (StringAttr dim : dims)
    points = gridApply("mul", points, gridExtent(nest, dim));
  Attribute blocks = gridApply("ceildiv", points, builder.getI64IntegerAttr(threads));

  OpBuilder::InsertionGuard guard(builder);
  auto kernel = tile::KernelOp::create(builder, loc, kernelName(nest),
                                       argumentTypes(signature, nest.getContext()),
                                       builder.getArrayAttr({blocks}), threads, /*smem=*/0);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  KernelMemory memory(nest, signature, kernel);
  PointEvaluator evaluator(nest, memory, builder);

  Location pointLoc = NameLoc::get(builder.getStringAttr("point"));
  Value point = tile::PointOp::create(builder, pointLoc);
  Value total;
  for (StringAttr dim : dims) {
    Value extent = memory.extent(builder, loc, dim);
    total = total ? arith::MulIOp::create(builder, loc, total, extent).getResult() : extent;
  }
  if (!total)
    total = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, point, total);
  auto guarded = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(&guarded.getThenRegion().front());

  bindPoint(evaluator, memory, builder, loc, point, dims);
  for (unsigned number = 0; number < nest.getNumResults(); ++number)
    storeResult(nest, number, evaluator, memory, builder, dims);
  return kernel;
}

} // namespace attnc::schedule
