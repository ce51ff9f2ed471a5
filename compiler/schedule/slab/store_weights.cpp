#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "compiler/schedule/stream/weight_stages.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Red/Cancellation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

// Columns of rows that fit in shared memory beside what is streamed: one nest computes several
// weights if the rows of all their scores do.
constexpr int64_t kColumnsTogether = 512;

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }
red::YieldOp yieldOf(red::NestOp nest) {
  return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
}

/// Whether values of two nests are the same, whatever the roles of dims.
class SameValues {
public:
  bool operator()(Value a, Value b) {
    if (a == b || known.contains({a, b}))
      return true;
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    if (!first || !second || !isa<red::NestOp>(first->getParentOp()) ||
        !isa<red::NestOp>(second->getParentOp()))
      return false;
    // What is inside of both ops is the same if all of them is.
    llvm::DenseSet<std::pair<Value, Value>> inside;
    bool areSame = OperationEquivalence::isEquivalentTo(
        first, second,
        [&](Value x, Value y) { return success(inside.contains({x, y}) || (*this)(x, y)); },
        [&](Value x, Value y) { inside.insert({x, y}); }, OperationEquivalence::IgnoreLocations);
    if (areSame)
      known.insert({a, b});
    return areSame;
  }

  /// In any order.
  bool operator()(ArrayRef<Value> a, ArrayRef<Value> b) {
    auto left = llvm::to_vector(b);
    for (Value value : a) {
      auto *found = llvm::find_if(left, [&](Value other) { return (*this)(value, other); });
      if (found == left.end())
        return false;
      left.erase(found);
    }
    return left.empty();
  }

private:
  llvm::DenseSet<std::pair<Value, Value>> known;
};

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

/// What a nest multiplies, if that is weights and tiles of 16-bit tensors alone.
struct Multiplier {
  red::NestOp nest;
  StreamPlan plan;
  std::vector<WeightStage> stages;
};

std::optional<Multiplier> multiplierOf(red::NestOp nest) {
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan) || plan->contractions.empty() || plan->states.empty() || !plan->pairs.empty() ||
      !plan->epilogue.empty() || !plan->bands.empty() || !plan->isOfTensorsOnly())
    return {};
  for (const StreamState &state : plan->states)
    if (state.streamed == -1 || state.weight == -1 ||
        tile::elementType(plan->streamed[state.streamed].element).bytes != 2)
      return {};
  // Each weight is multiplied with tensors of one type.
  for (const StreamState &state : plan->states)
    for (const StreamState &other : plan->states)
      if (state.weight == other.weight &&
          plan->streamed[state.streamed].element != plan->streamed[other.streamed].element)
        return {};
  for (Value result : nest.getResults())
    if (packOf(result))
      return {};
  // Cells are counted along an axis of tensor maps, beside those of rows and stream.
  if (nest.getGrid().empty() || nest.getGrid().size() + 2 > kMostMapAxes)
    return {};
  std::vector<WeightStage> stages = weightStages(nest, *plan);
  bool isPlain = llvm::all_of(stages, [](const WeightStage &s) { return !s.weights.empty(); });
  return isPlain ? std::optional(Multiplier{nest, *plan, std::move(stages)}) : std::nullopt;
}

class SlabBuilder {
public:
  SlabBuilder(attn::ProgramOp program, int64_t bytes, int64_t columns)
      : program(program), bytes(bytes), columns(columns), b(program.getContext()) {}

  bool run() {
    for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
      if (std::optional<Multiplier> found = multiplierOf(nest))
        multipliers.push_back(std::move(*found));
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
    auto grid = attn::dimNames(maker.nest.getGrid());
    for (Multiplier &each : multipliers) {
      bool hasPair = each.plan.row == maker.plan.row
                         ? each.plan.stream == maker.plan.stream
                         : each.plan.row == maker.plan.stream && each.plan.stream == maker.plan.row;
      if (hasPair && attn::dimNames(red::NestOp(each.nest).getGrid()) == grid &&
          llvm::all_of(llvm::seq(each.plan.weights.size()),
                       [&](size_t i) { return knownFor(each.plan, i).has_value(); }))
        readers.push_back(&each);
    }
  }

  static Type elementOf(const StreamPlan &plan, size_t weight) {
    for (const StreamState &state : plan.states)
      if (state.weight == static_cast<int>(weight))
        return plan.streamed[state.streamed].element;
    return {};
  }

  std::optional<KnownWeight> knownFor(const StreamPlan &plan, size_t weight) {
    for (StoredWeight &each : weights) {
      if (each.element != elementOf(plan, weight))
        continue;
      std::optional<SmallVector<Value>> beside =
          without(each.factors, plan.weights[weight].factors);
      bool areTaken = beside && llvm::all_of(plan.states, [&](const StreamState &state) {
                        return state.weight != static_cast<int>(weight) || beside->empty() ||
                               timesOf(state.fold, *beside).has_value();
                      });
      if (areTaken)
        return KnownWeight{&each, *beside};
    }
    return {};
  }

  // `all` but for `some`, if all of these are among them.
  std::optional<SmallVector<Value>> without(ArrayRef<Value> all, ArrayRef<Value> some) {
    auto left = llvm::to_vector(all);
    for (Value value : some) {
      auto *found = llvm::find_if(left, [&](Value other) { return same(value, other); });
      if (found == left.end())
        return {};
      left.erase(found);
    }
    return left;
  }

  // What the one map that takes the sum multiplies it with, but for `factors`.
  std::optional<SmallVector<Value>> timesOf(red::FoldOp fold, ArrayRef<Value> factors) {
    if (!fold->hasOneUse() || !isa<attn::MapOp>(*fold->user_begin()))
      return {};
    SmallVector<Value> all = factorsOf(fold->user_begin()->getResult(0));
    auto *own = llvm::find(all, fold.getResult());
    if (own == all.end())
      return {};
    all.erase(own);
    auto nest = fold->getParentOfType<red::NestOp>();
    if (llvm::any_of(all, [&](Value other) { return nest.dependsOnState(other); }))
      return {}; // another sum has factors of its own to lose
    return without(all, factors);
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
        all.push_back(read(in, *before, own.front()));
      yielded.push_back(product(in, all));
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

  // The ops of the body that `wanted` are computed by, in their order.
  static SmallVector<Operation *> sliceOf(red::NestOp nest, ArrayRef<Value> wanted) {
    llvm::SmallSetVector<Operation *, 16> slice;
    for (Value value : wanted)
      slice.insert(value.getDefiningOp());
    for (size_t i = 0; i < slice.size(); ++i)
      for (Value operand : slice[i]->getOperands())
        if (Operation *op = operand.getDefiningOp(); op && op->getBlock() == nest.getBodyBlock())
          slice.insert(op);
    SmallVector<Operation *> ops = slice.takeVector();
    llvm::sort(ops, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    return ops;
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
        mapping.map(value, read(in, *known, value));
      else
        in.clone(*op, mapping);
    }
  }

  // The arrays of which the value is the product.
  static SmallVector<Value> factorsOf(Value value) {
    SmallVector<Value> factors;
    auto map = value.getDefiningOp<attn::MapOp>();
    auto visit = [&](auto &&visit, Value scalar) -> bool {
      if (auto argument = dyn_cast<BlockArgument>(scalar)) {
        factors.push_back(map.getOperand(argument.getArgNumber()));
        return true;
      }
      auto product = scalar.getDefiningOp<arith::MulFOp>();
      return product && visit(visit, product.getLhs()) && visit(visit, product.getRhs());
    };
    if (map && visit(visit, map.getYielded()) && factors.size() > 1)
      return factors;
    return {value};
  }

  Value read(OpBuilder &in, const StoredWeight &weight, Value as) {
    auto dims = arrayType(weight.memory).getDims();
    SmallVector<StringAttr> ordered = attn::canonicalDims(program, llvm::to_vector(dims));
    auto type = attn::ArrayType::get(in.getContext(), ordered, in.getF32Type());
    return attn::ReadOp::create(in, as.getLoc(), type, weight.memory, ValueRange(),
                                in.getArrayAttr({dims.begin(), dims.end()}), FloatAttr());
  }

  Value product(OpBuilder &in, ArrayRef<Value> factors) {
    if (factors.size() == 1)
      return factors.front();
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

  void eraseUnused(red::NestOp nest) {
    llvm::SmallDenseSet<StringAttr> used;
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*nest.getBodyBlock())))
      if (op.use_empty() && !isa<red::YieldOp>(op))
        op.erase();
      else
        for (Type type : op.getResultTypes())
          used.insert_range(cast<attn::ArrayType>(type).getDims());
    SmallVector<Attribute> inner(nest.getInner().begin(), nest.getInner().end());
    llvm::erase_if(inner, [&](Attribute dim) { return !used.contains(cast<StringAttr>(dim)); });
    nest.setInnerAttr(b.getArrayAttr(inner));
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
      else if (std::optional<SmallVector<Value>> times = timesIn(reader.plan, op))
        mapping.map(op->getResult(0), product(in, llvm::map_to_vector(*times, [&](Value x) {
                                                return mapping.lookupOrDefault(x);
                                              })));
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
    SmallVector<Value> factors = {read(in, stored, plan.weights[state.weight].factors.front())};
    for (Value factor : fold.getFactors())
      if (!llvm::is_contained(plan.weights[state.weight].factors, factor))
        factors.push_back(mapping.lookup(factor));
    auto made = red::FoldOp::create(in, fold.getLoc(), fold.getType(), fold.getKind(),
                                    fold.getDims(), factors, Value(), Value());
    mapping.map(fold.getResult(), red::withCancellationOf(fold, made).getResult());
  }

  // Of a map behind a sum whose stored weight has more factors than the reader's: the factors that
  // are left, with the sum.
  std::optional<SmallVector<Value>> timesIn(const StreamPlan &plan, Operation *map) {
    for (const StreamState &state : plan.states) {
      red::FoldOp fold = state.fold;
      if (!fold->hasOneUse() || *fold->user_begin() != map)
        continue;
      KnownWeight known = *knownFor(plan, state.weight);
      if (known.beside.empty())
        continue;
      SmallVector<Value> times = *timesOf(fold, known.beside);
      times.push_back(fold.getResult());
      return times;
    }
    return {};
  }

  attn::ProgramOp program;
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
