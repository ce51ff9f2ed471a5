#include "compiler/schedule/stream/weight_stages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

using Numbers = llvm::SmallSetVector<unsigned, 4>;

class Division {
public:
  Division(red::NestOp nest, const StreamPlan &plan) : nest(nest), plan(plan) {
    for (unsigned i = 0; i < plan.weights.size(); ++i)
      left.insert(i);
  }

  std::vector<WeightStage> divide() {
    std::vector<WeightStage> stages;
    while (!left.empty()) {
      WeightStage stage = next();
      for (Value array : stage.arraysRead) {
        auto &made = stages[madeIn.lookup(array)].arraysMade;
        if (!llvm::is_contained(made, array))
          made.push_back(array);
      }
      for (const StagedWeight &weight : stage.weights)
        visit(plan.weights[weight.number].factors, [&](Value array, std::optional<unsigned>) {
          madeIn.try_emplace(array, stages.size());
          return true;
        });
      stages.push_back(std::move(stage));
    }
    return stages;
  }

private:
  // What arrays are computed from in the nest, themselves first, while `goesOn` behind each; with
  // the number of those that are contractions, where it ends.
  void visit(ArrayRef<Value> arrays,
             llvm::function_ref<bool(Value array, std::optional<unsigned> contraction)> goesOn) {
    llvm::SetVector<Value> reached(arrays.begin(), arrays.end());
    for (size_t i = 0; i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      if (!op || op->getBlock() != nest.getBodyBlock())
        continue;
      const auto *found = llvm::find_if(plan.contractions,
                                        [&](const Contraction &each) { return each.fold == op; });
      if (found != plan.contractions.end())
        goesOn(reached[i], found - plan.contractions.begin());
      else if (goesOn(reached[i], std::nullopt))
        reached.insert(op->operand_begin(), op->operand_end());
    }
  }

  Numbers contractionsOf(ArrayRef<Value> arrays) {
    Numbers found;
    visit(arrays, [&](Value, std::optional<unsigned> contraction) {
      if (contraction)
        found.insert(*contraction);
      return true;
    });
    return found;
  }

  bool fitsFragment(Value array) {
    auto type = cast<attn::ArrayType>(array.getType());
    return type.hasDim(plan.row) && type.hasDim(plan.stream) && type.getElementType().isF32();
  }

  static bool repeats(ArrayRef<Value> factors) {
    return llvm::SmallPtrSet<Value, 4>(factors.begin(), factors.end()).size() != factors.size();
  }

  // Of those that are made, the one with the most of the weight's factors, and no others. Squares
  // are no sets: they are made anew.
  StagedWeight begin(unsigned number) {
    ArrayRef<Value> factors = plan.weights[number].factors;
    StagedWeight weight{number, std::nullopt, llvm::to_vector(factors)};
    if (repeats(factors))
      return weight;
    for (unsigned earlier : made) {
      ArrayRef<Value> known = plan.weights[earlier].factors;
      if (repeats(known))
        continue;
      auto isOwn = [&](Value factor) { return llvm::is_contained(factors, factor); };
      size_t size = weight.from ? plan.weights[*weight.from].factors.size() : 0;
      if (known.size() > size && llvm::all_of(known, isOwn))
        weight.from = earlier;
    }
    if (weight.from)
      llvm::erase_if(weight.others, [&](Value factor) {
        return llvm::is_contained(plan.weights[*weight.from].factors, factor);
      });
    return weight;
  }

  // Of what earlier stages have: the last arrays before what the stage makes itself.
  void noteReads(const StagedWeight &weight, WeightStage &stage) {
    auto note = [](auto &list, auto item) {
      if (!llvm::is_contained(list, item))
        list.push_back(item);
    };
    if (weight.from)
      note(stage.weightsRead, *weight.from);
    visit(weight.others, [&](Value array, std::optional<unsigned> contraction) {
      if (contraction && started.contains(*contraction))
        note(stage.contractionsRead, *contraction);
      if (contraction || !madeIn.contains(array) || !fitsFragment(array) ||
          contractionsOf(array).empty())
        return true;
      note(stage.arraysRead, array);
      return false;
    });
  }

  WeightStage next() {
    WeightStage stage;
    std::optional<Numbers> fewest;
    for (unsigned number : left) {
      Numbers missing = contractionsOf(plan.weights[number].factors);
      missing.set_subtract(started);
      if (fewest && missing.empty()) // made with the others
        continue;
      if (!fewest || fewest->empty() || missing.size() < fewest->size())
        fewest = missing;
    }
    stage.contractions.assign(fewest->begin(), fewest->end());
    auto isThere = [&](unsigned each) { return started.contains(each) || fewest->contains(each); };
    for (unsigned number : left)
      if (llvm::all_of(contractionsOf(plan.weights[number].factors), isThere)) {
        stage.weights.push_back(begin(number));
        noteReads(stage.weights.back(), stage);
      }
    for (const StagedWeight &weight : stage.weights) {
      made.insert(weight.number);
      left.remove(weight.number);
    }
    started.insert(fewest->begin(), fewest->end());
    return stage;
  }

  red::NestOp nest;
  const StreamPlan &plan;
  Numbers left, made, started;
  llvm::DenseMap<Value, size_t> madeIn; ///< the first stage that computes an array
};

} // namespace

std::vector<WeightStage> weightStages(red::NestOp nest, const StreamPlan &plan) {
  bool isPlain = plan.references.empty() && plan.direct.empty() && plan.needs.moments == 0 &&
                 llvm::all_of(plan.states, [](const StreamState &s) { return s.weight != -1; });
  if (!isPlain)
    return {WeightStage()};
  return Division(nest, plan).divide();
}

} // namespace attnc::schedule
