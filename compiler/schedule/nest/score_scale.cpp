#include "compiler/schedule/nest/score_scale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::schedule {

static bool isPositive(attn::ParamOp param) {
  if (!cast<attn::ArrayType>(param.getResult().getType()).getElementType().isF32() ||
      !param.getLower())
    return false;
  double lower = param.getLower()->convertToDouble();
  return lower > 0 || (lower == 0 && param.getLowerOpen());
}

Value positiveParam(attn::MapOp map, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto param = argument ? map.getOperand(argument.getArgNumber()).getDefiningOp<attn::ParamOp>()
                        : attn::ParamOp();
  return param && isPositive(param) ? param.getResult() : Value();
}

namespace {

// Looks at the scalars of maps as if they were one expression: a map's block argument stands for
// what its operand's map yields.
class FactorSearch {
public:
  explicit FactorSearch(red::NestOp nest) : nest(nest) {}

  // The array whose element the scalar is, if it is a block argument.
  static Value arrayOf(Value scalar) {
    auto arg = dyn_cast<BlockArgument>(scalar);
    return arg ? cast<attn::MapOp>(arg.getOwner()->getParentOp()).getOperand(arg.getArgNumber())
               : Value();
  }

  // The map in the nest that computes the array, or null.
  attn::MapOp mapOf(Value array) {
    auto map = array.getDefiningOp<attn::MapOp>();
    return map && map->getBlock() == nest.getBodyBlock() ? map : attn::MapOp();
  }

  // True if the scalar is c * x or fixed under c; `param` is c, or null until one is found.
  bool factors(Value scalar, Value &param) {
    // The search ends at the first scalar that is not, so one that has been seen is.
    if (!seen.insert(scalar).second)
      return true;
    if (Value array = arrayOf(scalar)) {
      attn::MapOp map = mapOf(array);
      return map && factors(map.getYielded(), param);
    }
    FloatAttr constant;
    if (matchPattern(scalar, m_Constant(&constant)))
      return constant.getValue().isInfinity() || constant.getValue().isZero();
    if (auto select = scalar.getDefiningOp<arith::SelectOp>())
      return factors(select.getTrueValue(), param) && factors(select.getFalseValue(), param);
    auto product = scalar.getDefiningOp<arith::MulFOp>();
    if (!product)
      return false;
    return isFactor(product.getLhs(), param) || isFactor(product.getRhs(), param);
  }

private:
  bool isFactor(Value scalar, Value &param) {
    if (!isa<BlockArgument>(scalar))
      return false;
    auto map = cast<attn::MapOp>(cast<BlockArgument>(scalar).getOwner()->getParentOp());
    Value found = positiveParam(map, scalar);
    if (!found || (param && param != found))
      return false;
    param = found;
    return true;
  }

  red::NestOp nest;
  llvm::SmallDenseSet<Value> seen;
};

} // namespace

Value positiveFactor(red::NestOp nest, Value array) {
  FactorSearch search(nest);
  attn::MapOp map = search.mapOf(array);
  Value param;
  return map && search.factors(map.getYielded(), param) ? param : Value();
}

// Goes the way that FactorSearch has gone, in the code that a map's body has become.
static Value withoutFactor(OpBuilder &b, Value element, Value factor,
                           llvm::DenseMap<Value, Value> &known) {
  if (Value done = known.lookup(element))
    return done;
  FloatAttr constant;
  if (matchPattern(element, m_Constant(&constant)))
    return element; // 0 or infinite
  if (auto select = element.getDefiningOp<arith::SelectOp>()) {
    Value yes = withoutFactor(b, select.getTrueValue(), factor, known);
    Value no = withoutFactor(b, select.getFalseValue(), factor, known);
    auto without = arith::SelectOp::create(b, select.getLoc(), select.getCondition(), yes, no);
    without->setDiscardableAttrs(select->getDiscardableAttrDictionary());
    return known[element] = without;
  }
  if (auto product = element.getDefiningOp<arith::MulFOp>()) {
    if (product.getLhs() == factor)
      return product.getRhs();
    if (product.getRhs() == factor)
      return product.getLhs();
  }
  return known[element] = arith::DivFOp::create(b, element.getLoc(), element, factor);
}

Value withoutFactor(OpBuilder &b, Value element, Value factor) {
  llvm::DenseMap<Value, Value> known;
  return withoutFactor(b, element, factor, known);
}

} // namespace attnc::schedule
