#include "compiler/schedule/passes.h"
#include "compiler/schedule/forms/form.h"

using namespace mlir;

namespace attnc::schedule {

FailureOr<tile::KernelOp> lowerNest(red::NestOp nest, OpBuilder &builder) {
  for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>())
    if (!fold.hasUpdate())
      return fold.emitOpError("has no update; derive-updates comes before kernels");
  PlannedNest planned(nest);
  return formOf(nest).lower(planned, builder);
}

} // namespace attnc::schedule
