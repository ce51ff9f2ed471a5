// A nest with what the forms make of it.
#ifndef ATTNC_COMPILER_SCHEDULE_NEST_PLANNED_NEST_H
#define ATTNC_COMPILER_SCHEDULE_NEST_PLANNED_NEST_H

#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/threads/rows_plan.h"

namespace attnc::schedule {

/// The plans of a nest, each made when it is first asked for. Its constructor makes it an analysis
/// of MLIR's; whoever changes the nest, other than its schedule, makes a new one. Not thread-safe.
class PlannedNest {
public:
  explicit PlannedNest(red::NestOp nest) : nest(nest) {}
  explicit PlannedNest(mlir::Operation *op) : PlannedNest(mlir::cast<red::NestOp>(op)) {}

  red::NestOp op() const { return nest; }
  /// The plan of the forms with tiles, or null.
  const StreamPlan *stream();
  /// What such a form lacks for the nest, or "".
  const std::string &whyNoStream();
  /// The same plan with operands of f16 as they lie in memory where the other side of their product
  /// is f32: for products of halves (encode/encoded_operands.h). Null where stream() is.
  const StreamPlan *ofHalves();
  /// The plan of the rows form, or null.
  const RowsPlan *rows();
  const std::string &whyNoRows();

private:
  template <typename T> struct Planned {
    std::optional<T> plan;
    std::string why;
  };
  red::NestOp nest;
  std::optional<Planned<StreamPlan>> streamPlan;
  std::optional<StreamPlan> halvesPlan;
  std::optional<Planned<RowsPlan>> rowsPlan;
};

} // namespace attnc::schedule

#endif
