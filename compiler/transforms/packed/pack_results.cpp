#include "compiler/transforms/packed/pack_results.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "dialects/Attn/Subscripts.h"
#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace attnc {
namespace {

ArrayRef<StringAttr> dimsOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getDims();
}

red::YieldOp yieldOf(red::NestOp nest) {
  return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
}

// What the nest computes for a result.
Value computed(Value result) {
  auto nest = result.getDefiningOp<red::NestOp>();
  return nest ? yieldOf(nest).getValues()[cast<OpResult>(result).getResultNumber()] : Value();
}

/// Arrays of sequences: the first row of each, and how many it has.
struct Place {
  Value start, count;
};

// The place of the sequences that `rows` holds the numbers of: for each row the greatest b with
// 0 <= row - start[b] < count[b], or -1 (ProgramBuilder::sequenceOfRow).
std::optional<Place> placeIn(Value rows) {
  Value largest = computed(rows);
  auto fold = largest ? largest.getDefiningOp<red::FoldOp>() : red::FoldOp();
  auto map = fold && fold.getKind() == red::FoldKind::Max
                 ? fold.getFactors().front().getDefiningOp<attn::MapOp>()
                 : attn::MapOp();
  auto choice = map ? map.getYielded().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  auto both = choice ? choice.getCondition().getDefiningOp<arith::AndIOp>() : arith::AndIOp();
  APInt none;
  if (!both || !matchPattern(choice.getFalseValue(), m_ConstantInt(&none)) || !none.isAllOnes())
    return std::nullopt;
  auto array = [&](Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument ? map.getOperand(argument.getArgNumber()) : Value();
  };
  auto indexOf = [&](Value scalar) {
    Value of = array(scalar);
    auto index = of ? of.getDefiningOp<attn::IndexOp>() : attn::IndexOp();
    return index ? index.getDimAttr() : StringAttr();
  };
  auto from = both.getLhs().getDefiningOp<arith::CmpIOp>();
  auto to = both.getRhs().getDefiningOp<arith::CmpIOp>();
  auto own = from ? from.getLhs().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  if (!own || !to || to.getLhs() != own || from.getPredicate() != arith::CmpIPredicate::sge ||
      to.getPredicate() != arith::CmpIPredicate::slt || !matchPattern(from.getRhs(), m_Zero()))
    return std::nullopt;
  StringAttr over = indexOf(choice.getTrueValue());
  Place place{array(own.getRhs()), array(to.getRhs())};
  if (!over || indexOf(own.getLhs()) != dimsOf(rows).front() || !place.start || !place.count ||
      dimsOf(place.start) != ArrayRef(over) || dimsOf(place.count) != ArrayRef(over))
    return std::nullopt;
  return place;
}

class Packing {
public:
  explicit Packing(attn::ProgramOp program) : program(program) {}

  // Nests that nobody reads any more go.
  void run() {
    for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()))
      if (pack(nest))
        nest.erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*program.getBodyBlock())))
      if (isa<red::NestOp>(op) && op.use_empty())
        op.erase();
  }

private:
  // If `gather` makes an output of the rows that another nest has stored, its users get those that
  // the other one stores where they belong.
  bool pack(red::NestOp gather) {
    auto read = yieldOf(gather).getValues().front().getDefiningOp<attn::ReadOp>();
    auto dim = read ? read->getAttrOfType<StringAttr>(attn::kPackedAttr) : StringAttr();
    if (!dim || gather.getNumResults() != 1 || !gather->hasOneUse() ||
        !isa<attn::OutputOp>(*gather->user_begin()))
      return false;
    Value padded = read.getSource();
    auto source = padded.getDefiningOp<red::NestOp>();
    Value sequences = sequencesOf(read, dim);
    if (!source || !padded.hasOneUse() || !sequences || !canPlace(source, dim, sequences))
      return false;
    auto place = storedPlace(sequences, source, gather);
    if (!place)
      return false;
    OpBuilder b(gather);
    auto packed = red::PackOp::create(b, gather.getLoc(), gather.getResult(0).getType(), padded,
                                      place->start, place->count, dim);
    gather.getResult(0).replaceAllUsesWith(packed);
    restate(padded, "");
    for (Value array : {place->start, place->count})
      restate(array, "the nests that store rows of packed sequences");
    return true;
  }

  // Who needs what is stored, for explain; nobody does if `users` is empty.
  static void restate(Value stored, const std::string &users) {
    auto nest = stored.getDefiningOp<red::NestOp>();
    std::string name = specTextOf(computed(stored));
    std::vector<derivation::Step> steps;
    for (derivation::Step &step : derivation::stepsOf(nest)) {
      if (step.rule == derivation::Rule::Materialised && step.fold == name) {
        if (users.empty())
          continue;
        step.details["users"] = users;
      }
      steps.push_back(std::move(step));
    }
    nest->removeAttr(derivation::kAttr);
    derivation::record(nest, steps);
  }

  // What holds the number of the sequence of each row; null if other axes than those of sequences
  // and of the index in one are read elsewhere than at themselves.
  static Value sequencesOf(attn::ReadOp read, StringAttr dim) {
    Value sequences;
    for (auto [axis, stored] : llvm::enumerate(dimsOf(read.getSource()))) {
      Value at = read.subscriptValue(axis);
      if (!at || stored == dim) {
        if (bool(at) != (stored == dim) || (!at && read.subscriptDim(axis) != stored))
          return {};
        continue;
      }
      auto number = at.getDefiningOp<attn::ReadOp>();
      if (sequences || !number || !number.isPlain())
        return {};
      sequences = number.getSource();
    }
    return sequences;
  }

  // The kernels have a sequence and an index for each of their cells and rows.
  static bool canPlace(red::NestOp source, StringAttr dim, Value sequences) {
    auto place = placeIn(sequences);
    return place && llvm::is_contained(source.getGrid(), dimsOf(place->start).front()) &&
           (llvm::is_contained(source.getGrid(), dim) || llvm::is_contained(source.getRow(), dim));
  }

  // The place of the sequences as other nests have stored it before `source`, which moves to the
  // gather if it comes first.
  std::optional<Place> storedPlace(Value sequences, red::NestOp source, red::NestOp gather) {
    auto [known, isNew] = places.try_emplace(sequences);
    if (isNew)
      known->second = store(*placeIn(sequences), sequences.getDefiningOp());
    Place place = known->second;
    auto isBefore = [&](Value array) { return array.getDefiningOp()->isBeforeInBlock(source); };
    if (isBefore(place.start) && isBefore(place.count))
      return place;
    if (llvm::any_of(source->getUsers(), [&](Operation *user) {
          return program.getBodyBlock()->findAncestorOpInBlock(*user)->isBeforeInBlock(gather);
        }))
      return std::nullopt;
    source->moveBefore(gather);
    return place;
  }

  // Where the nest reads both from what others have stored, that is it.
  static Place store(Place place, Operation *before) {
    auto stored = [](Value array) {
      auto read = array.getDefiningOp<attn::ReadOp>();
      return read && read.isPlain() && read.getSource().getDefiningOp<red::NestOp>()
                 ? read.getSource()
                 : Value();
    };
    if (stored(place.start) && stored(place.count))
      return {stored(place.start), stored(place.count)};
    llvm::SetVector<Operation *> ops;
    collect(place.start, ops);
    collect(place.count, ops);
    red::NestOp nest = build(place, ops.takeVector(), before);
    return {nest.getResult(0), nest.getResult(1)};
  }

  static void collect(Value array, llvm::SetVector<Operation *> &ops) {
    Operation *op = array.getDefiningOp();
    if (!isa<red::NestOp>(op->getParentOp()))
      return;
    for (Value operand : op->getOperands())
      collect(operand, ops);
    ops.insert(op);
  }

  static red::NestOp build(Place place, ArrayRef<Operation *> ops, Operation *before) {
    OpBuilder b(before);
    SmallVector<StringAttr> inner;
    for (Operation *op : ops)
      if (auto fold = dyn_cast<red::FoldOp>(op))
        llvm::append_range(inner, attn::dimNames(fold.getDims()));
    auto nest =
        red::NestOp::create(b, place.start.getLoc(), {place.start.getType(), place.count.getType()},
                            dimsOf(place.start), {}, {}, inner);
    b.setInsertionPointToStart(nest.getBodyBlock());
    IRMapping mapping;
    for (Operation *op : ops)
      b.clone(*op, mapping);
    red::YieldOp::create(b, nest.getLoc(),
                         {mapping.lookup(place.start), mapping.lookup(place.count)});
    return nest;
  }

  attn::ProgramOp program;
  llvm::DenseMap<Value, Place> places; ///< by what holds the numbers of sequences
};

} // namespace

void packResults(attn::ProgramOp program) { Packing(program).run(); }

} // namespace attnc
