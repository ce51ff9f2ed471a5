#include "compiler/transforms/algebra/product_orders.h"
#include "compiler/transforms/analysis/value_ranges.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "dialects/Red/Cancellation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include <optional>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

using DimList = SmallVector<StringAttr>;

DimList dimsOf(Value array) {
  ArrayRef<StringAttr> dims = cast<attn::ArrayType>(array.getType()).getDims();
  return DimList(dims);
}

/// The best way to compute the product of a set of factors, summed over the dims that no other
/// factor and no result has.
struct Plan {
  ExtentCost cost;
  DimList dims;         // of the result
  DimList folded;       // summed in the last step
  unsigned left = 0;    // the set of the left operand of the last step; 0 for a single factor
  Value existing;       // the program computes it already
  bool streams = false; // a sum over a dim that is known only at run time is added to the program
};

class Orders {
public:
  Orders(ProgramOp program, const Product &product, FoldOp whole)
      : program(program), product(product), whole(whole), plans(1u << product.factors.size()) {
    for (unsigned set = 1; set < plans.size(); ++set)
      plans[set] = best(set);
  }

  const Plan &all() const { return plans.back(); }

  /// Builds the best order before `whole`.
  Value build(OpBuilder &b, unsigned set) {
    Plan &plan = plans[set];
    if (plan.existing) {
      markExisting(b, set);
      return plan.existing;
    }
    SmallVector<Value> operands;
    collect(b, set, operands);
    if (plan.folded.empty())
      return operands.size() == 1 ? operands.front() : productOf(b, plan.dims, operands);
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, plan.dims),
                                     whole.getType().getElementType());
    auto fold = FoldOp::create(b, whole.getLoc(), type, FoldKind::Add,
                               b.getArrayAttr({plan.folded.begin(), plan.folded.end()}), operands,
                               Value(), Value());
    markCancelling(b, fold, set);
    return fold;
  }

private:
  // A sum that the program has already, or has as a factor of what it has.
  void markExisting(OpBuilder &b, unsigned set) {
    Value existing = plans[set].existing;
    if (auto fold = existing.getDefiningOp<FoldOp>())
      return markCancelling(b, fold, set);
    for (Value operand : existing.getDefiningOp()->getOperands())
      if (auto fold = operand.getDefiningOp<FoldOp>())
        markCancelling(b, fold, set);
  }

  // Names the dims of `fold`, made of `set`, that are summed later and over which products may have
  // either sign. Of two factors, one that is read is an operand as it is.
  void markCancelling(OpBuilder &b, FoldOp fold, unsigned set) {
    llvm::SmallSetVector<Attribute, 4> dims;
    if (auto known = fold->getAttrOfType<ArrayAttr>(red::kMayCancelAttr))
      dims.insert_range(known);
    for (StringAttr dim : dimsOf(fold)) {
      bool rounds = false, hasOneSign = true;
      for (auto [i, factor] : llvm::enumerate(product.factors))
        if (cast<attn::ArrayType>(factor.getType()).hasDim(dim)) {
          bool isRead = factor.getDefiningOp<ReadOp>() != nullptr;
          rounds |= (set >> i & 1) && (!isRead || llvm::popcount(set) > 2);
          hasOneSign &= signOf(factor) != Sign::Unknown;
        }
      if (llvm::is_contained(product.reduced, dim) && rounds && !hasOneSign)
        dims.insert(dim);
    }
    if (!dims.empty())
      fold->setDiscardableAttr(red::kMayCancelAttr, b.getArrayAttr(dims.getArrayRef()));
  }

  // The operands of the last step of `set`: what is only multiplied is multiplied there.
  void collect(OpBuilder &b, unsigned set, SmallVectorImpl<Value> &operands) {
    const Plan &plan = plans[set];
    if (plan.left == 0)
      return operands.push_back(product.factors[llvm::countr_zero(set)]);
    for (unsigned side : {set & ~plan.left, plan.left}) // in the order of the factors
      if (plans[side].folded.empty() && !plans[side].existing)
        collect(b, side, operands);
      else
        operands.push_back(build(b, side));
  }

  Value productOf(OpBuilder &b, ArrayRef<StringAttr> dims, ArrayRef<Value> operands) {
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, dims),
                                     whole.getType().getElementType());
    return MapOp::create(b, whole.getLoc(), type, operands, multiply);
  }

  Plan best(unsigned set) {
    Plan result;
    if (llvm::has_single_bit(set))
      result = step(set, 0, dimsOf(product.factors[llvm::countr_zero(set)]));
    else
      result = bestSplit(set);
    if (Value known = findExisting(set, result.dims)) {
      result.existing = known;
      result.cost = ExtentCost();
      result.streams = false;
    }
    return result;
  }

  Plan bestSplit(unsigned set) {
    std::optional<Plan> found;
    for (unsigned left = (set - 1) & set; left > (set & ~left); left = (left - 1) & set) {
      llvm::SmallSetVector<StringAttr, 8> dims;
      dims.insert_range(plans[left].dims);
      dims.insert_range(plans[set & ~left].dims);
      Plan plan = step(set, left, DimList(dims.getArrayRef()));
      for (unsigned side : {left, set & ~left}) {
        plan.cost += plans[side].cost;
        plan.streams |= plans[side].streams;
      }
      if (!found || plan.cost < found->cost)
        found = plan;
    }
    return *found;
  }

  // The step that makes `set` out of operands that have `dims` between them.
  Plan step(unsigned set, unsigned left, ArrayRef<StringAttr> dims) {
    Plan plan;
    plan.left = left;
    for (StringAttr dim : dims)
      (isLast(dim, set) ? plan.folded : plan.dims).push_back(dim);
    if (!plan.folded.empty())
      plan.cost = ExtentCost(program, dims);
    plan.streams = llvm::any_of(plan.folded,
                                [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
    return plan;
  }

  // True if `dim` is summed, and no factor outside of `set` has it.
  bool isLast(StringAttr dim, unsigned set) {
    if (!llvm::is_contained(product.reduced, dim))
      return false;
    for (auto [i, factor] : llvm::enumerate(product.factors))
      if (!(set >> i & 1) && cast<attn::ArrayType>(factor.getType()).hasDim(dim))
        return false;
    return true;
  }

  // An array of the program, over `dims`, that is the product of the factors of `set`, summed.
  Value findExisting(unsigned set, ArrayRef<StringAttr> dims) {
    if (FoldOp fold = findFold(set))
      return fold;
    for (unsigned part = (set - 1) & set; part; part = (part - 1) & set)
      if (Value known = plans[part].existing)
        if (MapOp scaled = findScaled(known, set & ~part);
            scaled && sameElements(dimsOf(scaled), dims))
          return scaled;
    return {};
  }

  // A map before `whole` that multiplies `known` by the factors of `rest`.
  MapOp findScaled(Value known, unsigned rest) {
    SmallVector<Value> wanted = {known};
    for (auto [i, factor] : llvm::enumerate(product.factors))
      if (rest >> i & 1)
        wanted.push_back(factor);
    for (Operation *user : known.getUsers()) {
      auto map = dyn_cast<MapOp>(user);
      if (map && map->isBeforeInBlock(whole) && multipliesAll(map) &&
          sameElements(map.getOperands(), wanted))
        return map;
    }
    return {};
  }

  // True if `map` is the product of its operands.
  static bool multipliesAll(MapOp map) {
    auto ops = map.getBodyBlock()->without_terminator();
    return llvm::range_size(ops) + 1 == map->getNumOperands() &&
           llvm::all_of(ops, [](Operation &op) { return isa<arith::MulFOp>(op); }) &&
           llvm::all_of(map.getBodyBlock()->getArguments(),
                        [](BlockArgument argument) { return argument.hasOneUse(); });
  }

  // A fold before `whole` that sums the factors of `set` over the dims that it would sum.
  FoldOp findFold(unsigned set) {
    SmallVector<Value> wanted;
    llvm::SmallSetVector<StringAttr, 8> folded;
    for (auto [i, factor] : llvm::enumerate(product.factors))
      if (set >> i & 1) {
        wanted.push_back(factor);
        for (StringAttr dim : dimsOf(factor))
          if (isLast(dim, set))
            folded.insert(dim);
      }
    for (Operation *user : wanted.front().getUsers()) {
      auto fold = dyn_cast<FoldOp>(user);
      if (fold && fold != whole && !product.own.contains(fold) && fold->isBeforeInBlock(whole) &&
          fold.getKind() == FoldKind::Add && !fold.getExponent() &&
          sameElements(fold.getFactors(), wanted) &&
          sameElements(dimNames(fold.getDims()), folded.getArrayRef()))
        return fold;
    }
    return {};
  }

  template <class X, class Y> static bool sameElements(const X &x, const Y &y) {
    return llvm::size(x) == llvm::size(y) &&
           llvm::all_of(x, [&](auto a) { return llvm::count(x, a) == llvm::count(y, a); });
  }

  ProgramOp program;
  const Product &product;
  FoldOp whole;
  std::vector<Plan> plans;
};

} // namespace

OrderCost cheapestOrder(ProgramOp program, const Product &product, FoldOp whole) {
  Orders orders(program, product, whole);
  return {orders.all().cost, orders.all().streams};
}

Value buildCheapestOrder(ProgramOp program, const Product &product, FoldOp whole) {
  OpBuilder b(whole);
  return Orders(program, product, whole).build(b, (1u << product.factors.size()) - 1);
}

} // namespace attnc
