#include "compiler/schedule/slab/join_sums.h"
#include "compiler/schedule/model/cost_model.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/slab/multipliers.h"
#include "dialects/Red/Cancellation.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

red::YieldOp yieldOf(red::NestOp nest) {
  return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
}

/// A sum of the reader that becomes one over the rows of the maker, with one of its weights. That
/// may have factors beside those of the reader's weight, which multiplies the sum with them.
struct Joined {
  red::FoldOp fold;
  size_t weight;
  SmallVector<Value> beside; ///< in the nest that makes the weights
  Value memory = {};         ///< its result, to which blocks add
};

class Joiner {
public:
  /// `maker` computes the sums of `reader`.
  Joiner(Multiplier &maker, Multiplier &reader)
      : maker(maker), reader(reader), b(maker.nest.getContext()) {}

  bool run() {
    if (maker.plan.row != reader.plan.stream || !havePairsAlike(maker, reader) ||
        maker.stages.size() < 2 || liveCondition(maker.nest) || !fitsColumns() || !findSums() ||
        !isInOrder())
      return false;
    addSums();
    makeResults();
    maker.nest.erase();
    reader.nest.erase();
    return true;
  }

private:
  // Boxes of f32 are as wide as a panel.
  bool fitsColumns() {
    constexpr int64_t kPanel = 32;
    return llvm::all_of(reader.plan.states, [&](const StreamState &state) {
      int64_t columns = reader.plan.streamed[state.streamed].cols;
      return columns <= kJoinedColumns && columns % kPanel == 0;
    });
  }

  bool findSums() {
    for (const StreamState &state : reader.plan.states) {
      std::optional<Joined> found = find(state);
      if (!found)
        return false;
      sums.push_back(*found);
    }
    return true;
  }

  std::optional<Joined> find(const StreamState &state) {
    ArrayRef<Value> own = reader.plan.weights[state.weight].factors;
    red::FoldOp fold = state.fold;
    // Cells that share a sum would each add to it.
    if (!llvm::all_of(attn::dimNames(reader.nest.getGrid()),
                      [&](StringAttr dim) { return fold.getType().hasDim(dim); }))
      return {};
    for (auto [number, weight] : llvm::enumerate(maker.plan.weights)) {
      std::optional<SmallVector<Value>> beside = same.without(weight.factors, own);
      if (beside && elementOf(maker.plan, number) == elementOf(reader.plan, state.weight) &&
          (beside->empty() || takesFactors(fold, *beside, same)))
        return Joined{fold, number, *beside};
    }
    return {};
  }

  // True if all that the reader takes is there before the maker, and who takes its results follows.
  bool isInOrder() {
    Operation *at = maker.nest;
    return llvm::all_of(reader.nest.captures(),
                        [&](Value value) { return value.getDefiningOp()->isBeforeInBlock(at); }) &&
           llvm::all_of(reader.nest->getUsers(),
                        [&](Operation *user) { return at->isBeforeInBlock(user); });
  }

  //===--- the nest that makes the weights ---------------------------------------------------===//

  void addSums() {
    red::NestOp from = maker.nest;
    SmallVector<Type> types(from.getResultTypes());
    for (Joined &each : sums)
      types.push_back(typeInMemory(each.fold));
    std::unique_ptr<Region> domain;
    if (!from.getDomain().empty()) {
      domain = std::make_unique<Region>();
      domain->takeBody(from.getDomain().front());
    }
    b.setInsertionPoint(from);
    wider = red::NestOp::create(b, from.getLoc(), types, attn::dimNames(from.getGrid()),
                                attn::dimNames(from.getRow()), attn::dimNames(from.getStream()),
                                attn::dimNames(from.getInner()), std::move(domain));
    wider->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    wider.getBody().takeBody(from.getBody());
    SmallVector<Value> yielded(yieldOf(wider).getValues());
    b.setInsertionPoint(yieldOf(wider));
    for (Joined &each : sums)
      yielded.push_back(sumOverRows(each));
    yieldOf(wider).getValuesMutable().assign(yielded);
    SmallVector<StringAttr> inner = attn::dimNames(wider.getInner());
    for (Joined &each : sums)
      for (StringAttr dim : innerDims(each.fold))
        if (!llvm::is_contained(inner, dim))
          inner.push_back(dim);
    wider.setInnerAttr(b.getArrayAttr({inner.begin(), inner.end()}));
    from->replaceAllUsesWith(wider.getResults().take_front(from.getNumResults()));
    for (auto [number, each] : llvm::enumerate(sums))
      each.memory = wider.getResult(from.getNumResults() + number);
  }

  SmallVector<StringAttr> innerDims(red::FoldOp fold) {
    return llvm::filter_to_vector(fold.getType().getDims(), [&](StringAttr dim) {
      return llvm::is_contained(reader.nest.getInner(), dim);
    });
  }

  // The columns lie next to each other.
  Type typeInMemory(red::FoldOp fold) {
    SmallVector<StringAttr> dims = attn::dimNames(reader.nest.getGrid());
    dims.push_back(reader.plan.row);
    llvm::append_range(dims, innerDims(fold));
    return attn::ArrayType::get(b.getContext(), dims, b.getF32Type());
  }

  Value sumOverRows(const Joined &each) {
    red::FoldOp fold = each.fold;
    SmallVector<Value> factors = maker.plan.weights[each.weight].factors;
    for (Value factor : fold.getFactors())
      if (llvm::any_of(innerDims(fold), [&](StringAttr dim) {
            return cast<attn::ArrayType>(factor.getType()).hasDim(dim);
          }))
        factors.push_back(inMaker(factor));
    auto made = red::FoldOp::create(b, fold.getLoc(), fold.getType(), fold.getKind(),
                                    fold.getDims(), factors, Value(), Value());
    return red::withCancellationOf(fold, made).getResult();
  }

  // The same value in the nest that makes the weights: one that it has, or a copy.
  Value inMaker(Value value) {
    for (Operation &op : *wider.getBodyBlock())
      if (op.getNumResults() == 1 && same(op.getResult(0), value))
        return op.getResult(0);
    IRMapping mapping;
    for (Operation *op : sliceOf(reader.nest, value))
      b.clone(*op, mapping);
    return mapping.lookup(value);
  }

  //===--- what the sums become --------------------------------------------------------------===//

  void makeResults() {
    red::NestOp from = reader.nest;
    b.setInsertionPointAfter(wider);
    for (auto [value, result] : llvm::zip(yieldOf(from).getValues(), from.getResults()))
      result.replaceAllUsesWith(makeResult(value, result.getType()));
  }

  Value makeResult(Value value, Type type) {
    SmallVector<StringAttr> dims = attn::canonicalDims(
        attn::programOf(wider), cast<attn::ArrayType>(value.getType()).getDims());
    auto nest = red::NestOp::create(b, value.getLoc(), type, dims, ArrayRef<StringAttr>(),
                                    ArrayRef<StringAttr>(), ArrayRef<StringAttr>());
    OpBuilder in = OpBuilder::atBlockEnd(nest.getBodyBlock());
    IRMapping mapping;
    for (Operation *op : sliceOf(reader.nest, value))
      if (Joined *sum = llvm::find_if(sums, [&](Joined &each) { return each.fold == op; });
          sum != sums.end())
        mapping.map(op->getResult(0), readWhole(in, sum->memory, op->getResult(0)));
      else if (const Joined *taken = takenBy(op))
        cloneWithout(in, taken->fold, taken->beside, same, mapping);
      else if (!readsPairs(op))
        in.clone(*op, mapping);
    red::YieldOp::create(in, value.getLoc(), mapping.lookup(value));
    eraseUnused(nest);
    return nest.getResult(0);
  }

  // Part of what the sums were made of.
  bool readsPairs(Operation *op) {
    return cast<attn::ArrayType>(op->getResult(0).getType()).hasDim(reader.plan.stream);
  }

  // The sum that a map takes, and whose weight has more factors, or null.
  const Joined *takenBy(Operation *map) {
    auto *found = llvm::find_if(sums, [&](const Joined &each) {
      return !each.beside.empty() && *red::FoldOp(each.fold)->user_begin() == map;
    });
    return found == sums.end() ? nullptr : found;
  }

  Multiplier &maker, &reader;
  OpBuilder b;
  SameValues same;
  SmallVector<Joined> sums;
  red::NestOp wider;
};

} // namespace

static bool joinFirst(attn::ProgramOp program) {
  std::vector<Multiplier> all = multipliersOf(program);
  llvm::erase_if(all, [](const Multiplier &each) { return !each.plan.rowSums.empty(); });
  for (Multiplier &maker : all)
    for (Multiplier &reader : all)
      if (maker.plan.weights.size() > reader.plan.weights.size() && Joiner(maker, reader).run())
        return true;
  return false;
}

bool joinSums(attn::ProgramOp program) {
  bool any = false;
  while (joinFirst(program))
    any = true;
  return any;
}

// What kernels of gradients reach of the products' peak, and the bytes of an element of a sum that
// is cleared, read and stored as 16 bits.
static constexpr double kUsualShare = 0.6, kBytesOfSum = 10;

bool areSumsWorthIt(attn::ProgramOp program, const GpuModel &machine) {
  const Rates &rates = *machine.warpgroups;
  const ReferenceExtents &assumed = referenceExtents().front();
  constexpr int64_t kRows = 64;
  double saved = 0, spent = 0; // clocks
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    std::string why;
    FailureOr<StreamPlan> plan = planStream(nest, why);
    if (failed(plan) || plan->rowSums.empty())
      continue;
    auto extentOf = [&](StringAttr dim, int64_t otherwise) {
      attn::DimAttr known = program.lookupDim(dim);
      return known.isStatic() ? known.getExtent() : otherwise;
    };
    int64_t rows = extentOf(plan->row, assumed.rows),
            stream = extentOf(plan->stream, assumed.stream);
    auto scores = static_cast<double>(countWork(nest, *plan).scoreColumns);
    for (auto [lo, hi] : streamRanges(nest, *plan, kRows, rows, stream))
      saved += static_cast<double>(kRows * std::max<int64_t>(hi - lo, 0)) * scores /
               (rates.products * kUsualShare);
    for (const RowSum &sum : plan->rowSums)
      spent += static_cast<double>(stream * sum.resident.cols) * kBytesOfSum / rates.memoryBytes;
  }
  return saved > spent;
}

} // namespace attnc::schedule
