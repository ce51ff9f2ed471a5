#include "compiler/schedule/stream/stream_lowering.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attnc::schedule {

Value StreamLowering::product(PointEvaluator &evaluator, Location loc, ArrayRef<Value> factors) {
  Value product;
  for (Value factor : factors) {
    Value element = evaluator.evaluate(factor);
    product = product ? arith::MulFOp::create(b, loc, product, element).getResult() : element;
  }
  return product;
}

// Rows beyond the extent are those of the last one; along the stream they are zero, since weights
// of zero do not hide what is not finite.
void StreamLowering::tabulate(const OperandTile &operand, StringAttr along, Value first, Value into,
                              Value columnBegin) {
  Location loc = operand.source->getLoc();
  auto op = tile::TabulateOp::create(b, loc, into, first);
  Block &block = op.getBody().emplaceBlock();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  Value row = block.addArgument(b.getI32Type(), named(along.getValue()));
  Value column = block.addArgument(b.getI32Type(), named(operand.inner.getValue()));
  Value end = extent32(along);
  Value last = arith::SubIOp::create(b, loc, end, constant(1));
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, end);
  PointEvaluator evaluator = uniform;
  evaluator.bind(along, widen(arith::MinSIOp::create(b, loc, row, last), ""));
  Value exists;
  if (columnBegin) {
    column = arith::AddIOp::create(b, loc, column, columnBegin);
    Value extent = constant(operand.wholeCols());
    exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, column, extent);
    column = arith::MinSIOp::create(b, loc, column, constant(operand.wholeCols() - 1));
  }
  evaluator.bind(operand.inner, widen(column, ""));
  Value element = product(evaluator, loc, operand.factors);
  if (exists)
    element = arith::SelectOp::create(b, loc, exists, element, real(0));
  if (along == plan.stream)
    element = arith::SelectOp::create(b, loc, inside, element, real(0));
  tile::YieldOp::create(b, loc, element);
}

// Where each row of a tile begins, and whether there is such a row: each is where its subscripts
// say that it lies. Those beyond the extent are asked of the last one, so that no row waits for a
// branch before it loads what names its place; where there is none, nothing is loaded.
void StreamLowering::describeRows(Region &rows, attn::ReadOp read, StringAttr along,
                                  Value tensorMap) {
  Location loc = read.getLoc();
  OpBuilder::InsertionGuard guard(b);
  Block &body = rows.emplaceBlock();
  b.setInsertionPointToStart(&body);
  Value row = body.addArgument(b.getI32Type(), named(along.getValue()));
  Value end = extent32(along);
  Value last = arith::SubIOp::create(b, loc, end, constant(1));
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, end);
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, last, constant(0));
  Value zero = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(0));
  size_t lastAxis = tensorOf(read.getSource()).dims.size() - 1;
  SmallVector<Type> types = {b.getI64Type(), b.getI1Type()};
  if (tensorMap)
    types.append(lastAxis, b.getI32Type());
  auto known = scf::IfOp::create(b, loc, types, some, true);
  {
    OpBuilder::InsertionGuard inBranch(b);
    b.setInsertionPointToStart(known.thenBlock());
    PointEvaluator evaluator = uniform;
    evaluator.bind(along, widen(arith::MinSIOp::create(b, loc, row, last), ""));
    evaluator.bind(read.subscriptDim(lastAxis), zero);
    auto [offset, subscripts, inside] = evaluator.locate(read);
    Value isThere = inside ? arith::AndIOp::create(b, loc, exists, inside).getResult() : exists;
    SmallVector<Value> found = {offset, isThere};
    for (size_t axis = tensorMap ? lastAxis : 0; axis-- > 0;)
      found.push_back(narrow(subscripts[axis], ""));
    scf::YieldOp::create(b, loc, found);
    b.setInsertionPointToStart(known.elseBlock());
    SmallVector<Value> none = {zero, exists};
    while (none.size() < found.size())
      none.push_back(constant(0));
    scf::YieldOp::create(b, loc, none);
  }
  SmallVector<Value> results = known.getResults();
  if (tensorMap)
    results.insert(results.begin() + 2, tensorMap);
  tile::YieldOp::create(b, loc, results);
}

// So many terms of the elements of a thread may follow each other without a loop around them.
static constexpr int64_t kTermsTogether = 512;

// The innermost turns are written out: what they read is then under way together.
static void unrollTurns(red::FoldOp fold, ArrayRef<scf::ForOp> loops, int64_t elements) {
  int64_t left = kTermsTogether / elements;
  SmallVector<StringAttr> dims = attn::dimNames(fold.getDims());
  for (size_t i = dims.size(); i-- > 0;) {
    attn::DimAttr declared = attn::programOf(fold).lookupDim(dims[i]);
    bool isWhole = declared.isStatic() && declared.getExtent() <= left;
    if (scf::ForOp loop = loops[i]; left > 1)
      loop->setAttr(tile::kUnrollAttr,
                    Builder(fold.getContext()).getI64IntegerAttr(isWhole ? 0 : left));
    left = isWhole ? left / declared.getExtent() : 1;
  }
}

Value StreamLowering::foldDirectly(red::FoldOp fold) {
  Location loc = fold.getLoc();
  Value fragment = contractionPlace(fold, identityOf(fold.getKind()));
  SmallVector<std::pair<StringAttr, Value>> inner;
  SmallVector<scf::ForOp> loops;
  OpBuilder::InsertionGuard guard(b);
  for (StringAttr dim : fold.getDims().getAsRange<StringAttr>()) {
    Value extent = narrow(memory.extent(b, loc, dim), (dim.getValue() + "_end").str());
    auto loop = scf::ForOp::create(b, loc, constant(0), extent, constant(1));
    loop.getInductionVar().setLoc(named(dim.getValue()));
    b.setInsertionPointToStart(loop.getBody());
    inner.push_back({dim, widen(loop.getInductionVar(), "")});
    loops.push_back(loop);
  }
  unrollTurns(fold, loops, scoreType().getRows() * scoreType().getCols() / 32);
  SmallVector<Value> factors(fold.getFactors());
  SmallVector<Input> ins;
  for (Value factor : factors)
    for (const Input &input : tileInputs(factor))
      if (llvm::none_of(ins, [&](const Input &known) { return known.place == input.place; }))
        ins.push_back(input);
  unsigned sum = ins.size();
  ins.push_back({fragment, {}});
  map(loc, {plan.stream, column0, /*partial=*/true}, factors, ins, fragment,
      [&](PointEvaluator &evaluator, ValueRange x) -> SmallVector<Value> {
        for (auto [dim, index] : inner)
          evaluator.bind(dim, index);
        // As the other forms add it up: nests that compute the same scores get the same bits.
        return {evaluator.takeIn(fold, x[sum], {}, loc)};
      });
  return fragment;
}

} // namespace attnc::schedule
