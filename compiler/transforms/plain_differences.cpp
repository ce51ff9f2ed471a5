#include "compiler/transforms/plain_differences.h"
#include "compiler/transforms/analysis/finite_factors.h"
#include "dialects/Attn/ScalarProperties.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

static void markIn(red::NestOp nest) {
  Terms terms(programOf(nest), dimNames(nest.getStream()),
              [&](Value array) { return nest.dependsOnState(array); });
  for (auto map : nest.getBodyBlock()->getOps<MapOp>())
    for (auto difference : map.getBodyBlock()->getOps<SubOp>())
      if (reachOf(terms, terms.open(map, difference.getLhs())) == Reach::Finite)
        difference->setAttr(kPlainAttr, UnitAttr::get(nest.getContext()));
}

void markPlainDifferences(ProgramOp program) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    markIn(nest);
}

} // namespace attnc
