// Comparisons of an array with its own maximum or minimum. All of a program's elements come from
// one arithmetic, so the extremum is one of them, exactly; the only doubt is which, and only where
// another element's bound reaches it.
#include "compiler/evaluator/float64/evaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::evaluator {

/// True if elements of `x` and `y` may be compared with one another.
static bool areCompared(Value x, Value y) {
  return llvm::any_of(x.getUsers(), [&](Operation *user) {
    auto map = dyn_cast<attn::MapOp>(user);
    return map && llvm::is_contained(map.getOperands(), y) &&
           !map.getBodyBlock()->getOps<arith::CmpFOp>().empty();
  });
}

llvm::Error Evaluation::findContest(attn::ReduceOp extremum, const Space &kept,
                                    const Space &reduced) {
  Value of = extremum.getOperand();
  bool isMin = extremum.getKind() == attn::ReduceKind::Min;
  bool real = isa<FloatType>(cast<attn::ArrayType>(of.getType()).getElementType());
  if ((!isMin && extremum.getKind() != attn::ReduceKind::Max) || !real || work.emulates() ||
      !areCompared(extremum, of))
    return llvm::Error::success();
  llvm::Expected<ScalarProgram> elements = programOf(of);
  if (!elements)
    return elements.takeError();
  Result contest = contestedExtremum(work, std::move(*elements), isMin, kept, reduced);
  if (!contest)
    return contest.takeError();
  contests.insert_or_assign(extremum.getResult(), std::move(*contest));
  return llvm::Error::success();
}

const Tensor *Evaluation::contestOf(Value extremum, Value of) const {
  auto found = contests.find(extremum);
  auto reduce = extremum.getDefiningOp<attn::ReduceOp>();
  return found != contests.end() && reduce.getOperand() == of ? &found->second : nullptr;
}

} // namespace attnc::evaluator
