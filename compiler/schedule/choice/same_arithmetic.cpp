#include "compiler/schedule/choice/same_arithmetic.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
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

// Sums that are no states: scores, one for each element.
static bool isScores(red::NestOp nest, Operation *op) {
  auto fold = dyn_cast<red::FoldOp>(op);
  return fold && fold.getKind() == red::FoldKind::Add && !llvm::is_contained(nest.states(), fold) &&
         !nest.dependsOnState(fold);
}

// True if a scalar of the nest is computed from the read and from scores: `exp(s - m)` is, a factor
// beside them is not.
static bool meetsScores(red::NestOp nest, attn::ReadOp read) {
  return llvm::any_of(nest.getBodyBlock()->getOps<attn::MapOp>(), [&](attn::MapOp map) {
    llvm::SetVector<Operation *> reached;
    reached.insert(map);
    for (size_t i = 0; i < reached.size(); ++i)
      for (Value operand : reached[i]->getOperands())
        if (Operation *from = operand.getDefiningOp(); from && from->getBlock() == map->getBlock())
          reached.insert(from);
    return reached.contains(read) &&
           llvm::any_of(reached, [&](Operation *op) { return isScores(nest, op); });
  });
}

// The nests of which `nest` reads such a result, where it meets scores.
static SmallVector<red::NestOp> sourcesOfExtrema(red::NestOp nest) {
  SmallVector<red::NestOp> sources;
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>())
    if (auto result = dyn_cast<OpResult>(read.getSource()))
      if (auto source = dyn_cast<red::NestOp>(result.getOwner());
          source && dependsOnExtremum(source, result.getResultNumber()) && meetsScores(nest, read))
        sources.push_back(source);
  return sources;
}

static SmallVector<Contraction> productsOf(red::NestOp nest) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  return succeeded(plan) ? plan->contractions : SmallVector<Contraction>();
}

static bool isOfFloats(const Contraction &contraction) {
  return tile::elementType(contraction.resident.element).isSplit;
}

bool multipliesFloats(red::NestOp nest) { return llvm::any_of(productsOf(nest), isOfFloats); }

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

// True if the nest's kernel multiplies f32 as halves, which errs otherwise than parts of tf32.
static bool takesHalves(red::NestOp nest) {
  PlannedNest planned(nest);
  return tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr()) && planned.ofHalves() &&
         hasEncoded(*planned.ofHalves());
}

static void makePortable(red::NestOp nest, const GpuModel &machine, const Twine &how) {
  PlannedNest planned(nest);
  GpuModel without = machine;
  without.warpgroups = nullptr;
  nest.setScheduleAttr(chooseSchedule(planned, without).schedule);
  nest->setAttr(kScheduleSourceAttr,
                Builder(nest.getContext())
                    .getStringAttr("the compiler: what follows from its maximum meets scores that "
                                   "are computed again, " +
                                   how));
}

static constexpr StringRef kNotAsHalves = "not as halves";

// True if something that follows from an extremum of the nest leaves the program for the one with
// its gradients.
static bool savesExtremum(red::NestOp nest) {
  return llvm::any_of(nest.getResults(), [&](OpResult result) {
    return dependsOnExtremum(nest, result.getResultNumber()) &&
           llvm::any_of(result.getUsers(), [](Operation *user) {
             return isa<attn::OutputOp>(user) && user->hasAttr(red::kSavedAttr);
           });
  });
}

static void agreeOnHalves(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  for (red::NestOp nest : nests)
    if (takesHalves(nest) && savesExtremum(nest))
      makePortable(nest, machine, kNotAsHalves);
  bool changed = true;
  while (changed) {
    changed = false;
    for (red::NestOp nest : nests)
      for (red::NestOp source : sourcesOfExtrema(nest)) {
        if (takesHalves(source) == takesHalves(nest))
          continue;
        red::NestOp halves = takesHalves(source) ? source : nest;
        if (!multipliesFloats(halves == source ? nest : source))
          continue;
        makePortable(halves, machine, kNotAsHalves);
        changed = true;
      }
  }
}

// True of a nest of which tiles store a value for each pair.
static bool storesPairs(red::NestOp nest) { return nest.states().empty() && hasTiles(nest); }

// Tensor cores do not round what they add up, and the instructions of a warp and of a warpgroup cut
// at different places: a value of a pair is computed by the same ones as the maximum that it meets.
static void agreeOnPairs(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  for (red::NestOp nest : nests) {
    if (!storesPairs(nest) || productsOf(nest).empty())
      continue;
    for (red::NestOp source : sourcesOfExtrema(nest)) {
      auto isOfWarpgroups = [](red::NestOp each) {
        return bool(tile::scheduleAs<WarpgroupSchedule>(each.getScheduleAttr()));
      };
      if (isOfWarpgroups(source) != isOfWarpgroups(nest))
        makePortable(isOfWarpgroups(source) ? source : nest, machine,
                     "by the instructions of a warp");
      if (isScalar(source) && !isScalar(nest))
        makeScalar(nest, machine);
    }
  }
}

void agreeOnScores(ArrayRef<red::NestOp> nests, const GpuModel &machine) {
  if (machine.warpgroups)
    agreeOnHalves(nests, machine);
  agreeOnPairs(nests, machine);
  bool changed = true;
  while (changed) {
    changed = false;
    for (red::NestOp nest : nests) {
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
  agreeOnPairs(nests, machine); // where that left no tiles
}

} // namespace attnc::schedule
