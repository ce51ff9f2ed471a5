#include "compiler/schedule/nest/weight_range.h"
#include "dialects/Attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {

// Of a value that is always 0: the identity of the merge.
static constexpr Magnitudes kNone = {INFINITY, 0};

namespace {

// Finds each scalar's once: one that is shared is reached on many paths.
class Search {
public:
  std::optional<Magnitudes> ofArray(Value array) {
    auto map = array.getDefiningOp<attn::MapOp>();
    return map ? ofScalar(map, map.getYielded()) : std::nullopt;
  }

private:
  std::optional<Magnitudes> ofScalar(attn::MapOp map, Value scalar) {
    if (auto found = known.find(scalar); found != known.end())
      return found->second;
    std::optional<Magnitudes> result = compute(map, scalar);
    return known[scalar] = result;
  }

  static Magnitudes ofNumber(double magnitude) {
    return magnitude == 0 ? kNone : Magnitudes{magnitude, magnitude};
  }

  std::optional<Magnitudes> compute(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return ofArray(map.getOperand(argument.getArgNumber()));
    FloatAttr literal;
    if (matchPattern(scalar, m_Constant(&literal)))
      return ofNumber(std::abs(literal.getValueAsDouble()));
    IntegerAttr whole;
    if (!scalar.getType().isInteger(1) && matchPattern(scalar, m_Constant(&whole)))
      return ofNumber(std::abs(static_cast<double>(whole.getInt())));
    Operation *op = scalar.getDefiningOp();
    if (isa<arith::UIToFPOp>(op) && op->getOperand(0).getType().isInteger(1))
      return Magnitudes{1, 1};
    if (isa<arith::NegFOp, arith::SIToFPOp>(op))
      return ofScalar(map, op->getOperand(0));
    bool isSelect = isa<arith::SelectOp>(op);
    if (!isSelect && !isa<arith::MulFOp>(op))
      return std::nullopt;
    std::optional<Magnitudes> x = ofScalar(map, op->getOperand(isSelect ? 1 : 0));
    std::optional<Magnitudes> y = ofScalar(map, op->getOperand(isSelect ? 2 : 1));
    if (!x || !y)
      return std::nullopt;
    if (isSelect)
      return Magnitudes{std::min(x->smallest, y->smallest), std::max(x->largest, y->largest)};
    return Magnitudes{x->smallest * y->smallest, x->largest * y->largest};
  }

  llvm::DenseMap<Value, std::optional<Magnitudes>> known;
};

} // namespace

std::optional<Magnitudes> literalMagnitudes(Value array) { return Search().ofArray(array); }

} // namespace attnc::schedule
