#include "compiler/schedule/choice/same_arithmetic.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

static bool isScalar(red::NestOp nest) { return !hasTiles(nest); }

// True if the nest's `index`-th result is computed from an extremum, or from a sum of exponentials
// relative to one.
static bool dependsOnExtremum(red::NestOp nest, unsigned index) {
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  llvm::SetVector<Value> reached;
  reached.insert(yield.getValues()[index]);
  for (size_t i = 0; i < reached.size(); ++i)
    if (auto map = reached[i].getDefiningOp<attn::MapOp>())
      reached.insert(map->operand_begin(), map->operand_end());
  return llvm::any_of(nest.states(), [&](red::FoldOp state) {
    bool isExtremum =
        state.getKind() == red::FoldKind::Max || state.getKind() == red::FoldKind::Min;
    return reached.contains(state.getResult()) && (isExtremum || state.getReference());
  });
}

// The nests of which `nest` reads such a result.
static SmallVector<red::NestOp> sourcesOfExtrema(red::NestOp nest) {
  SmallVector<red::NestOp> sources;
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>())
    if (auto result = dyn_cast<OpResult>(read.getSource()))
      if (auto source = dyn_cast<red::NestOp>(result.getOwner());
          source && dependsOnExtremum(source, result.getResultNumber()))
        sources.push_back(source);
  return sources;
}

// Sums that are no states: scores, one for each element.
static bool computesScores(red::NestOp nest) {
  SmallVector<red::FoldOp> states = nest.states();
  return llvm::any_of(nest.getBodyBlock()->getOps<red::FoldOp>(), [&](red::FoldOp fold) {
    return fold.getKind() == red::FoldKind::Add && !llvm::is_contained(states, fold) &&
           !nest.dependsOnState(fold);
  });
}

static SmallVector<Contraction> productsOf(red::NestOp nest) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  return succeeded(plan) ? plan->contractions : SmallVector<Contraction>();
}

static bool isOfFloats(const Contraction &contraction) {
  return tile::elementType(contraction.resident.element).isSplit;
}

// True if tensor cores would multiply f32. The products of 16-bit numbers are exact in f32.
static bool multipliesFloats(red::NestOp nest) {
  return llvm::any_of(productsOf(nest), isOfFloats);
}

static void makeScalar(red::NestOp nest, const GpuModel &machine) {
  PlannedNest planned(nest);
  nest.setScheduleAttr(chooseSchedule(planned, machine, /*withTiles=*/false).schedule);
  nest->setAttr(kScheduleSourceAttr,
                Builder(nest.getContext())
                    .getStringAttr("the compiler: another nest computes the same scores, and both "
                                   "have to get the same bits"));
}

// The sums, each of one element, that elements are made of which are compared with their extremum.
static SmallVector<red::FoldOp> comparedSums(red::NestOp nest) {
  SmallVector<red::FoldOp> states = nest.states();
  SmallVector<red::FoldOp> sums;
  for (auto fold : nest.getBodyBlock()->getOps<red::FoldOp>())
    if (fold->hasAttr(attn::kExactAttr) && fold.getKind() == red::FoldKind::Add &&
        !llvm::is_contained(states, fold))
      sums.push_back(fold);
  return sums;
}

// True if tensor cores add up each of the sums, in an order that is the same where rows and stream
// are exchanged: products of f32 are three of tf32, of which two change places.
static bool addsAlike(red::NestOp nest, ArrayRef<red::FoldOp> sums) {
  SmallVector<Contraction> products = productsOf(nest);
  return hasTiles(nest) && llvm::all_of(sums, [&](red::FoldOp sum) {
           const auto *found = llvm::find_if(
               products, [&](const Contraction &product) { return product.fold == sum; });
           return found != products.end() && !isOfFloats(*found);
         });
}

void agreeOnComparedElements(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  SmallVector<red::NestOp> concerned;
  bool isAlike = true;
  for (red::NestOp nest : nests)
    if (SmallVector<red::FoldOp> sums = comparedSums(nest); !sums.empty()) {
      concerned.push_back(nest);
      isAlike &= addsAlike(nest, sums);
    }
  if (isAlike)
    return;
  for (red::NestOp nest : concerned)
    if (hasTiles(nest) && !productsOf(nest).empty())
      makeScalar(nest, machine);
}

void agreeOnScores(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (red::NestOp nest : nests) {
      if (!computesScores(nest))
        continue;
      for (red::NestOp source : sourcesOfExtrema(nest)) {
        if (isScalar(source) == isScalar(nest))
          continue;
        red::NestOp other = isScalar(source) ? nest : source;
        if (!multipliesFloats(other))
          continue;
        makeScalar(other, machine);
        changed = true;
      }
    }
  }
}

} // namespace attnc::schedule
