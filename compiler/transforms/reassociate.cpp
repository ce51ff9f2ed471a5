#include "compiler/transforms/reassociate.h"
#include "compiler/transforms/fold_form.h"
#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/partition.h"
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

// There are 3^n ways to look at for n factors. Longer products stay as they are written.
constexpr unsigned kMostFactors = 8;

using DimList = SmallVector<StringAttr>;

DimList dimsOf(Value array) {
  ArrayRef<StringAttr> dims = cast<attn::ArrayType>(array.getType()).getDims();
  return DimList(dims);
}

/// Multiplications as a polynomial in the extents that are known only at run time, all taken to be
/// one number: the coefficient of each power.
class Cost {
public:
  Cost() = default;
  Cost(ProgramOp program, ArrayRef<StringAttr> dims) {
    unsigned degree = 0;
    double coefficient = 1;
    for (StringAttr dim : dims) {
      DimAttr known = program.lookupDim(dim);
      degree += !known.isStatic();
      coefficient *= known.isStatic() ? double(known.getExtent()) : 1;
    }
    coefficients.resize(degree + 1);
    coefficients[degree] = coefficient;
  }

  void operator+=(const Cost &other) {
    coefficients.resize(std::max(coefficients.size(), other.coefficients.size()));
    for (auto [degree, coefficient] : llvm::enumerate(other.coefficients))
      coefficients[degree] += coefficient;
  }

  bool operator<(const Cost &other) const {
    for (size_t degree = std::max(coefficients.size(), other.coefficients.size()); degree-- > 0;)
      if (at(degree) != other.at(degree))
        return at(degree) < other.at(degree);
    return false;
  }

private:
  double at(size_t degree) const { return degree < coefficients.size() ? coefficients[degree] : 0; }

  SmallVector<double> coefficients;
};

/// A sum of products of sums, taken apart: sum over `reduced` of the product of `factors`.
struct Product {
  SmallVector<Value> factors;
  DimList reduced;
  Cost cost;           // as written
  bool nested = false; // a factor was a sum itself
  bool shared = false; // such a sum is computed for others anyway
};

/// The best way to compute the product of a set of factors, summed over the dims that no other
/// factor and no result has.
struct Plan {
  Cost cost;
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
    if (plan.existing)
      return plan.existing;
    SmallVector<Value> operands;
    collect(b, set, operands);
    if (plan.folded.empty())
      return operands.size() == 1 ? operands.front() : multiply(b, plan.dims, operands);
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, plan.dims),
                                     whole.getType().getElementType());
    return FoldOp::create(b, whole.getLoc(), type, FoldKind::Add,
                          b.getArrayAttr({plan.folded.begin(), plan.folded.end()}), operands,
                          Value(), Value());
  }

private:
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

  Value multiply(OpBuilder &b, ArrayRef<StringAttr> dims, ArrayRef<Value> operands) {
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, dims),
                                     whole.getType().getElementType());
    return MapOp::create(b, whole.getLoc(), type, operands,
                         [](OpBuilder &inner, Location at, ValueRange x) -> Value {
                           Value result = x.front();
                           for (Value factor : x.drop_front())
                             result = arith::MulFOp::create(inner, at, result, factor);
                           return result;
                         });
  }

  Plan best(unsigned set) {
    Plan result;
    if (llvm::has_single_bit(set))
      result = step(set, 0, dimsOf(product.factors[llvm::countr_zero(set)]));
    else
      result = bestSplit(set);
    if (Value known = findExisting(set, result.dims)) {
      result.existing = known;
      result.cost = Cost();
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
      plan.cost = Cost(program, dims);
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
      if (fold && fold != whole && fold->isBeforeInBlock(whole) &&
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

class Reassociation {
public:
  explicit Reassociation(ProgramOp program) : program(program) {}

  void run() {
    for (FoldOp fold : llvm::make_early_inc_range(program.getBodyBlock()->getOps<FoldOp>()))
      if (isPlainSum(fold))
        reorder(fold);
  }

private:
  static bool isPlainSum(FoldOp fold) {
    return fold.getKind() == FoldKind::Add && !fold.getExponent() && !fold.getFactors().empty() &&
           isa<FloatType>(fold.getType().getElementType());
  }

  void reorder(FoldOp fold) {
    OpBuilder b(fold);
    std::optional<Product> product = takeApart(b, fold);
    if (!product)
      return;
    Orders orders(program, *product, fold);
    // A sum of what a pass has anyway costs little there: another pass would cost more.
    bool addsPass = product->shared && orders.all().streams;
    if (addsPass || !(orders.all().cost < product->cost))
      return;
    Value value = orders.build(b, (1u << product->factors.size()) - 1);
    if (auto result = value.getDefiningOp<FoldOp>())
      result->setAttr(kDerivedAttr, b.getStringAttr(words(fold)));
    fold.getResult().replaceAllUsesWith(value);
    fold.erase();
  }

  static std::string words(FoldOp fold) {
    StringRef name = specName(fold.getLoc());
    return "`" + (name.empty() ? "a sum" : name.str()) +
           "`: a sum of products of sums, computed in the order that costs least (* is "
           "associative and distributes over +)";
  }

  std::optional<Product> takeApart(OpBuilder &b, FoldOp fold) {
    Product product;
    if (!append(b, fold, product) || !product.nested || !reducedOnce(fold, product) ||
        product.factors.size() > kMostFactors)
      return std::nullopt;
    return product;
  }

  // Adds the factors of `fold`, and of the sums among them; what it costs, if it is for `fold`
  // alone.
  bool append(OpBuilder &b, FoldOp fold, Product &product) {
    llvm::SmallSetVector<StringAttr, 8> dims;
    for (Value factor : fold.getFactors())
      dims.insert_range(dimsOf(factor));
    product.cost += Cost(program, dims.getArrayRef());
    for (StringAttr dim : dimNames(fold.getDims())) {
      if (llvm::is_contained(product.reduced, dim) || !dims.contains(dim))
        return false; // two sums over one name, or a sum that counts
      product.reduced.push_back(dim);
    }
    for (Value factor : fold.getFactors()) {
      bool shared = !factor.hasOneUse();
      for (Value part : productFactors(b, factor, /*ofReductions=*/true)) {
        auto sum = part.getDefiningOp<FoldOp>();
        if (!sum || !isPlainSum(sum)) {
          product.factors.push_back(part);
          continue;
        }
        product.nested = true;
        Cost before = product.cost;
        if (!append(b, sum, product))
          return false;
        if (shared || !sum->hasOneUse()) {
          product.cost = before;
          product.shared = true;
        }
        if (product.factors.size() > kMostFactors)
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
};

} // namespace

void reassociate(ProgramOp program) {
  flattenNests(program);
  Reassociation(program).run();
  outlineFolds(program);
}

} // namespace attnc
