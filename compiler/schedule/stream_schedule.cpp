#include "compiler/schedule/stream_schedule.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace attnc::schedule {

ScheduleFields StreamSchedule::fields() {
  return {{"row_tile", &rowTile}, {"stream_tile", &streamTile},
          {"warps", &warps},      {"stages", &stages},
          {"slack", &slack},      {"min_blocks", &minBlocks}};
}

StreamSchedule StreamSchedule::from(DictionaryAttr attr) {
  StreamSchedule schedule;
  readFields(schedule.fields(), attr);
  return schedule;
}

DictionaryAttr StreamSchedule::toAttr(MLIRContext *context) const {
  StreamSchedule copy = *this;
  return fieldsAttr(copy.fields(), "stream", context);
}

tile::SharedType sharedTile(const OperandTile &operand, int64_t rows) {
  return tile::SharedType::get(operand.element.getContext(), rows, operand.cols, operand.element);
}

static int64_t tileBytes(const OperandTile &operand, int64_t rows) {
  return rows * tile::paddedWidth(operand.cols, operand.element) *
         (operand.element.getIntOrFloatBitWidth() / 8);
}

int64_t sharedBytes(red::NestOp nest, const StreamPlan &plan, const StreamSchedule &schedule) {
  int64_t bytes = 0;
  llvm::SmallSetVector<Operation *, 2> resident;
  for (const Contraction &contraction : plan.contractions)
    if (attn::ReadOp read = contraction.resident.read; resident.insert(read))
      bytes += tileBytes(contraction.resident, schedule.rowTile);
  for (const OperandTile &operand : plan.streamed)
    bytes += schedule.stages * tileBytes(operand, schedule.streamTile);
  // A result takes the place of the operands on its way out.
  for (const StreamState &state : plan.states)
    if (state.streamed != -1) {
      OperandTile out = plan.streamed[state.streamed];
      for (Value result : nest.getResults())
        if (cast<attn::ArrayType>(result.getType()).getDims().size() ==
            cast<attn::ArrayType>(red::FoldOp(state.fold).getType()).getDims().size()) {
          out.element = tensorOf(result).element;
          bytes = std::max(bytes, tileBytes(out, schedule.rowTile));
        }
    }
  return bytes;
}

int64_t scoreFragments(const StreamPlan &plan) {
  llvm::SmallSetVector<Value, 4> arrays;
  for (Reference r : plan.references)
    arrays.insert(r.fold.getFactors().front());
  for (StreamState s : plan.states)
    if (s.weight == -1)
      arrays.insert(s.fold.getFactors().front());
  size_t count = std::max(plan.contractions.size(), arrays.size());
  bool sharedContraction = arrays.size() > plan.contractions.size() && !plan.contractions.empty();
  llvm::SmallSet<int, 4> references;
  bool sharedScores = false;
  for (const Weight &weight : plan.weights)
    sharedScores |= weight.reference == -1 || !references.insert(weight.reference).second;
  return count + sharedContraction + sharedScores;
}

int64_t fragmentRegisters(const StreamPlan &plan, const StreamSchedule &schedule) {
  int64_t lanesRows = schedule.rowTile / schedule.warps;
  int64_t columns = 0;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1)
      columns += tile::paddedWidth(plan.streamed[state.streamed].cols,
                                   plan.streamed[state.streamed].element);
  columns += scoreFragments(plan) * schedule.streamTile;
  // A split operand is twice as large as the fragment that it is made of.
  if (llvm::any_of(plan.streamed, [](const OperandTile &o) { return o.element.isF32(); }))
    columns += schedule.streamTile;
  return lanesRows * columns / 32;
}

} // namespace attnc::schedule
