#include "compiler/transforms/fusion/segment_sums.h"
#include "compiler/transforms/arrays/substitution.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/eliminate_common.h"
#include "compiler/transforms/fusion/fold_form.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"
#include "dialects/Red/Cancellation.h"
#include "dialects/Red/Red.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

// Products go over the whole axis for each tile of segments, which few leave empty.
constexpr int64_t kFewestSegments = 8, kMostSegments = 256;

attn::ArrayType arrayType(Value value) { return cast<attn::ArrayType>(value.getType()); }

/// For each index of `row` a sum of elements along `along`, an axis of a tensor: of those that some
/// conditions choose, or of a segment that `subscript` walks, from a start on, with `within`.
struct SegmentSum {
  ReadOp read;
  unsigned axis = 0;
  Value subscript; // null where there is none but the index along `along`
  StringAttr row, within, along;
  SmallVector<std::pair<MapOp, Value>> conditions; // scalars of maps: of elements that count
};

// False of what is read from a tensor, or folded.
bool isOfIndices(Value array) {
  llvm::SetVector<Value> reached;
  reached.insert(array);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (isa<ReadOp, FoldOp>(op))
      return false;
    if (isa<MapOp>(op))
      reached.insert_range(op->getOperands());
  }
  return true;
}

class SegmentSums {
public:
  explicit SegmentSums(ProgramOp program) : program(program) {}

  void run() {
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>()))
      if (std::optional<SegmentSum> sum = segmentSum(fold))
        replace(fold, *sum);
  }

private:
  std::optional<SegmentSum> segmentSum(FoldOp fold) {
    if (fold.getKind() != FoldKind::Add || fold.getExponent() || fold.getDims().size() != 1 ||
        fold.getFactors().size() != 1)
      return std::nullopt;
    SegmentSum sum;
    sum.within = dimNames(fold.getDims()).front();
    sum.read = chosenRead(fold.getFactors().front(), sum.conditions);
    if (sum.read && isDynamic(sum.within) && readsRows(sum.read) && findAxis(sum) && findRow(sum) &&
        arrayType(fold).hasDim(sum.row) && !arrayType(fold).hasDim(sum.along))
      return sum;
    return std::nullopt;
  }

  bool isDynamic(StringAttr dim) { return !program.lookupDim(dim).isStatic(); }

  // The read whose elements, or zeros, `array` has.
  static ReadOp chosenRead(Value array, SmallVectorImpl<std::pair<MapOp, Value>> &conditions) {
    while (auto map = array.getDefiningOp<MapOp>()) {
      Value scalar = map.getYielded();
      while (auto choice = scalar.getDefiningOp<arith::SelectOp>()) {
        if (!matchPattern(choice.getFalseValue(), m_AnyZeroFloat()))
          return {};
        conditions.push_back({map, choice.getCondition()});
        scalar = choice.getTrueValue();
      }
      auto argument = dyn_cast<BlockArgument>(scalar);
      if (!argument)
        return {};
      array = map.getOperand(argument.getArgNumber());
    }
    return array.getDefiningOp<ReadOp>();
  }

  // Of an input of 16 bits, whose rows lie along a last axis that is known.
  bool readsRows(ReadOp read) {
    auto input = read.getSource().getDefiningOp<InputOp>();
    auto texts = read->getAttrOfType<ArrayAttr>(kCheckedAttr);
    bool isChecked = texts && llvm::any_of(texts.getAsRange<StringAttr>(),
                                           [](StringAttr text) { return !text.empty(); });
    if (!input || isChecked || (read.getOtherwise() && !read.getOtherwise()->isZero()))
      return false;
    Type element = arrayType(input).getElementType();
    StringAttr last = read.subscriptDim(read.getSubscripts().size() - 1);
    return (element.isF16() || element.isBF16()) && last && !isDynamic(last);
  }

  // False if the elements are the same for all that is summed, or lie along several axes.
  bool findAxis(SegmentSum &sum) {
    if (sum.read.getIndices().size() > 1 || !arrayType(sum.read).hasDim(sum.within))
      return false;
    for (unsigned axis = 0; axis < sum.read.getSubscripts().size(); ++axis)
      if (Value subscript = sum.read.subscriptValue(axis)) {
        sum.subscript = subscript;
        sum.axis = axis;
      } else if (sum.read.subscriptDim(axis) == sum.within) {
        sum.axis = axis;
      }
    StringAttr axisDim = arrayType(sum.read.getSource()).getDims()[sum.axis];
    sum.along = sum.subscript ? axisDim : sum.within;
    return isDynamic(axisDim) && (!sum.subscript || slopeAlong(sum.subscript, sum.within) == 1);
  }

  // The one dim that elements do not have. Nothing but indices decides which elements count: a
  // condition of data may be there to leave out what is no number, which a product with 0 would
  // not.
  bool findRow(SegmentSum &sum) {
    llvm::SetVector<Value> deciding;
    for (auto [map, scalar] : sum.conditions)
      deciding.insert_range(arraysOf(map, scalar));
    if (sum.subscript)
      deciding.insert(sum.subscript);
    if (!llvm::all_of(deciding, isOfIndices))
      return false;
    StringAttr last = sum.read.subscriptDim(sum.read.getSubscripts().size() - 1);
    for (StringAttr dim : unionDims(program, deciding.getArrayRef())) {
      bool isPlain = llvm::is_contained(sum.read.getSubscripts(), Attribute(dim));
      // Elements of a row are all in or out, and an index walks one axis.
      if (dim == last || (isPlain && sum.subscript && dim == sum.within))
        return false;
      if (isPlain || dim == sum.within)
        continue;
      if (sum.row)
        return false;
      sum.row = dim;
    }
    if (!sum.row || isDynamic(sum.row))
      return false;
    int64_t rows = program.lookupDim(sum.row).getExtent();
    return rows >= kFewestSegments && rows <= kMostSegments;
  }

  void replace(FoldOp fold, const SegmentSum &sum) {
    ArrayBuilder arrays(program);
    arrays.builder().setInsertionPoint(fold);
    arrays.setLocation(renamed(fold.getLoc(), ""));
    OpBuilder &b = arrays.builder();
    SmallVector<Value> factors = {weightsOf(arrays, sum), readAlong(b, sum)};
    Value product = red::withCancellationOf(
        fold, FoldOp::create(b, fold.getLoc(), fold.getType(), FoldKind::Add,
                             b.getArrayAttr({sum.along}), factors, Value(), Value()));
    derivation::record(
        program, derivation::stepAt(derivation::Rule::Segments, fold.getLoc(), definitionOf(fold),
                                    {{"dims", sum.within.str()}, {"along", sum.along.str()}}));
    fold.getResult().replaceAllUsesWith(product);
    fold.erase();
  }

  // 1 where an element is of the row's segment and counts, else 0.
  Value weightsOf(ArrayBuilder &arrays, const SegmentSum &sum) {
    SmallVector<Value> conditions;
    for (auto [map, scalar] : sum.conditions)
      conditions.push_back(conditionArray(arrays, map, scalar));
    if (sum.subscript)
      conditions = conditionsOfSegment(arrays, sum, conditions);
    return arrays.map(conditions, arrays.builder().getF32Type(),
                      [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                        Value counts = x.front();
                        for (Value condition : x.drop_front())
                          counts = arith::AndIOp::create(b, counts, condition);
                        return arith::SelectOp::create(
                            b, counts, arith::ConstantOp::create(b, b.getF32FloatAttr(1)),
                            arith::ConstantOp::create(b, b.getF32FloatAttr(0)));
                      });
  }

  static Value conditionArray(ArrayBuilder &arrays, MapOp map, Value scalar) {
    auto argument = dyn_cast<BlockArgument>(scalar);
    return argument ? map.getOperand(argument.getArgNumber())
                    : subexpression(arrays.builder(), map, scalar).getResult();
  }

  // Begin and end of a segment are known for a row, and the index is only compared with them.
  static SmallVector<Value> conditionsOfSegment(ArrayBuilder &arrays, const SegmentSum &sum,
                                                ArrayRef<Value> given) {
    Type integer = arrays.builder().getI64Type();
    Value zero = arrays.map({}, integer, [](ImplicitLocOpBuilder &b, ValueRange) -> Value {
      return arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    });
    Value place = arrays.index(sum.along);
    Value start = substitute(arrays, sum.subscript, {{sum.within, zero}});
    Value within = arrays.map({place, start}, integer, [](ImplicitLocOpBuilder &b, ValueRange x) {
      return arith::SubIOp::create(b, x[0], x[1]).getResult();
    });
    SmallVector<Value> lengths = {start, arrays.size(sum.within)}, others;
    for (Value condition : given)
      if (Value bound = boundOf(condition, sum.within))
        lengths.push_back(bound);
      else
        others.push_back(substitute(arrays, condition, {{sum.within, within}}));
    Value end = arrays.map(lengths, integer, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
      Value length = x[1];
      for (Value other : x.drop_front(2))
        length = arith::MinSIOp::create(b, length, other);
      return arith::AddIOp::create(b, x[0], length);
    });
    SmallVector<Value> conditions = {compare(arrays, arith::CmpIPredicate::sge, place, start),
                                     compare(arrays, arith::CmpIPredicate::slt, place, end)};
    llvm::append_range(conditions, others);
    return conditions;
  }

  static Value compare(ArrayBuilder &arrays, arith::CmpIPredicate predicate, Value x, Value y) {
    return arrays.map({x, y}, arrays.builder().getI1Type(),
                      [&](ImplicitLocOpBuilder &b, ValueRange at) -> Value {
                        return arith::CmpIOp::create(b, predicate, at[0], at[1]);
                      });
  }

  // What a condition says the index along `dim` is below, if that is all that it says.
  static Value boundOf(Value condition, StringAttr dim) {
    auto map = condition.getDefiningOp<MapOp>();
    auto compare = map ? map.getYielded().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
      return {};
    auto operand = [&](Value scalar) {
      auto argument = dyn_cast<BlockArgument>(scalar);
      return argument ? map.getOperand(argument.getArgNumber()) : Value();
    };
    Value index = operand(compare.getLhs()), bound = operand(compare.getRhs());
    auto own = index ? index.getDefiningOp<IndexOp>() : IndexOp();
    return own && own.getDimAttr() == dim && bound && !arrayType(bound).hasDim(dim) ? bound
                                                                                    : Value();
  }

  Value readAlong(OpBuilder &b, const SegmentSum &sum) {
    ReadOp read = sum.read;
    SmallVector<Attribute> subscripts(read.getSubscripts().begin(), read.getSubscripts().end());
    subscripts[sum.axis] = sum.along;
    SmallVector<StringAttr> dims;
    for (Attribute dim : subscripts)
      dims.push_back(cast<StringAttr>(dim));
    auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, dims),
                                     arrayType(read).getElementType());
    return ReadOp::create(b, read.getLoc(), type, read.getSource(), ValueRange(),
                          b.getArrayAttr(subscripts), FloatAttr());
  }

  ProgramOp program;
};

} // namespace

void sumSegmentsAsProducts(ProgramOp program) {
  SegmentSums(program).run();
  eliminateCommon(program);
}

//===----------------------------------------------------------------------===//
// Rows of other names
//===----------------------------------------------------------------------===//

namespace {

class SharedRows {
public:
  explicit SharedRows(ProgramOp program) : program(program) {}

  void run() {
    for (FoldOp fold : llvm::to_vector(program.getBodyBlock()->getOps<FoldOp>()))
      if (StringAttr row = rowOfMask(fold))
        if (StringAttr other = rowOfOthers(fold, row))
          rename(fold, row, other);
  }

private:
  // The dim that the mask alone has, of a sum of what it leaves of a tensor.
  StringAttr rowOfMask(FoldOp fold) {
    if (fold.getKind() != FoldKind::Add || fold.getExponent() || fold.getFactors().size() != 2 ||
        fold.getDims().size() != 1)
      return {};
    Value mask = fold.getFactors()[0], elements = fold.getFactors()[1];
    if (!isMask(mask))
      std::swap(mask, elements);
    if (!isMask(mask) || !elements.getDefiningOp<ReadOp>())
      return {};
    StringAttr row;
    for (StringAttr dim : arrayType(mask).getDims())
      if (!arrayType(elements).hasDim(dim)) {
        if (row || !program.lookupDim(dim).isStatic())
          return {};
        row = dim;
      }
    return row;
  }

  static ReadOp elementsOf(FoldOp fold) {
    for (Value factor : fold.getFactors())
      if (auto read = factor.getDefiningOp<ReadOp>())
        return read;
    return {};
  }

  // A dim as long as `row`, the rows that folds along the same stream have, in what they compute
  // from the same elements; none if one has `row` itself.
  StringAttr rowOfOthers(FoldOp fold, StringAttr row) {
    StringAttr stream = dimNames(fold.getDims()).front(), found;
    llvm::SetVector<Value> reached;
    reached.insert(elementsOf(fold));
    for (size_t i = 0; i < reached.size(); ++i)
      for (Operation *user : reached[i].getUsers()) {
        if (!isa<MapOp, FoldOp>(user) || user == fold)
          continue;
        auto other = dyn_cast<FoldOp>(user);
        if (arrayType(user->getResult(0)).hasDim(stream))
          reached.insert(user->getResult(0));
        else if (other && other.getDims() == fold.getDims() && isParallel(fold, other))
          for (StringAttr dim : rowsOf(other)) {
            if (dim == row)
              return {};
            if (!found && isAsLong(dim, row) && !arrayType(fold).hasDim(dim))
              found = dim;
          }
      }
    return found;
  }

  bool isAsLong(StringAttr a, StringAttr b) {
    return program.lookupDim(a).getExtent() == program.lookupDim(b).getExtent();
  }

  // True if both are over the same dims that are known only at run time: they can share a pass.
  bool isParallel(FoldOp a, FoldOp b) {
    auto dynamic = [&](FoldOp fold) {
      return llvm::filter_to_vector(arrayType(fold).getDims(), [&](StringAttr dim) {
        return !program.lookupDim(dim).isStatic();
      });
    };
    return dynamic(a) == dynamic(b);
  }

  // The static dims of what a fold weighs elements with: scores, or a mask.
  SmallVector<StringAttr> rowsOf(FoldOp fold) {
    SmallVector<StringAttr> rows;
    auto add = [&](Value weights) {
      for (StringAttr dim : arrayType(weights).getDims())
        if (program.lookupDim(dim).isStatic() && arrayType(fold).hasDim(dim))
          rows.push_back(dim);
    };
    if (fold.getExponent())
      add(fold.getExponent());
    for (Value factor : fold.getFactors())
      if (isMask(factor) || fold.getKind() != FoldKind::Add)
        add(factor);
    return rows;
  }

  // Whoever takes the sum, scaled perhaps, reads it at the row that it has meant.
  void rename(FoldOp fold, StringAttr row, StringAttr other) {
    SmallVector<Operation *> ops = withScales(fold);
    Value sum = ops.back()->getResult(0);
    if (llvm::any_of(sum.getUsers(), [](Operation *user) { return isa<OutputOp>(user); }))
      return;
    ArrayBuilder arrays(program);
    OpBuilder &b = arrays.builder();
    b.setInsertionPointAfterValue(sum);
    Value renamed = inRows(arrays, ops, row, other);
    readAt(arrays, sum, renamed, [&](StringAttr dim) { return dim == other ? row : dim; });
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  // Whoever reads `from` reads `to`, whose dims have other names.
  static void readAt(ArrayBuilder &arrays, Value from, Value to,
                     function_ref<StringAttr(StringAttr)> nameBefore) {
    OpBuilder &b = arrays.builder();
    SmallVector<Attribute> dims;
    SmallVector<unsigned> axes; // of `from`
    for (StringAttr dim : arrayType(to).getDims()) {
      dims.push_back(nameBefore(dim));
      axes.push_back(llvm::find(arrayType(from).getDims(), dims.back()) -
                     arrayType(from).getDims().begin());
    }
    for (Operation *user : llvm::make_early_inc_range(from.getUsers())) {
      auto read = dyn_cast<ReadOp>(user);
      if (!read)
        continue;
      SmallVector<Attribute> subscripts;
      SmallVector<Value> indices;
      for (unsigned axis : axes) {
        subscripts.push_back(read.getSubscripts()[axis]);
        if (Value index = read.subscriptValue(axis))
          indices.push_back(index);
      }
      OpBuilder at(read);
      bool isSame = indices.empty() && read.getType() == to.getType() &&
                    llvm::equal(subscripts, arrayType(to).getDims());
      read.getResult().replaceAllUsesWith(
          isSame ? to
                 : ReadOp::create(at, read.getLoc(), read.getType(), to, indices,
                                  at.getArrayAttr(subscripts), read.getOtherwiseAttr())
                       .getResult());
      read.erase();
    }
    if (!from.use_empty())
      from.replaceAllUsesWith(ReadOp::create(b, from.getLoc(), from.getType(), to, ValueRange(),
                                             b.getArrayAttr(dims), FloatAttr()));
  }

  // A copy of `ops` whose last one has `other` in the place of `row`.
  Value inRows(ArrayBuilder &arrays, ArrayRef<Operation *> ops, StringAttr row, StringAttr other) {
    Substitution at = {{row, arrays.index(other)}};
    IRMapping mapping;
    Value result;
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (!mapping.contains(operand))
          mapping.map(operand, substitute(arrays, operand, at));
      result = arrays.builder().clone(*op, mapping)->getResult(0);
      SmallVector<StringAttr> dims;
      for (StringAttr dim : arrayType(result).getDims())
        dims.push_back(dim == row ? other : dim);
      result.setType(attn::ArrayType::get(program.getContext(), canonicalDims(program, dims),
                                          arrayType(result).getElementType()));
    }
    return result;
  }

  // The fold, and the maps that follow it one by one and take nothing else that is data.
  static SmallVector<Operation *> withScales(FoldOp fold) {
    SmallVector<Operation *> ops = {fold};
    while (ops.back()->hasOneUse()) {
      Value value = ops.back()->getResult(0);
      auto map = dyn_cast<MapOp>(*value.getUsers().begin());
      if (!map || map.getType() != value.getType() ||
          !llvm::all_of(map.getOperands(), [&](Value x) { return x == value || isOfIndices(x); }))
        break;
      ops.push_back(map);
    }
    return ops;
  }

  ProgramOp program;
};

} // namespace

void shareRowsOfMasks(ProgramOp program) { SharedRows(program).run(); }

} // namespace attnc
