#include "compiler/schedule/threads/lower_rows.h"
#include "compiler/schedule/threads/rows_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace attnc::schedule {

void RowsLowering::build() {
  bindBlock();
  createArrays();
  share(constant(schedule.rows), "row", [&](Value row) {
    for (red::FoldOp state : plan.plain)
      set(red::inlineUpdate(b, state.getLoc(), state.getEmpty(), {}), states.lookup(state),
          rowIndex(row), state.getLoc());
    startCentres(plan.plain, rowIndex(row), /*shared=*/true);
  });
  for (auto [number, group] : llvm::enumerate(plan.groups))
    eachTurn(number, [&](Value turn, Value) {
      eachRow(group, constant(0), [&](Value, Value number) {
        SmallVector<Value> at = elementIndex(turn, number);
        for (red::FoldOp state : group.states)
          set(red::inlineUpdate(b, state.getLoc(), state.getEmpty(), {}), elements.lookup(state),
              at, state.getLoc());
        startCentres(group.states, at, /*shared=*/false);
      });
    });
  barrier();
  eachIndex(0);
  shareStates();
  storeResults();
}

// Loops over the stream dims from `axis` on; the last one by tiles.
void RowsLowering::eachIndex(unsigned axis) {
  auto [begin, end] = streamBounds(axis);
  if (axis < plan.outer.size())
    return loop(begin, end, 1, plan.outer[axis], [&](Value index) {
      block.bind(plan.outer[axis], index);
      eachIndex(axis + 1);
    });
  loop(begin, end, schedule.streamTile, plan.stream.getValue().str() + "0",
       [&, to = end](Value first) { foldTile(first, to); });
}

// So many threads of a multiprocessor hide the latency of loads, and leave 72 registers for each;
// threads with many elements of states, or several scalars, have 128, and fewer run beside each
// other.
static int64_t blocksOfMultiprocessor(const RowsPlan &plan, const RowsSchedule &schedule) {
  auto [rows, columns] = scalarsTogether(plan, schedule);
  int64_t together = rows * columns <= 4 && stateRegisters(plan, schedule) <= 8 ? 896 : 512;
  return std::max<int64_t>(1, together / schedule.threads);
}

bool canLowerRows(red::NestOp nest, std::string &why) {
  FailureOr<RowsPlan> plan = planRows(nest, why);
  return succeeded(plan) && chooseRows(nest, *plan, why);
}

FailureOr<tile::KernelOp> lowerRowsNest(PlannedNest &planned, OpBuilder &builder) {
  red::NestOp nest = planned.op();
  const RowsPlan *plan = planned.rows();
  if (!plan)
    return nest.emitOpError("has no rows form: ") << planned.whyNoRows();
  RowsSchedule schedule = cast<tile::RowsAttr>(nest.getScheduleAttr()).getValue();
  Attribute blocks = builder.getI64IntegerAttr(1);
  for (StringAttr dim : plan->cells) {
    Attribute extent = gridExtent(nest, dim);
    if (dim == plan->row)
      extent = gridApply("ceildiv", extent, builder.getI64IntegerAttr(schedule.rows));
    blocks = gridApply("mul", blocks, extent);
  }
  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(planned);
  auto kernel = tile::KernelOp::create(builder, nest.getLoc(), kernelName(nest),
                                       argumentTypes(signature, nest.getContext()),
                                       builder.getArrayAttr({blocks}), schedule.threads,
                                       /*smem=*/0);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  kernel.setScheduleAttr(nest.getScheduleAttr());
  kernel.setMinBlocks(blocksOfMultiprocessor(*plan, schedule));
  RowsLowering(nest, *plan, schedule, signature, kernel, builder).build();
  // Points of a thread find what they share each for itself.
  IRRewriter rewriter(builder.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  return kernel;
}

} // namespace attnc::schedule
