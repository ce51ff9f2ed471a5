// What an evaluation tells the check of a nest's domain.
#include "compiler/evaluator/float64/evaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// What leaves a state of this kind as it is.
double identityOf(red::FoldKind kind, ElementKind element) {
  constexpr double least = static_cast<double>(std::numeric_limits<int64_t>::min());
  switch (kind) {
  case red::FoldKind::Add:
  case red::FoldKind::Or:
    return 0;
  case red::FoldKind::Mul:
  case red::FoldKind::And:
    return 1;
  case red::FoldKind::Max:
    return element == ElementKind::Real ? -kUnknown : least;
  case red::FoldKind::Min:
    return element == ElementKind::Real ? kUnknown : -least;
  }
  return 0;
}

} // namespace

llvm::Error Evaluation::evaluateDomain(red::NestOp nest) {
  auto space = [&](ArrayAttr dims) { return spaceOf(attn::dimNames(dims)); };
  llvm::Expected<DomainCheck> check = DomainCheck::create(
      nest, space(nest.getGrid()), space(nest.getRow()), space(nest.getStream()), *this, extents);
  if (!check)
    return check.takeError();
  domain.emplace(std::move(*check));
  return llvm::Error::success();
}

llvm::Error Evaluation::checkDomain(Operation &op) {
  if (auto map = dyn_cast<attn::MapOp>(op))
    return checkFullTiles(map);
  auto fold = dyn_cast<red::FoldOp>(op);
  auto nest = dyn_cast<red::NestOp>(op.getParentOp());
  if (fold && nest && llvm::is_contained(nest.states(), fold))
    return checkState(fold);
  return llvm::Error::success();
}

llvm::Error Evaluation::checkState(red::FoldOp fold) {
  std::vector<DomainCheck::Operand> operands;
  auto add = [&](Value value, double identity) -> llvm::Error {
    llvm::Expected<ScalarProgram> elements = programOf(value);
    if (!elements)
      return elements.takeError();
    SmallVector<StringAttr> dims = attn::canonicalDims(program, elements->dims());
    Result array = evaluateElements(work, std::move(*elements), spaceOf(dims));
    if (!array)
      return array.takeError();
    operands.push_back({std::move(*array), identity});
    return llvm::Error::success();
  };
  if (fold.getExponent())
    if (llvm::Error error = add(fold.getExponent(), -kUnknown))
      return error;
  for (Value factor : fold.getFactors()) {
    auto type = cast<attn::ArrayType>(factor.getType()).getElementType();
    if (llvm::Error error = add(factor, identityOf(fold.getKind(), kindOf(type))))
      return error;
  }
  domain->checkState(fold, operands);
  return llvm::Error::success();
}

llvm::Error Evaluation::checkFullTiles(attn::MapOp map) {
  for (auto select : map.getBodyBlock()->getOps<arith::SelectOp>()) {
    auto side = select->getAttrOfType<BoolAttr>(red::kFullAttr);
    if (!side)
      continue;
    llvm::Expected<ScalarProgram> elements =
        ScalarProgram::compile(map, select.getCondition(), *this);
    if (!elements)
      return elements.takeError();
    SmallVector<StringAttr> dims = attn::canonicalDims(program, elements->dims());
    Result condition = evaluateElements(work, std::move(*elements), spaceOf(dims));
    if (!condition)
      return condition.takeError();
    if (llvm::Error error = domain->checkFull(*condition, side.getValue()))
      return error;
  }
  return llvm::Error::success();
}

} // namespace attnc::evaluator
