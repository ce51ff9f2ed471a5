#include "compiler/transforms/gradient/halve.h"
#include "compiler/transforms/analysis/extent_cost.h"
#include "compiler/transforms/analysis/tensor_sizes.h"
#include "compiler/transforms/fusion/compared_elements.h"
#include "compiler/transforms/fusion/partition.h"
#include "compiler/transforms/fusion/sum_factors.h"
#include "compiler/transforms/gradient/unread_inputs.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {
namespace {

/// Chooses what is saved: back from all that depends on the later inputs.
class Saving {
public:
  Saving(ProgramOp program, const std::set<std::string> &later)
      : program(program), tensors(program) {
    for (Operation &op : *program.getBodyBlock())
      if (auto input = dyn_cast<InputOp>(op); input && later.contains(input.getName().str()))
        this->later.insert(&op);
      else if (llvm::any_of(sources(&op), [&](Operation *x) { return this->later.contains(x); }))
        this->later.insert(&op);
    for (Operation &op : *program.getBodyBlock())
      if (isa<InputOp>(op) && !this->later.contains(&op))
        take(cast<attn::ArrayType>(op.getResult(0).getType()).getDims());
      else if (auto output = dyn_cast<OutputOp>(op))
        take(dimNames(output.getDims()));
  }

  SmallVector<Operation *> run() {
    for (const ElementComparison &comparison : elementComparisons(program))
      takeComparison(comparison);
    for (Operation *op : later)
      reach(op);
    for (Operation *op : later)
      need(op);
    SmallVector<Operation *> ordered;
    for (Operation &op : *program.getBodyBlock())
      if (saved.contains(&op))
        ordered.push_back(&op);
    return ordered;
  }

private:
  static SmallVector<Operation *> sources(Operation *op) {
    SmallVector<Operation *> ops;
    for (Value operand : op->getOperands())
      ops.push_back(operand.getDefiningOp());
    return ops;
  }

  void take(ArrayRef<StringAttr> dims) {
    largest = std::max(largest, ExtentCost(program, dims).getDegree());
    tensors.add(dims);
  }

  /// An extremum that is compared with its own elements is one of them, to the last digit, only in
  /// the arithmetic that the elements have here. The second half has its own, so it computes both,
  /// and what is folded of the comparison. Elements that are read are the same everywhere.
  void takeComparison(const ElementComparison &comparison) {
    red::FoldOp extremum = comparison.extremum;
    if (extremum.getFactors().front().getDefiningOp<ReadOp>())
      return;
    llvm::DenseMap<Operation *, bool> known = {{comparison.map, true}};
    takeWay(extremum, known);
    takeUsers(comparison.map);
  }

  /// What leads from an extremum to where it is compared; false of what does not.
  bool takeWay(Operation *op, llvm::DenseMap<Operation *, bool> &known) {
    auto [found, isNew] = known.try_emplace(op, false);
    if (!isNew)
      return found->second;
    bool leads = false;
    for (Operation *user : op->getUsers())
      leads |= isa<MapOp>(user) && takeWay(user, known);
    if (leads)
      comparisons.insert(op);
    return known[op] = leads;
  }

  void takeUsers(Operation *op) {
    for (Operation *user : op->getUsers())
      if (comparisons.insert(user).second && isa<MapOp>(user))
        takeUsers(user);
  }

  /// All that would be computed again if nothing were saved.
  void reach(Operation *op) {
    for (Operation *source : sources(op))
      if (!later.contains(source) && reached.insert(source).second)
        reach(source);
  }

  void need(Operation *op) {
    for (Operation *source : sources(op)) {
      if (later.contains(source) || !needed.insert(source).second)
        continue;
      if (!comparisons.contains(source) && (isWorthKeeping(source) || finishesFold(source)))
        saved.insert(source);
      else
        need(source);
    }
  }

  /// True if `op` is what is made of a fold that nothing else is made of, as the inverse of a sum:
  /// it is kept in the place of the fold.
  bool finishesFold(Operation *op) {
    auto map = dyn_cast<MapOp>(op);
    if (!map)
      return false;
    unsigned folds = 0;
    for (Value operand : map.getOperands()) {
      auto type = cast<attn::ArrayType>(operand.getType());
      if (type.isScalar())
        continue;
      Operation *fold = operand.getDefiningOp();
      if (++folds > 1 || !isWorthKeeping(fold) || type.getDims() != map.getType().getDims() ||
          llvm::any_of(fold->getUsers(), [&](Operation *user) {
            return user != op && (reached.contains(user) || later.contains(user));
          }))
        return false;
    }
    return folds == 1;
  }

  bool isWorthKeeping(Operation *op) {
    auto fold = dyn_cast<red::FoldOp>(op);
    if (!fold || !tensors.fit(fold.getType().getDims()))
      return false;
    SmallVector<StringAttr> dims = llvm::to_vector(fold.getType().getDims());
    unsigned size = ExtentCost(program, dims).getDegree();
    llvm::append_range(dims, dimNames(fold.getDims()));
    unsigned work = ExtentCost(program, dims).getDegree();
    return size < largest || (size == largest && work > size);
  }

  ProgramOp program;
  llvm::SetVector<Operation *> later;      // what depends on the later inputs
  llvm::DenseSet<Operation *> comparisons; // what is compared with its elements, or comes of that
  llvm::DenseSet<Operation *> reached, needed, saved;
  unsigned largest = 0; // degree of the program's tensors
  TensorSizes tensors;
};

void eraseDead(ProgramOp program) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*program.getBodyBlock())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void eraseOutputs(ProgramOp program, llvm::function_ref<bool(StringRef)> isErased) {
  for (auto output : llvm::make_early_inc_range(program.getBodyBlock()->getOps<OutputOp>()))
    if (isErased(output.getName()))
      output.erase();
}

/// A name that nothing of the program has: its outputs are those that are saved so far, too.
std::string nameOf(ProgramOp program, Value value) {
  StringRef called = specName(value.getLoc());
  std::string stem = "saved_" + (called.empty() ? "value" : called.str()), name = stem;
  auto isTaken = [&](Operation &op) {
    auto its = op.getAttrOfType<StringAttr>("name");
    return its && isa<InputOp, ParamOp, OutputOp>(op) && its == name;
  };
  for (unsigned number = 2; llvm::any_of(*program.getBodyBlock(), isTaken); ++number)
    name = stem + "_" + std::to_string(number);
  return name;
}

} // namespace

/// Adds an output for what is saved.
static SavedValue give(ProgramOp program, Operation *op, std::string name) {
  Value value = op->getResult(0);
  auto type = cast<attn::ArrayType>(value.getType());
  OpBuilder b = OpBuilder::atBlockEnd(program.getBodyBlock());
  SmallVector<Attribute> dims(type.getDims().begin(), type.getDims().end());
  auto output =
      OutputOp::create(b, value.getLoc(), name, value, b.getArrayAttr(dims), type.getElementType());
  output->setAttr(red::kSavedAttr, b.getUnitAttr());
  return {std::move(name), type.getElementType(), llvm::to_vector(type.getDims())};
}

/// Puts an input in the place of what is saved. What was seen of a maximum is said of it.
static void take(Operation *op, const std::string &name) {
  OpBuilder b(op);
  auto type = cast<attn::ArrayType>(op->getResult(0).getType());
  Value input = InputOp::create(b, op->getLoc(), type, name);
  SmallVector<Attribute> dims(type.getDims().begin(), type.getDims().end());
  Value read =
      ReadOp::create(b, op->getLoc(), type, input, ValueRange(), b.getArrayAttr(dims), FloatAttr());
  if (auto fold = dyn_cast<red::FoldOp>(op); fold && fold.getKind() == red::FoldKind::Max)
    red::AtMostOp::create(b, op->getLoc(), fold.getFactors().front(), read);
  op->getResult(0).replaceAllUsesWith(read);
}

/// Facts of what nothing else needs.
static void eraseIdleFacts(ProgramOp program) {
  for (auto fact : llvm::make_early_inc_range(program.getBodyBlock()->getOps<red::AtMostOp>()))
    if (fact.getValue().hasOneUse() || fact.getBound().hasOneUse())
      fact.erase();
}

std::vector<SavedValue> halve(ProgramOp first, ProgramOp second, const std::set<std::string> &later,
                              const std::set<std::string> &ofSecond) {
  flattenNests(first);
  flattenNests(second);
  std::vector<SavedValue> saved;
  for (Operation *op : Saving(first, later).run())
    saved.push_back(give(first, op, nameOf(first, op->getResult(0))));
  for (auto [op, its] : llvm::zip_equal(Saving(second, later).run(), saved))
    take(op, its.name);
  eraseOutputs(first, [&](StringRef name) { return ofSecond.contains(name.str()); });
  eraseOutputs(second, [&](StringRef name) { return !ofSecond.contains(name.str()); });
  eraseDead(first);
  for (auto input : llvm::make_early_inc_range(first.getBodyBlock()->getOps<InputOp>()))
    if (later.contains(input.getName().str()))
      input.erase();
  eraseDead(second);
  eraseIdleFacts(second);
  takeOutFactors(second); // what is saved is an input now, and no normaliser
  eraseDead(second);
  eraseUnreadInputs(second, later);
  return saved;
}

} // namespace attnc
