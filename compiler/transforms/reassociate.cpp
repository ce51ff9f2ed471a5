#include "compiler/transforms/reassociate.h"
#include "compiler/transforms/algebra/product_orders.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "compiler/transforms/fusion/partition.h"
#include "compiler/transforms/lower_to_nests.h"
#include "dialects/Attn/SpecLocation.h"
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
using FoldSet = llvm::SetVector<FoldOp>;

DimList dimsOf(Value array) {
  ArrayRef<StringAttr> dims = cast<attn::ArrayType>(array.getType()).getDims();
  return DimList(dims);
}

bool isPlainSum(FoldOp fold) {
  return fold && fold.getKind() == FoldKind::Add && !fold.getExponent() &&
         !fold.getFactors().empty() && isa<FloatType>(fold.getType().getElementType());
}

/// A sum of products of sums, taken apart.
struct SumOfSums {
  Product product;
  ExtentCost cost;     // as written, without sums that are computed for others anyway
  bool nested = false; // a factor was a sum itself
  FoldSet shared;      // sums among its factors that others use, too
};

class Reassociation {
public:
  explicit Reassociation(ProgramOp program) : program(program) {}

  void run() {
    findVanishing();
    for (FoldOp fold : llvm::make_early_inc_range(program.getBodyBlock()->getOps<FoldOp>()))
      if (isPlainSum(fold))
        reorder(fold);
  }

private:
  void reorder(FoldOp fold) {
    std::optional<SumOfSums> sum = takeApart(fold);
    if (!sum)
      return;
    for (FoldOp inner : sum->shared)
      if (vanishing.contains(inner))
        sum->product.own.insert(inner);
    OrderCost best = cheapestOrder(program, sum->product, fold);
    // A sum of what a pass has anyway costs little there: another pass would cost more.
    bool addsPass = best.streams && llvm::any_of(sum->shared, [&](FoldOp inner) {
                      return !vanishing.contains(inner);
                    });
    if (addsPass || !best.cost.isWellBelow(sum->cost))
      return discard(*sum);
    Value value = buildCheapestOrder(program, sum->product, fold);
    derivation::record(
        program,
        derivation::stepAt(derivation::Rule::Reassociated, fold.getLoc(), specTextOf(fold),
                           {{"before", definitionOf(fold)}, {"value", definitionOf(value)}}));
    fold.getResult().replaceAllUsesWith(value);
    fold.erase();
  }

  //===--- sums that are shared
  //-----------------------------------------------------------------===//

  /// A fold that might be computed in another order.
  struct Candidate {
    FoldOp fold;
    FoldSet shared;
    bool streams;
  };

  // The sums that nothing needs once all folds that they are factors of are computed in another
  // order. A fold is, if its order costs less even where its shared sums cost nothing, and if all
  // of them vanish or no pass is added: found by taking away what does not fit.
  void findVanishing() {
    SmallVector<Candidate> candidates;
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>()))
      if (isPlainSum(fold))
        addCandidate(fold, candidates);
    for (const Candidate &candidate : candidates)
      vanishing.insert_range(candidate.shared);
    for (size_t before = 0; before != vanishing.size() + candidates.size();) {
      before = vanishing.size() + candidates.size();
      vanishing.remove_if([&](FoldOp sum) { return !onlyFeeds(sum, sum, candidates); });
      llvm::erase_if(candidates, [&](const Candidate &candidate) {
        return candidate.streams &&
               llvm::any_of(candidate.shared, [&](FoldOp sum) { return !vanishing.contains(sum); });
      });
    }
  }

  void addCandidate(FoldOp fold, SmallVectorImpl<Candidate> &candidates) {
    std::optional<SumOfSums> sum = takeApart(fold);
    if (!sum)
      return;
    for (Value factor : sum->product.factors)
      if (Operation *op = factor.getDefiningOp(); op->use_empty())
        opaque.insert_range(op->getOperands());
    sum->product.own.insert_range(sum->shared);
    OrderCost best = cheapestOrder(program, sum->product, fold);
    if (!sum->shared.empty() && best.cost < sum->cost)
      candidates.push_back({fold, sum->shared, best.streams});
    discard(*sum);
  }

  // True if `value`, made of the sum, has no use but as a factor of candidates.
  bool onlyFeeds(Value value, FoldOp sum, ArrayRef<Candidate> candidates) {
    if (opaque.contains(value))
      return false;
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      if (auto map = dyn_cast<MapOp>(user))
        return isProduct(map) && onlyFeeds(map, sum, candidates);
      auto fold = dyn_cast<FoldOp>(user);
      return fold &&
             (vanishing.contains(fold) || llvm::any_of(candidates, [&](const Candidate &candidate) {
                return candidate.fold == fold && candidate.shared.contains(sum);
              }));
    });
  }

  //===--- taking apart
  //-------------------------------------------------------------------------===//

  std::optional<SumOfSums> takeApart(FoldOp fold) {
    SumOfSums sum;
    OpBuilder b(fold);
    if (append(b, fold, sum) && sum.nested && reducedOnce(fold, sum.product) &&
        sum.product.factors.size() <= kMostFactors)
      return sum;
    discard(sum);
    return std::nullopt;
  }

  // Factors that were made for the purpose.
  static void discard(const SumOfSums &sum) {
    for (Value factor : sum.product.factors)
      if (Operation *op = factor.getDefiningOp(); op->use_empty())
        op->erase();
  }

  // Adds the factors of `fold`, and of the sums among them; what it costs, if it is for `fold`
  // alone.
  bool append(OpBuilder &b, FoldOp fold, SumOfSums &sum) {
    llvm::SmallSetVector<StringAttr, 8> dims;
    for (Value factor : fold.getFactors())
      dims.insert_range(dimsOf(factor));
    sum.cost += ExtentCost(program, dims.getArrayRef());
    for (StringAttr dim : dimNames(fold.getDims())) {
      if (llvm::is_contained(sum.product.reduced, dim) || !dims.contains(dim))
        return false; // two sums over one name, or a sum that counts
      sum.product.reduced.push_back(dim);
    }
    for (Value factor : fold.getFactors()) {
      bool shared = !factor.hasOneUse();
      SmallVector<Value> parts = productFactors(b, factor, /*ofReductions=*/true);
      for (Value part : parts) {
        auto inner = part.getDefiningOp<FoldOp>();
        if (!isPlainSum(inner)) {
          sum.product.factors.push_back(part);
          continue;
        }
        sum.nested = true;
        ExtentCost before = sum.cost;
        if (!append(b, inner, sum))
          return false;
        if (shared || !inner->hasOneUse()) {
          sum.cost = before;
          sum.shared.insert(inner);
        } else {
          sum.product.own.insert(inner);
        }
        if (sum.product.factors.size() > kMostFactors)
          return false;
      }
    }
    return true;
  }

  // A name that is summed inside and free outside would be two dims.
  static bool reducedOnce(FoldOp fold, const Product &product) {
    return llvm::none_of(dimsOf(fold),
                         [&](StringAttr dim) { return llvm::is_contained(product.reduced, dim); });
  }

  ProgramOp program;
  FoldSet vanishing;
  llvm::SmallDenseSet<Value> opaque; // what factors are computed from by other than products
};

} // namespace

void reassociate(ProgramOp program) {
  flattenNests(program);
  Reassociation(program).run();
  outlineFolds(program);
}

} // namespace attnc
