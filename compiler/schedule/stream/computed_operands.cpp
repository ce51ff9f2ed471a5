#include "compiler/schedule/stream/computed_operands.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Red/Cancellation.h"

using namespace mlir;

namespace attnc::schedule {

static attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

// True if some value of the nest's body that the arrays are computed from satisfies the predicate.
static bool anyOf(red::NestOp nest, ArrayRef<Value> arrays, function_ref<bool(Operation *)> is) {
  llvm::SetVector<Value> reached;
  reached.insert(arrays.begin(), arrays.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (!op || op->getBlock() != nest.getBodyBlock())
      continue;
    if (is(op))
      return true;
    reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

static bool hasInner(red::NestOp nest, Value array) {
  return llvm::any_of(arrayType(array).getDims(),
                      [&](StringAttr dim) { return llvm::is_contained(nest.getInner(), dim); });
}

Type halfType(attn::ReadOp read) {
  auto stored = dyn_cast<FloatType>(tensorOf(read.getSource()).element);
  if (!stored || stored.getWidth() != 16)
    return {};
  bool loses = false;
  if (std::optional<APFloat> otherwise = read.getOtherwise())
    otherwise->convert(stored.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
  return loses ? Type() : stored;
}

// True if the last axis is read along `inner`, all of it, and where a row lies does not depend on
// that; rows that do not exist are 0.
static bool hasWholeRows(red::NestOp nest, attn::ReadOp read, StringAttr inner) {
  Tensor tensor = tensorOf(read.getSource());
  attn::DimAttr last = attn::programOf(nest).lookupDim(tensor.dims.back());
  std::optional<APFloat> otherwise = read.getOtherwise();
  return read.subscriptDim(tensor.dims.size() - 1) == inner && last.isStatic() &&
         last.getExtent() == attn::programOf(nest).lookupDim(inner).getExtent() &&
         (!otherwise || otherwise->isPosZero()) &&
         llvm::all_of(llvm::seq<unsigned>(tensor.dims.size() - 1), [&](unsigned axis) {
           return read.subscriptDim(axis) ? read.subscriptDim(axis) != inner
                                          : !arrayType(read.subscriptValue(axis)).hasDim(inner);
         });
}

std::optional<OperandTile> computedTile(red::NestOp nest, ArrayRef<Value> factors, StringAttr along,
                                        red::FoldOp fold) {
  StringAttr inner;
  bool hasRows = false;
  for (Value factor : factors) {
    if (!arrayType(factor).getElementType().isF32())
      return {};
    for (StringAttr dim : arrayType(factor).getDims()) {
      hasRows |= dim == along;
      if (dim == along || llvm::is_contained(nest.getGrid(), dim) || dim == inner)
        continue;
      if (inner || !llvm::is_contained(nest.getInner(), dim))
        return {};
      inner = dim;
    }
  }
  bool folds = anyOf(nest, factors, [](Operation *op) { return isa<red::FoldOp>(op); });
  if (!hasRows || !inner || folds)
    return {};
  OperandTile tile{};
  tile.rowAxis = ~0u;
  tile.cols = attn::programOf(nest).lookupDim(inner).getExtent();
  tile.element = Float32Type::get(nest.getContext());
  tile.factors.assign(factors.begin(), factors.end());
  tile.source = factors.size() == 1 ? factors.front().getDefiningOp() : fold.getOperation();
  tile.inner = inner;
  if (factors.size() == 1)
    if (auto read = factors.front().getDefiningOp<attn::ReadOp>())
      if (Type half = halfType(read)) {
        tile.element = half;
        if (hasWholeRows(nest, read, inner))
          tile.gathered = read;
      }
  return tile;
}

bool isRoundedSum(attn::ReadOp read) {
  auto result = dyn_cast<OpResult>(read.getSource());
  auto nest = result ? dyn_cast<red::NestOp>(result.getOwner()) : red::NestOp();
  if (!nest || read.getOtherwise())
    return false;
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  auto sum = yield.getValues()[result.getResultNumber()].getDefiningOp<red::FoldOp>();
  if (!sum || sum.getKind() != red::FoldKind::Add || sum.getExponent() || sum.getBase() ||
      sum->hasAttr(red::kMayCancelAttr))
    return false;
  // Of parts: as they are.
  if (sum.getFactors().size() == 1)
    if (auto part = sum.getFactors().front().getDefiningOp<attn::ReadOp>())
      return isRoundedSum(part);
  auto isHalf = [](Value factor) {
    auto input = factor.getDefiningOp<attn::ReadOp>();
    return input && halfType(input);
  };
  auto isComputed = [](Value factor) { return factor.getDefiningOp<attn::MapOp>() != nullptr; };
  return llvm::any_of(sum.getFactors(), isHalf) && llvm::any_of(sum.getFactors(), isComputed);
}

OperandTile widened(const OperandTile &tile) {
  if (tile.element.isF32())
    return tile;
  OperandTile wide = tile;
  if (!wide.isComputed()) {
    attn::ReadOp read = tile.read;
    wide.factors = {read.getResult()};
    wide.inner = read.subscriptDim(read.getSubscripts().size() - 1);
    wide.read = {};
    if (tile.element.isF16() && !tile.length)
      wide.exact = read;
    wide.length = {};
  }
  wide.gathered = {};
  wide.element = Float32Type::get(tile.element.getContext());
  return wide;
}

std::optional<ProductSides> sidesOf(red::NestOp nest, red::FoldOp fold, StringAttr row,
                                    StringAttr stream) {
  if (fold.getKind() != red::FoldKind::Add || fold.getDims().size() != 1 || fold.getExponent() ||
      hasInner(nest, fold))
    return {};
  ProductSides sides;
  for (Value factor : fold.getFactors()) {
    bool hasRow = arrayType(factor).hasDim(row), hasStream = arrayType(factor).hasDim(stream);
    if (hasRow && hasStream)
      return {};
    (hasStream ? sides.streamed : sides.resident).push_back(factor);
  }
  if (sides.resident.empty() || sides.streamed.empty())
    return {};
  return sides;
}

std::string whyNotDirect(red::NestOp nest, red::FoldOp fold) {
  StringRef name = attn::specName(fold.getLoc());
  std::string text = name.empty() ? "a value" : ("'" + name + "'").str();
  if (hasInner(nest, fold) || fold.getExponent() || fold.getBase())
    return text + " is not a number for each row and stream index";
  if (!fold.getType().getElementType().isF32() || fold.getKind() == red::FoldKind::And ||
      fold.getKind() == red::FoldKind::Or)
    return text + " is not a real number";
  SmallVector<Value> factors(fold.getFactors());
  if (anyOf(nest, factors, [&](Operation *op) {
        return isa<red::FoldOp>(op) && hasInner(nest, op->getResult(0));
      }))
    return text + " folds what is itself folded over an inner dim";
  return "";
}

} // namespace attnc::schedule
