#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/slab/multipliers.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "dialects/Red/Cancellation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

// Columns of rows that fit in shared memory beside what is streamed: one nest computes several
// weights if the rows of all their scores do.
constexpr int64_t kColumnsTogether = 512;

red::YieldOp yieldOf(red::NestOp nest) {
  return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
}

/// A product of factors with a value for each row and stream index of a nest.
struct StoredWeight {
  SmallVector<Value> factors; ///< in the nest that makes it
  Type element;
  Value memory = {}; ///< the result of the nest that stores it
};

/// A weight of a reader as one that is stored, and what that has as a factor beside: factors that
/// the reader multiplies its sums with, in the map that takes each of them.
struct KnownWeight {
  StoredWeight *stored;
  SmallVector<Value> beside; ///< in the nest that makes it
};

class SlabBuilder {
public:
  SlabBuilder(attn::ProgramOp program, int64_t bytes, int64_t columns)
      : bytes(bytes), columns(columns), b(program.getContext()),
        multipliers(multipliersOf(program)) {}

  bool run() {
    Multiplier *maker = findMaker();
    if (!maker)
      return false;
    findReaders(*maker);
    if (readers.size() < 2 && maker->plan.weights.size() < 2)
      return false;
    if (!followEachOther())
      return false;
    b.setInsertionPoint(readers.front()->nest);
    makeWeights(*maker);
    for (Multiplier *reader : readers)
      makeProducts(*reader);
    for (Multiplier *reader : readers)
      reader->nest.erase();
    return true;
  }

private:
  static int64_t width(const StreamPlan &plan) {
    return std::max(widestDepth(plan), widestColumns(plan));
  }

  // The nest with the most weights.
  Multiplier *findMaker() {
    Multiplier *best = nullptr;
    for (Multiplier &each : multipliers)
      if (width(each.plan) >= columns &&
          (!best || each.plan.weights.size() > best->plan.weights.size()))
        best = &each;
    return best;
  }

  // Those all of whose weights are among the maker's, with itself, in the program's order.
  void findReaders(Multiplier &maker) {
    for (auto [number, weight] : llvm::enumerate(maker.plan.weights))
      weights.push_back({weight.factors, elementOf(maker.plan, number)});
    for (Multiplier &each : multipliers)
      if (havePairsAlike(each, maker) &&
          llvm::all_of(llvm::seq(each.plan.weights.size()),
                       [&](size_t i) { return knownFor(each.plan, i).has_value(); }))
        readers.push_back(&each);
  }

  std::optional<KnownWeight> knownFor(const StreamPlan &plan, size_t weight) {
    for (StoredWeight &each : weights) {
      if (each.element != elementOf(plan, weight))
        continue;
      std::optional<SmallVector<Value>> beside =
          same.without(each.factors, plan.weights[weight].factors);
      bool areTaken = beside && llvm::all_of(plan.states, [&](const StreamState &state) {
                        return state.weight != static_cast<int>(weight) || beside->empty() ||
                               takesFactors(state.fold, *beside, same);
                      });
      if (areTaken)
        return KnownWeight{&each, *beside};
    }
    return {};
  }

  // True if no other nest is between the readers, and all that they read is there before the first.
  bool followEachOther() {
    Operation *next = readers.front()->nest;
    for (Multiplier *reader : readers) {
      if (reader->nest != next)
        return false;
      next = next->getNextNode();
      for (Value captured : red::NestOp(reader->nest).captures())
        if (!captured.getDefiningOp()->isBeforeInBlock(readers.front()->nest))
          return false;
    }
    return true;
  }

  //===--- weights ---------------------------------------------------------------------------===//

  // One nest for all stages whose rows fit beside each other.
  void makeWeights(Multiplier &maker) {
    SmallVector<const WeightStage *> together;
    int64_t rows = 0;
    for (const WeightStage &stage : maker.stages) {
      int64_t own = 0;
      for (unsigned number : stage.contractions)
        own += maker.plan.contractions[number].resident.wholeCols();
      if (!together.empty() && rows + own > kColumnsTogether && isApart(maker, stage)) {
        makeNest(maker, together);
        together.clear();
        rows = 0;
      }
      together.push_back(&stage);
      rows += own;
    }
    makeNest(maker, together);
  }

  // True if all that the stage takes of the scores of earlier ones is their weights.
  bool isApart(Multiplier &maker, const WeightStage &stage) {
    llvm::SetVector<Value> reached;
    for (const StagedWeight &weight : stage.weights)
      reached.insert_range(weight.from
                               ? ArrayRef<Value>(weight.others)
                               : ArrayRef<Value>(maker.plan.weights[weight.number].factors));
    auto isWeight = [&](Value value) {
      SmallVector<Value> factors = factorsOf(value);
      return llvm::any_of(weights, [&](const StoredWeight &weight) {
        return llvm::none_of(
                   stage.weights,
                   [&](const StagedWeight &own) { return &weights[own.number] == &weight; }) &&
               same(factors, weight.factors);
      });
    };
    for (size_t i = 0; i < reached.size(); ++i) {
      Operation *op = reached[i].getDefiningOp();
      if (!op || op->getBlock() != maker.nest.getBodyBlock() || isWeight(reached[i]))
        continue;
      for (auto [number, contraction] : llvm::enumerate(maker.plan.contractions))
        if (contraction.fold == op && !llvm::is_contained(stage.contractions, number))
          return false;
      reached.insert(op->operand_begin(), op->operand_end());
    }
    return true;
  }

  void makeNest(Multiplier &maker, ArrayRef<const WeightStage *> stages) {
    red::NestOp from = maker.nest;
    SmallVector<StringAttr> dims = attn::dimNames(from.getGrid());
    dims.append({maker.plan.row, maker.plan.stream});
    SmallVector<StoredWeight *> made;
    SmallVector<Type> types;
    for (const WeightStage *stage : stages)
      for (const StagedWeight &weight : stage->weights) {
        made.push_back(&weights[weight.number]);
        types.push_back(attn::ArrayType::get(b.getContext(), dims, made.back()->element));
      }
    SmallVector<SmallVector<Value>> factors;
    SmallVector<Value> wanted;
    SmallVector<StoredWeight *> begun; // by weights that other nests store
    for (const WeightStage *stage : stages)
      for (const StagedWeight &weight : stage->weights) {
        StoredWeight *first = weight.from ? &weights[*weight.from] : nullptr;
        begun.push_back(first && first->memory ? first : nullptr);
        factors.push_back(begun.back() ? weight.others : weights[weight.number].factors);
        llvm::append_range(wanted, factors.back());
      }
    red::NestOp nest = beginNest(from, types);
    OpBuilder in = OpBuilder::atBlockEnd(nest.getBodyBlock());
    IRMapping mapping;
    cloneSlice(in, from, wanted, mapping);
    SmallVector<Value> yielded;
    for (auto [own, before] : llvm::zip(factors, begun)) {
      SmallVector<Value> all =
          llvm::map_to_vector(own, [&](Value x) { return mapping.lookupOrDefault(x); });
      if (before)
        all.push_back(readWhole(in, before->memory, own.front()));
      yielded.push_back(productOf(in, all));
    }
    red::YieldOp::create(in, from.getLoc(), yielded);
    for (auto [weight, result] : llvm::zip(made, nest.getResults()))
      weight->memory = result;
    eraseUnused(nest);
  }

  // With the roles and the domain of `from`.
  red::NestOp beginNest(red::NestOp from, ArrayRef<Type> types) {
    std::unique_ptr<Region> domain;
    if (Block *block = from.getDomainBlock()) {
      domain = std::make_unique<Region>();
      IRMapping mapping;
      block->getParent()->cloneInto(domain.get(), mapping);
      cast<red::BoundsOp>(domain->front().getTerminator()).getLiveMutable().clear();
    }
    auto nest = red::NestOp::create(b, from.getLoc(), types, attn::dimNames(from.getGrid()),
                                    attn::dimNames(from.getRow()), attn::dimNames(from.getStream()),
                                    attn::dimNames(from.getInner()), std::move(domain));
    nest->setAttr(kSlabAttr, b.getI64IntegerAttr(bytes));
    return nest;
  }

  // Copies what computes `wanted`; weights that are stored already are read.
  void cloneSlice(OpBuilder &in, red::NestOp from, ArrayRef<Value> wanted, IRMapping &mapping) {
    for (Operation *op : sliceOf(from, wanted)) {
      Value value = op->getResult(0);
      SmallVector<Value> factors = factorsOf(value);
      auto *known = llvm::find_if(weights, [&](const StoredWeight &weight) {
        return weight.memory && same(factors, weight.factors);
      });
      if (known != weights.end())
        mapping.map(value, readWhole(in, known->memory, value));
      else
        in.clone(*op, mapping);
    }
  }

  static Value productOf(OpBuilder &in, ArrayRef<Value> factors) {
    if (factors.size() == 1)
      return factors.front();
    attn::ProgramOp program = attn::programOf(in.getInsertionBlock()->getParentOp());
    auto type =
        attn::ArrayType::get(in.getContext(), attn::unionDims(program, factors), in.getF32Type());
    return attn::MapOp::create(in, factors.front().getLoc(), type, factors,
                               [](OpBuilder &body, Location loc, ValueRange x) -> Value {
                                 Value all = x[0];
                                 for (Value factor : x.drop_front())
                                   all = arith::MulFOp::create(body, loc, all, factor);
                                 return all;
                               });
  }

  //===--- products --------------------------------------------------------------------------===//

  // A nest for each weight, with the results that are made of it; one for all where some result is
  // made of several.
  void makeProducts(Multiplier &reader) {
    red::NestOp from = reader.nest;
    SmallVector<llvm::SmallSetVector<int, 2>> needs;
    bool areApart = true;
    for (Value value : yieldOf(from).getValues()) {
      needs.push_back(weightsBehind(reader, value));
      areApart &= needs.back().size() == 1;
    }
    if (!areApart)
      return makeProducts(reader, llvm::to_vector(llvm::seq<unsigned>(0, from.getNumResults())));
    for (int weight = 0; weight < static_cast<int>(reader.plan.weights.size()); ++weight) {
      SmallVector<unsigned> results;
      for (auto [number, need] : llvm::enumerate(needs))
        if (need.contains(weight))
          results.push_back(number);
      if (!results.empty())
        makeProducts(reader, results);
    }
  }

  static llvm::SmallSetVector<int, 2> weightsBehind(Multiplier &reader, Value value) {
    llvm::SmallSetVector<int, 2> found;
    for (Operation *op : sliceOf(reader.nest, value))
      for (const StreamState &state : reader.plan.states)
        if (red::FoldOp(state.fold) == op)
          found.insert(state.weight);
    return found;
  }

  void makeProducts(Multiplier &reader, ArrayRef<unsigned> results) {
    red::NestOp from = reader.nest;
    SmallVector<Value> wanted;
    SmallVector<Type> types;
    for (unsigned number : results) {
      wanted.push_back(yieldOf(from).getValues()[number]);
      types.push_back(from.getResult(number).getType());
    }
    red::NestOp nest = beginNest(from, types);
    nest->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    nest->setAttr(kSlabAttr, b.getI64IntegerAttr(bytes));
    OpBuilder in = OpBuilder::atBlockEnd(nest.getBodyBlock());
    IRMapping mapping;
    for (Operation *op : sliceOf(from, wanted)) {
      const auto *state = llvm::find_if(reader.plan.states, [&](const StreamState &each) {
        return red::FoldOp(each.fold) == op;
      });
      if (state != reader.plan.states.end())
        addSum(in, reader.plan, *state, mapping);
      else if (const StreamState *taken = takenBy(reader.plan, op))
        cloneWithout(in, taken->fold, knownFor(reader.plan, taken->weight)->beside, same, mapping);
      else
        in.clone(*op, mapping);
    }
    red::YieldOp::create(in, from.getLoc(), llvm::map_to_vector(wanted, [&](Value value) {
                           return mapping.lookup(value);
                         }));
    eraseUnused(nest);
    for (auto [number, result] : llvm::zip(results, nest.getResults()))
      from.getResult(number).replaceAllUsesWith(result);
  }

  // The state with the stored weight as its first factor.
  void addSum(OpBuilder &in, const StreamPlan &plan, const StreamState &state, IRMapping &mapping) {
    red::FoldOp fold = state.fold;
    StoredWeight &stored = *knownFor(plan, state.weight)->stored;
    SmallVector<Value> factors = {
        readWhole(in, stored.memory, plan.weights[state.weight].factors.front())};
    for (Value factor : fold.getFactors())
      if (!llvm::is_contained(plan.weights[state.weight].factors, factor))
        factors.push_back(mapping.lookup(factor));
    auto made = red::FoldOp::create(in, fold.getLoc(), fold.getType(), fold.getKind(),
                                    fold.getDims(), factors, Value(), Value());
    mapping.map(fold.getResult(), red::withCancellationOf(fold, made).getResult());
  }

  // The sum that a map takes, and whose stored weight has more factors than the reader's, or null.
  const StreamState *takenBy(const StreamPlan &plan, Operation *map) {
    const auto *found = llvm::find_if(plan.states, [&](const StreamState &state) {
      red::FoldOp fold = state.fold;
      return fold->hasOneUse() && *fold->user_begin() == map &&
             !knownFor(plan, state.weight)->beside.empty();
    });
    return found == plan.states.end() ? nullptr : found;
  }

  int64_t bytes, columns;
  OpBuilder b;
  SameValues same;
  std::vector<Multiplier> multipliers;
  SmallVector<Multiplier *> readers;
  SmallVector<StoredWeight> weights; ///< of the maker's plan, in its order
};

} // namespace

bool storeWeights(attn::ProgramOp program, int64_t bytes, int64_t columns) {
  return SlabBuilder(program, bytes, columns).run();
}

} // namespace attnc::schedule
