#include "compiler/schedule/slab/multipliers.h"
#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attnc::schedule {

bool SameValues::operator()(Value a, Value b) {
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

bool SameValues::operator()(ArrayRef<Value> a, ArrayRef<Value> b) {
  std::optional<SmallVector<Value>> left = without(b, a);
  return left && left->empty();
}

std::optional<SmallVector<Value>> SameValues::without(ArrayRef<Value> all, ArrayRef<Value> some) {
  auto left = llvm::to_vector(all);
  for (Value value : some) {
    auto *found = llvm::find_if(left, [&](Value other) { return (*this)(value, other); });
    if (found == left.end())
      return {};
    left.erase(found);
  }
  return left;
}

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

std::vector<Multiplier> multipliersOf(attn::ProgramOp program) {
  std::vector<Multiplier> all;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    if (std::optional<Multiplier> found = multiplierOf(nest))
      all.push_back(std::move(*found));
  return all;
}

Type elementOf(const StreamPlan &plan, size_t weight) {
  for (const StreamState &state : plan.states)
    if (state.weight == static_cast<int>(weight))
      return plan.streamed[state.streamed].element;
  return {};
}

bool havePairsAlike(const Multiplier &a, const Multiplier &b) {
  bool hasPair = a.plan.row == b.plan.row
                     ? a.plan.stream == b.plan.stream
                     : a.plan.row == b.plan.stream && a.plan.stream == b.plan.row;
  return hasPair && red::NestOp(a.nest).getGrid() == red::NestOp(b.nest).getGrid();
}

SmallVector<Value> factorsOf(Value value) {
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

// Of a product, and of products that are factors of it, the operands that are among `factors`,
// which are taken off these.
static void findFactors(arith::MulFOp product, SmallVectorImpl<Value> &factors, SameValues &same,
                        SmallVectorImpl<OpOperand *> &found) {
  auto map = cast<attn::MapOp>(product->getParentOp());
  for (OpOperand &operand : product->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand.get());
    auto isThis = [&](Value factor) {
      return argument && same(map.getOperand(argument.getArgNumber()), factor);
    };
    if (auto *factor = llvm::find_if(factors, isThis); factor != factors.end()) {
      factors.erase(factor);
      found.push_back(&operand);
    } else if (auto inner = operand.get().getDefiningOp<arith::MulFOp>();
               inner && inner->hasOneUse()) {
      findFactors(inner, factors, same, found);
    }
  }
}

// Where the one map that takes the sum multiplies it with `factors`; nothing if some are not there.
static std::optional<SmallVector<OpOperand *>> usesOf(ArrayRef<Value> factors, red::FoldOp sum,
                                                      SameValues &same) {
  auto map = sum->hasOneUse() ? dyn_cast<attn::MapOp>(*sum->user_begin()) : attn::MapOp();
  if (!map)
    return {};
  auto nest = sum->getParentOfType<red::NestOp>();
  for (Value other : map.getOperands())
    if (other != sum.getResult() && nest.dependsOnState(other))
      return {}; // another sum has factors of its own to lose
  // The last of the products and quotients that have the sum as a factor.
  Value value = map.getBodyBlock()->getArgument(sum->use_begin()->getOperandNumber());
  arith::MulFOp last;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    auto product = dyn_cast<arith::MulFOp>(user);
    if (!product && !(isa<arith::DivFOp>(user) && user->getOperand(0) == value))
      break;
    if (!product && last) // findFactors ends there
      break;
    last = product ? product : last;
    value = user->getResult(0);
  }
  auto left = llvm::to_vector(factors);
  SmallVector<OpOperand *> found;
  if (last)
    findFactors(last, left, same, found);
  return left.empty() ? std::optional(found) : std::nullopt;
}

bool takesFactors(red::FoldOp sum, ArrayRef<Value> factors, SameValues &same) {
  return usesOf(factors, sum, same).has_value();
}

// A product with 1 is its other factor.
void cloneWithout(OpBuilder &b, red::FoldOp sum, ArrayRef<Value> factors, SameValues &same,
                  IRMapping &mapping) {
  auto copy = cast<attn::MapOp>(b.clone(**sum->user_begin(), mapping));
  OpBuilder in = OpBuilder::atBlockBegin(copy.getBodyBlock());
  Value one = arith::ConstantOp::create(in, sum.getLoc(), in.getF32FloatAttr(1));
  SmallVector<OpOperand *> uses = *usesOf(factors, sum, same);
  for (OpOperand *use : uses)
    mapping.lookup(use->getOwner()->getResult(0))
        .getDefiningOp()
        ->setOperand(use->getOperandNumber(), one);
}

SmallVector<Operation *> sliceOf(red::NestOp nest, ArrayRef<Value> wanted) {
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
  nest.setInnerAttr(ArrayAttr::get(nest.getContext(), inner));
}

SmallVector<Value> rowSumsOf(red::NestOp nest) {
  SmallVector<Value> sums;
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  for (auto [value, result] : llvm::zip(yield.getValues(), nest.getResults()))
    if (auto fold = value.getDefiningOp<red::FoldOp>())
      if (llvm::any_of(fold.getDims(),
                       [&](Attribute dim) { return llvm::is_contained(nest.getRow(), dim); }))
        sums.push_back(result);
  return sums;
}

bool isOfWarpgroupsOnly(red::NestOp nest) {
  return nest->hasAttr(kSlabAttr) || !rowSumsOf(nest).empty();
}

Value readWhole(OpBuilder &b, Value memory, Value as) {
  auto dims = cast<attn::ArrayType>(memory.getType()).getDims();
  attn::ProgramOp program = attn::programOf(b.getInsertionBlock()->getParentOp());
  SmallVector<StringAttr> ordered = attn::canonicalDims(program, llvm::to_vector(dims));
  auto type = attn::ArrayType::get(b.getContext(), ordered, b.getF32Type());
  return attn::ReadOp::create(b, as.getLoc(), type, memory, ValueRange(),
                              b.getArrayAttr({dims.begin(), dims.end()}), FloatAttr());
}

} // namespace attnc::schedule
