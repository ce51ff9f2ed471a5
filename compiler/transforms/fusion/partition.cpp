#include "compiler/transforms/fusion/partition.h"
#include "compiler/transforms/fusion/eliminate_common.h"
#include "compiler/transforms/fusion/pair_products.h"
#include "compiler/transforms/fusion/roles.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

// Where an array comes from that a nest reads and does not compute.
bool isExternal(Value value) { return isa_and_nonnull<InputOp, ParamOp>(value.getDefiningOp()); }

llvm::SmallDenseSet<StringAttr> stateDims(const Pass &pass) {
  llvm::SmallDenseSet<StringAttr> dims;
  for (FoldOp state : pass.states)
    dims.insert(arrayType(state).getDims().begin(), arrayType(state).getDims().end());
  return dims;
}

/// A nest to be: a pass, or an array by itself.
struct Plan {
  const Pass *pass = nullptr;
  llvm::SetVector<Value> roots;        // what its body computes: operands of states, stored values
  llvm::SetVector<Value> intermediate; // stored for other nests
  SmallVector<OutputOp> outputs;
  llvm::SetVector<Operation *> body;
  llvm::SetVector<Value> reads; // stored values of other nests
  bool emitted = false;
};

class Outliner {
public:
  Outliner(ProgramOp program, const Partition &partition)
      : program(program), factors(storedFactors(program)) {
    for (auto [id, pass] : llvm::enumerate(partition)) {
      plans.push_back(std::make_unique<Plan>());
      plans.back()->pass = &pass;
      for (FoldOp state : pass.states)
        owner[state] = id;
    }
  }

  void run() {
    SmallVector<OutputOp> outputs(program.getBodyBlock()->getOps<OutputOp>());
    SmallVector<Plan *> wanted;
    for (OutputOp output : outputs) {
      wanted.push_back(&planOf(output.getValue()));
      wanted.back()->outputs.push_back(output);
      addRoot(*wanted.back(), output.getValue());
    }
    for (Plan *plan : wanted)
      emit(*plan);
    for (OutputOp output : outputs)
      output->moveBefore(program.getBodyBlock(), program.getBodyBlock()->end());
    eraseFlatForm();
  }

private:
  // The last pass that `value` depends on, or -1.
  int lastPass(Value value) {
    auto known = last.find(value);
    if (known != last.end())
      return known->second;
    int result = -1;
    if (Operation *op = value.getDefiningOp(); op && !isExternal(value)) {
      if (auto found = owner.find(op); found != owner.end())
        result = found->second;
      else
        for (Value operand : op->getOperands())
          result = std::max(result, lastPass(operand));
    }
    return last[value] = result;
  }

  bool ownedBy(Value value, int pass) {
    auto found = owner.find(value.getDefiningOp());
    return found != owner.end() && static_cast<int>(found->second) == pass;
  }

  // True if the last pass that `value` depends on can compute it from its states after the stream.
  bool isFinishable(Value value) {
    int pass = lastPass(value);
    if (pass < 0)
      return false;
    llvm::SmallDenseSet<StringAttr> dims = stateDims(*plans[pass]->pass);
    return llvm::all_of(arrayType(value).getDims(),
                        [&](StringAttr d) { return dims.contains(d); }) &&
           finishes(value, pass);
  }

  // True if the states leave all of what `fold` runs over.
  bool hasStateDims(FoldOp fold, int pass) {
    llvm::SmallDenseSet<StringAttr> dims = stateDims(*plans[pass]->pass);
    return llvm::all_of(dimNames(fold.getDims()), [&](StringAttr d) { return dims.contains(d); });
  }

  // Found once for each value and pass: a value that is shared is reached on many paths.
  bool finishes(Value value, int pass) {
    if (auto known = finishable.find({value, pass}); known != finishable.end())
      return known->second;
    bool result = computeEpilogues(value, pass);
    return finishable[{value, pass}] = result;
  }

  bool computeEpilogues(Value value, int pass) {
    for (StringAttr dim : plans[pass]->pass->stream)
      if (arrayType(value).hasDim(dim))
        return false;
    if (ownedBy(value, pass))
      return true;
    Operation *op = value.getDefiningOp();
    auto fold = dyn_cast<FoldOp>(op);
    if (!isa<MapOp>(op) && !(fold && !owner.contains(op) && hasStateDims(fold, pass)))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return lastPass(operand) < pass || finishes(operand, pass);
    });
  }

  // The plan whose nest stores `value`.
  Plan &planOf(Value value) {
    if (isFinishable(value))
      return *plans[lastPass(value)];
    Plan *&plan = pure[value];
    if (!plan) {
      plans.push_back(std::make_unique<Plan>());
      plan = plans.back().get();
    }
    return *plan;
  }

  void addRoot(Plan &plan, Value value) {
    if (plan.pass && plan.roots.empty())
      for (FoldOp state : plan.pass->states)
        if (plan.roots.insert(state))
          visit(plan, state);
    if (plan.roots.insert(value))
      visit(plan, value);
  }

  void store(Plan &reader, Value value) {
    reader.reads.insert(value);
    Plan &plan = planOf(value);
    plan.intermediate.insert(value);
    addRoot(plan, value);
  }

  // Adds what computes `value` to the body of `plan`, down to what other nests store.
  void visit(Plan &plan, Value value) {
    Operation *op = value.getDefiningOp();
    if (isExternal(value) || plan.body.contains(op) || plan.reads.contains(value))
      return;
    bool here = plan.pass && ownedByPass(op, plan);
    bool elsewhere = owner.contains(op) && !here;
    bool stored =
        lastPass(value) >= 0 && isFinishable(value) && plans[lastPass(value)].get() != &plan;
    bool isFactor = factors.contains(value) && &planOf(value) != &plan;
    if (elsewhere || stored || isFactor || (!here && foldsStream(op, plan)))
      return store(plan, value);
    plan.body.insert(op);
    if (auto read = dyn_cast<ReadOp>(op); read && !isExternal(read.getSource()))
      store(plan, read.getSource());
    for (Value operand : op->getOperands())
      if (!plan.reads.contains(operand))
        visit(plan, operand);
  }

  // True of a fold, no state of the pass, over some of its stream: a nest has what folds these for
  // a state. It is computed by another.
  static bool foldsStream(Operation *op, const Plan &plan) {
    auto fold = dyn_cast<FoldOp>(op);
    return fold && plan.pass && llvm::any_of(dimNames(fold.getDims()), [&](StringAttr dim) {
             return llvm::is_contained(plan.pass->stream, dim);
           });
  }

  bool ownedByPass(Operation *op, Plan &plan) {
    auto found = owner.find(op);
    return found != owner.end() && plans[found->second].get() == &plan;
  }

  void emit(Plan &plan) {
    if (std::exchange(plan.emitted, true))
      return;
    // Passes over sequences first: what is small can then follow each other, in one launch.
    for (bool isLong : {true, false})
      for (Value value : plan.reads)
        if (streamsSequence(planOf(value)) == isLong)
          emit(planOf(value));
    build(plan);
  }

  bool streamsSequence(const Plan &plan) {
    return plan.pass && llvm::any_of(plan.pass->stream, [&](StringAttr dim) {
             return !program.lookupDim(dim).isStatic();
           });
  }

  // Ops of the body in the order of the program.
  SmallVector<Operation *> ordered(Plan &plan) {
    SmallVector<Operation *> ops(plan.body.begin(), plan.body.end());
    llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    return ops;
  }

  void build(Plan &plan) {
    SmallVector<Value> results;
    for (OutputOp output : plan.outputs)
      results.push_back(output.getValue());
    llvm::append_range(results, plan.intermediate);
    SmallVector<Operation *> ops = ordered(plan);
    Roles roles =
        chooseRoles(program, plan.pass ? ArrayRef(plan.pass->stream) : ArrayRef<StringAttr>(), ops,
                    plan.pass ? ArrayRef(plan.pass->states) : ArrayRef<FoldOp>(), results);
    OpBuilder b = OpBuilder::atBlockEnd(program.getBodyBlock());
    SmallVector<Type> types;
    for (Value result : results)
      types.push_back(result.getType());
    auto nest = NestOp::create(b, results.front().getLoc(), types, roles.grid, roles.row,
                               roles.stream, roles.inner);
    if (plan.pass)
      derivation::record(nest, plan.pass->derivation);
    b.setInsertionPointToStart(nest.getBodyBlock());
    fillBody(b, plan, ops, results);
    for (auto [i, output] : llvm::enumerate(plan.outputs))
      output.getValueMutable().assign(nest.getResult(i));
    for (auto [i, value] : llvm::enumerate(plan.intermediate))
      stored[value] = nest.getResult(plan.outputs.size() + i);
  }

  static bool isUsedPlainly(Value value, const Plan &plan) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      auto read = dyn_cast<ReadOp>(use.getOwner());
      bool asSource = read && &use == &read.getSourceMutable();
      return plan.body.contains(use.getOwner()) && !asSource;
    });
  }

  void fillBody(OpBuilder &b, Plan &plan, ArrayRef<Operation *> ops, ArrayRef<Value> results) {
    IRMapping mapping;
    for (Value value : plan.reads) {
      if (!isUsedPlainly(value, plan))
        continue; // read at its own subscripts below
      auto dims = arrayType(value).getDims();
      mapping.map(value, ReadOp::create(b, value.getLoc(), value.getType(), stored.lookup(value),
                                        ValueRange(), b.getArrayAttr({dims.begin(), dims.end()}),
                                        FloatAttr()));
    }
    for (Operation *op : ops) {
      Operation *copy = b.clone(*op, mapping);
      if (auto read = dyn_cast<ReadOp>(copy))
        if (Value source = stored.lookup(cast<ReadOp>(op).getSource()))
          read.getSourceMutable().assign(source);
    }
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(inBody(b, mapping.lookupOrDefault(result), result.getLoc()));
    red::YieldOp::create(b, results.front().getLoc(), yielded);
  }

  // A param that is stored as it is becomes the value of a map.
  Value inBody(OpBuilder &b, Value value, Location loc) {
    if (!isExternal(value))
      return value;
    return MapOp::create(b, loc, value.getType(), value,
                         [](OpBuilder &, Location, ValueRange x) -> Value { return x[0]; });
  }

  // What is left of the flat form: only the scalars of params and requirements stay.
  void eraseFlatForm() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*program.getBodyBlock())))
      if (!isa<InputOp, ParamOp, OutputOp, RequireOp, ExtentOp, NestOp>(op) && op.use_empty())
        op.erase();
  }

  ProgramOp program;
  llvm::SmallDenseSet<Value> factors;
  std::vector<std::unique_ptr<Plan>> plans;
  llvm::DenseMap<Operation *, unsigned> owner;
  llvm::DenseMap<Value, int> last;
  llvm::DenseMap<std::pair<Value, int>, bool> finishable;
  llvm::DenseMap<Value, Plan *> pure;
  llvm::DenseMap<Value, Value> stored;
};

} // namespace

void outlineNests(ProgramOp program, const Partition &partition) {
  Outliner(program, partition).run();
}

namespace {

/// What can be computed from the states of a pass after its stream.
class Epilogue {
public:
  Epilogue(const Partition &passes, const Pass &pass)
      : passes(passes), pass(pass), dims(stateDims(pass)) {}

  bool has(FoldOp fold) {
    return llvm::all_of(dimNames(fold.getDims()), [&](StringAttr d) { return dims.contains(d); }) &&
           llvm::all_of(arrayType(fold).getDims(), [&](StringAttr d) { return isShared(d); }) &&
           llvm::all_of(fold->getOperands(), [&](Value operand) { return has(operand); });
  }

private:
  // The maximum that others refer to may be over fewer dims than the rows.
  bool isShared(StringAttr dim) {
    return llvm::all_of(pass.states, [&](FoldOp state) {
      return arrayType(state).hasDim(dim) ||
             llvm::any_of(pass.states, [&](FoldOp s) { return s.getReference() == state; });
    });
  }

  bool has(Value value) {
    auto [known, isNew] = found.try_emplace(value, false);
    if (!isNew)
      return known->second;
    bool result = compute(value);
    return found[value] = result;
  }

  bool compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (isExternal(value) || llvm::any_of(passes, [&](const Pass &p) {
          return llvm::is_contained(p.states, dyn_cast<FoldOp>(op));
        }))
      return true;
    if (llvm::any_of(arrayType(value).getDims(), [&](StringAttr d) { return !dims.contains(d); }))
      return false;
    if (auto fold = dyn_cast<FoldOp>(op))
      return has(fold);
    return llvm::all_of(op->getOperands(), [&](Value operand) { return has(operand); });
  }

  const Partition &passes;
  const Pass &pass;
  llvm::SmallDenseSet<StringAttr> dims;
  llvm::DenseMap<Value, bool> found;
};

} // namespace

bool foldsInEpilogue(FoldOp fold, const Partition &passes) {
  for (const Pass &pass : llvm::reverse(passes))
    if (dependsOn(fold, pass.states))
      return Epilogue(passes, pass).has(fold);
  return false;
}

bool dependsOn(Value value, ArrayRef<FoldOp> folds) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || isExternal(v) || !seen.insert(v).second)
      continue;
    if (auto fold = dyn_cast<FoldOp>(op); fold && llvm::is_contained(folds, fold))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

void flattenNests(ProgramOp program) {
  SmallVector<NestOp> nests(program.getBodyBlock()->getOps<NestOp>());
  IRMapping stored;
  for (NestOp nest : nests) {
    OpBuilder b(nest);
    IRMapping mapping = stored;
    for (Operation &op : nest.getBodyBlock()->without_terminator()) {
      auto read = dyn_cast<ReadOp>(op);
      Value source = read ? stored.lookupOrNull(read.getSource()) : Value();
      if (source && read.isPlain() && read.getType() == source.getType() &&
          llvm::equal(dimNames(read.getSubscripts()), arrayType(source).getDims()))
        mapping.map(read.getResult(), source);
      else
        b.clone(op, mapping);
    }
    auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
    for (auto [result, value] : llvm::zip(nest.getResults(), yield.getValues()))
      stored.map(result, mapping.lookupOrDefault(value));
  }
  for (auto output : program.getBodyBlock()->getOps<OutputOp>())
    output.getValueMutable().assign(stored.lookupOrDefault(output.getValue()));
  for (NestOp nest : llvm::reverse(nests))
    nest.erase();
  eliminateCommon(program);
}

} // namespace attnc
