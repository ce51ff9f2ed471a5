#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "dialects/Attn/ScalarProperties.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attnc::schedule {

// The kernel's arguments that are sizes of the nest's row and stream dims.
static SmallVector<int64_t> tiledSizes(red::NestOp nest, const KernelSignature &signature) {
  SmallVector<int64_t> sizes;
  for (ArrayAttr role : {nest.getRow(), nest.getStream()})
    for (StringAttr dim : role.getAsRange<StringAttr>())
      if (!attn::programOf(nest).lookupDim(dim).isStatic())
        sizes.push_back(signature.size(dim));
  return sizes;
}

static bool hasNarrowOperands(red::NestOp nest) {
  return llvm::any_of(nest.captures(), [](Value tensor) {
    auto type = dyn_cast<FloatType>(cast<attn::ArrayType>(tensor.getType()).getElementType());
    return type && type.getWidth() == 16;
  });
}

void askForCleanUp(tile::KernelOp kernel, red::NestOp nest, const KernelSignature &signature,
                   ValueRange indices, bool spreadsFactors) {
  Builder b(kernel.getContext());
  SmallVector<NamedAttribute> facts = {
      b.getNamedAttr("sizes", b.getI64ArrayAttr(tiledSizes(nest, signature)))};
  if (hasNarrowOperands(nest))
    facts.push_back(b.getNamedAttr("narrow", b.getUnitAttr()));
  if (spreadsFactors)
    facts.push_back(b.getNamedAttr("spreads_factors", b.getUnitAttr()));
  kernel->setAttr(kCleanUpAttr, b.getDictionaryAttr(facts));
  for (Value index : indices)
    index.getDefiningOp()->setAttr(kIndexAttr, b.getUnitAttr());
}

static bool isInteger(Value value) { return isa<IntegerType>(value.getType()); }

bool canCleanUp(tile::KernelOp kernel) {
  auto facts = kernel->getAttrOfType<DictionaryAttr>(kCleanUpAttr);
  auto sizes = facts ? facts.getAs<ArrayAttr>("sizes") : ArrayAttr();
  Block *body = kernel.getBodyBlock();
  bool areSizes = sizes && llvm::all_of(sizes, [&](Attribute size) {
                    auto number = dyn_cast<IntegerAttr>(size);
                    return number && number.getValue().ult(body->getNumArguments()) &&
                           isInteger(body->getArgument(number.getValue().getZExtValue()));
                  });
  auto isWrong = [](Operation *op) {
    bool isIndex = op->getNumResults() == 1 && isInteger(op->getResult(0));
    return op->hasAttr(kIndexAttr) && !isIndex ? WalkResult::interrupt() : WalkResult::advance();
  };
  return areSizes && !kernel.walk(isWrong).wasInterrupted();
}

bool isTiled(tile::KernelOp kernel) { return kernel->hasAttr(kCleanUpAttr); }

// The two sides of a branch come from the same code.
void foldKernel(tile::KernelOp kernel) {
  (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
  SmallVector<tile::MapOp> copies;
  kernel.walk([&](tile::MapOp map) {
    auto yield = cast<tile::YieldOp>(map.getBodyBlock()->getTerminator());
    for (auto [i, in] : llvm::enumerate(map.getIns()))
      if (map.getOuts().size() == 1 && in == map.getOuts().front() &&
          yield.getValues().front() == map.element(i))
        copies.push_back(map);
  });
  for (tile::MapOp map : copies)
    map.erase();
}

// False for what is one number for all elements of a row.
static bool differsInRow(tile::MapOp map, Value value) {
  llvm::SetVector<Value> reached; // an operand that is shared is walked once
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (op && op->getBlock() == map.getBodyBlock())
      reached.insert(op->operand_begin(), op->operand_end());
    auto argument = dyn_cast<BlockArgument>(reached[i]);
    if (!argument || argument.getOwner() != map.getBodyBlock() || argument == map.rowIndex())
      continue;
    unsigned number = argument.getArgNumber();
    if (number == 1 || !isa<tile::RowsType>(map.getIns()[number - 2].getType()))
      return true;
  }
  return false;
}

// Of an element, and not asked to be exact.
static bool isOfElement(Operation *op, Value operand) {
  auto map = op->getParentOfType<tile::MapOp>();
  return map && !op->hasAttr(attn::kExactAttr) && !map.isOverRows() && differsInRow(map, operand);
}

// The sum of a normal number above 0 and what is not negative: no number below the normal ones.
static bool isSurelyNormal(Value scalar) {
  auto sum = scalar.getDefiningOp<arith::AddFOp>();
  auto isNumber = [](Value x) {
    FloatAttr constant;
    return matchPattern(x, m_Constant(&constant)) && constant.getValueAsDouble() >= 0x1p-126;
  };
  auto isNotNegative = [](Value x) {
    return isa_and_nonnull<math::ExpOp, math::Exp2Op, math::AbsFOp>(x.getDefiningOp());
  };
  return sum && ((isNumber(sum.getLhs()) && isNotNegative(sum.getRhs())) ||
                 (isNumber(sum.getRhs()) && isNotNegative(sum.getLhs())));
}

void approximateFunctions(tile::KernelOp kernel) {
  if (!kernel->getAttrOfType<DictionaryAttr>(kCleanUpAttr).contains("narrow"))
    return;
  kernel.walk([](math::ExpOp op) {
    if (!isOfElement(op, op.getOperand()))
      return;
    op.setFastmath(arith::FastMathFlags::afn);
    auto difference = op.getOperand().getDefiningOp<attn::SubOp>();
    if (difference && difference->hasOneUse() && difference.getType().isF32())
      difference->setAttr(attn::kExponentAttr, UnitAttr::get(op.getContext()));
  });
  kernel.walk([](arith::DivFOp op) {
    if (op.getType().isF32() && matchPattern(op.getLhs(), m_OneFloat()) &&
        isOfElement(op, op.getRhs()))
      op.setFastmath(
          arith::FastMathFlags::arcp |
          (isSurelyNormal(op.getRhs()) ? arith::FastMathFlags::afn : arith::FastMathFlags::none));
  });
}

} // namespace attnc::schedule
