// After the stream of the rows form: threads finish the elements of the results.
#include "compiler/schedule/threads/rows_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::schedule {

// What each thread has of the states, into shared memory.
void RowsLowering::shareStates() {
  movePlainMoments(/*complete=*/true);
  for (auto [number, group] : llvm::enumerate(plan.groups)) {
    SmallVector<int64_t> shape;
    if (schedule.rows > 1)
      shape.push_back(schedule.rows);
    shape.push_back(group.elements);
    for (red::FoldOp state : group.states) {
      std::string name = (attn::specName(state.getLoc()) + "_all").str();
      completed[state] =
          array(attn::renamed(state.getLoc(), name), shape, state.getType().getElementType(), true);
    }
    eachTurn(number, [&](Value turn, Value item) {
      auto [own, element] = splitItem(group, item);
      eachRow(group, own, [&, element = element](Value row, Value number) {
        SmallVector<Value> at = elementIndex(turn, number);
        if (hasMoments(group.states)) {
          PointEvaluator inner = block;
          bindInner(inner, group.dims, element);
          PointEvaluator here = elementOf(group, inner, row, at);
          moveMoments(group.states, here, row, at, /*shared=*/false, /*complete=*/true);
        }
        for (red::FoldOp state : group.states) {
          SmallVector<Value> to;
          if (schedule.rows > 1)
            to.push_back(row);
          to.push_back(element);
          set(get(elements.lookup(state), at, state.getLoc()), completed.lookup(state), to,
              state.getLoc());
        }
      });
    });
  }
  barrier();
}

void RowsLowering::provideStates(PointEvaluator &evaluator, Value row) {
  for (auto [state, place] : states)
    evaluator.provide(state, [this, state, place, row](PointEvaluator &) {
      return get(place, rowIndex(row), state.getLoc());
    });
}

// A row of the block with all its states, inside the extent.
PointEvaluator RowsLowering::finished(Value row) {
  PointEvaluator evaluator = block;
  if (plan.row)
    evaluator.bind(plan.row, binary(rowName(), '+', row0, widen(row, "")));
  provideStates(evaluator, row);
  for (const RowsGroup &group : plan.groups)
    for (red::FoldOp state : group.states)
      evaluator.provide(state, [this, state, &group, row](PointEvaluator &at) mutable {
        Value element;
        for (StringAttr dim : group.dims) {
          Value index =
              b.createOrFold<arith::TruncIOp>(named(dim.getValue()), b.getI32Type(), at.index(dim));
          element = element
                        ? binary("", '+', binary("", '*', element, constant(extentOf(dim))), index)
                        : index;
        }
        SmallVector<Value> from;
        if (schedule.rows > 1)
          from.push_back(row);
        from.push_back(element);
        return get(completed.lookup(state), from, state.getLoc());
      });
  return evaluator;
}

void RowsLowering::storeResults() {
  for (unsigned number = 0; number < nest.getNumResults(); ++number)
    storeResult(number);
}

// Stored where cells that the result has not are 0.
void RowsLowering::storeResult(unsigned number) {
  Value result = nest.getResult(number);
  Value array = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()).getValues()[number];
  Location loc = array.getLoc();
  Tensor tensor = tensorOf(result);
  SmallVector<StringAttr> inner;
  int64_t count = 1;
  for (StringAttr dim : tensor.dims)
    if (!plan.isCell(dim)) {
      inner.push_back(dim);
      count *= extentOf(dim);
    }
  auto one = [&](Value n) {
    Value row = n, element = n;
    if (inner.empty())
      element = Value();
    else if (schedule.rows == 1)
      row = constant(0);
    else {
      row = binary("row", '/', n, constant(count));
      element = binary("element", '%', n, constant(count));
    }
    PointEvaluator evaluator = finished(row);
    Value inside;
    auto also = [&](Value condition) {
      inside = inside ? arith::AndIOp::create(b, loc, inside, condition).getResult() : condition;
    };
    if (schedule.rows > 1)
      also(less(evaluator.index(plan.row), rowExtent));
    for (StringAttr dim : plan.cells)
      if (!cast<attn::ArrayType>(result.getType()).hasDim(dim))
        also(
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, evaluator.index(dim), wide(0)));
    if (red::PackOp pack = packOf(result))
      also(evaluator.isStored(pack));
    auto store = [&] {
      bindInner(evaluator, inner, element);
      SmallVector<Value> subscripts;
      for (StringAttr dim : tensor.dims)
        subscripts.push_back(evaluator.storeIndex(result, dim));
      Value value = evaluator.evaluate(array);
      tile::StoreOp::create(b, loc, value, memory.pointer(result),
                            memory.offset(b, loc, result, subscripts));
    };
    if (inside)
      when(inside, store);
    else
      store();
  };
  share(constant(count * schedule.rows), "n", one);
}

} // namespace attnc::schedule
