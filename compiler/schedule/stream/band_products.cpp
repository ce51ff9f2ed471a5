#include "compiler/schedule/stream/band_products.h"
#include "compiler/schedule/stream/computed_operands.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

/// A sum of indices and a constant.
struct IndexSum {
  llvm::SmallDenseMap<StringAttr, int64_t> counts;
  int64_t rest = 0;

  /// Adds `sign` times a scalar of the map; false if it is anything else.
  bool add(attn::MapOp map, Value scalar, int64_t sign) {
    APInt number;
    if (matchPattern(scalar, m_ConstantInt(&number))) {
      rest += sign * number.getSExtValue();
      return true;
    }
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return add(map.getOperand(argument.getArgNumber()), sign);
    Operation *op = scalar.getDefiningOp();
    if (!isa<arith::AddIOp, arith::SubIOp>(op))
      return false;
    return add(map, op->getOperand(0), sign) &&
           add(map, op->getOperand(1), isa<arith::SubIOp>(op) ? -sign : sign);
  }

  bool add(Value array, int64_t sign) {
    if (auto index = array.getDefiningOp<attn::IndexOp>()) {
      counts[index.getDimAttr()] += sign;
      return true;
    }
    auto map = array.getDefiningOp<attn::MapOp>();
    return map && add(map, map.getYielded(), sign);
  }
};

class Planner {
public:
  Planner(red::NestOp nest, const StreamPlan &plan) : nest(nest), plan(plan) {}

  std::optional<BandProduct> band(red::FoldOp fold) {
    if (fold.getKind() != red::FoldKind::Add || fold.getExponent() || fold.getBase() ||
        fold.getDims().size() != 1 || fold.getFactors().size() != 2 ||
        llvm::is_contained(nest.states(), fold))
      return {};
    auto first = fold.getFactors()[0].getDefiningOp<attn::ReadOp>();
    auto second = fold.getFactors()[1].getDefiningOp<attn::ReadOp>();
    if (!first || !second)
      return {};
    if (!isOfElements(fold))
      return {};
    std::optional<BandProduct> found = band(fold, first, second);
    return found ? found : band(fold, second, first);
  }

private:
  // True if results take the elements that they have the columns of, alone or by folds that have
  // fragments: a sum over the columns reads others.
  bool isOfElements(red::FoldOp fold) {
    llvm::SetVector<Operation *> users;
    users.insert_range(fold->getUsers());
    for (size_t i = 0; i < users.size(); ++i) {
      if (isa<attn::MapOp>(users[i]))
        users.insert_range(users[i]->getUsers());
      else if (!isa<red::YieldOp>(users[i]) && !llvm::is_contained(plan.epilogue, users[i]))
        return false;
    }
    return true;
  }

  std::optional<BandProduct> band(red::FoldOp fold, attn::ReadOp weight, attn::ReadOp read) {
    BandProduct band = {};
    band.fold = fold;
    band.weight = weight;
    band.read = read;
    band.rowAxis = ~0u;
    band.within = attn::dimNames(fold.getDims()).front();
    attn::DimAttr within = attn::programOf(nest).lookupDim(band.within);
    Type element = tensorOf(read.getSource()).element;
    if (!within.isStatic() || !tile::elementType(element).warpgroupProducts ||
        halfType(weight) != element || !isWeight(weight, band.within))
      return {};
    band.width = within.getExtent();
    return findRows(band) ? std::optional(band) : std::nullopt;
  }

  bool isWeight(attn::ReadOp weight, StringAttr within) {
    return llvm::all_of(weight.getType().getDims(), [&](StringAttr dim) {
      return dim == within || llvm::is_contained(nest.getGrid(), dim);
    });
  }

  // Sets where rows lie; what the tensor lacks has to be 0, as copies of boxes have it.
  bool findRows(BandProduct &band) {
    attn::ReadOp read = band.read;
    unsigned rank = tensorOf(read.getSource()).dims.size();
    StringAttr columns = rank < 2 ? StringAttr() : read.subscriptDim(rank - 1);
    if (!columns || read.getIndices().size() != 1 || !read.getOtherwise() ||
        !read.getOtherwise()->isPosZero() || !isOfResult(columns))
      return false;
    band.cols = attn::programOf(nest).lookupDim(columns).getExtent();
    for (unsigned axis = 0; axis + 1 < rank; ++axis) {
      if (StringAttr dim = read.subscriptDim(axis)) {
        if (!llvm::is_contained(nest.getGrid(), dim))
          return false;
        continue;
      }
      IndexSum sum;
      int64_t step = 0;
      if (!sum.add(read.subscriptValue(axis), 1) || !(step = stepOf(sum, band.within)))
        return false;
      band.rowAxis = axis;
      band.isReversed = step < 0;
      band.begin = step < 0 ? sum.rest - (band.width - 1) : sum.rest;
    }
    return band.rowAxis != ~0u;
  }

  // How far the row goes with `within`, if it goes with the row at hand, and by one index each;
  // else 0.
  int64_t stepOf(const IndexSum &sum, StringAttr within) {
    int64_t step = sum.counts.lookup(within);
    bool isNear = sum.counts.size() == 2 && sum.counts.lookup(plan.row) == 1 && std::abs(step) == 1;
    return isNear && llvm::isInt<30>(sum.rest) ? step : 0;
  }

  bool isOfResult(StringAttr dim) {
    return llvm::is_contained(nest.getInner(), dim) &&
           llvm::any_of(nest.getResults(),
                        [&](Value result) { return tensorOf(result).dims.back() == dim; });
  }

  red::NestOp nest;
  const StreamPlan &plan;
};

} // namespace

SmallVector<BandProduct> planBands(red::NestOp nest, const StreamPlan &plan) {
  SmallVector<BandProduct> bands;
  for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>())
    if (std::optional<BandProduct> band = Planner(nest, plan).band(fold))
      bands.push_back(*band);
  return bands;
}

int64_t bandRows(const BandProduct &band, int64_t rows) {
  return rows + llvm::alignTo(band.width - 1, 16);
}

} // namespace attnc::schedule
