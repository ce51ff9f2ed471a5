#include "compiler/schedule/encode/thread_code.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

ThreadCode::ThreadCode(red::NestOp nest, const KernelMemory &memory, OpBuilder &builder,
                       int64_t threads)
    : nest(nest), memory(memory), b(builder), loc(nest.getLoc()), threads(threads) {
  Value thread = tile::ThreadOp::create(b, named("thread"));
  lane = arith::RemSIOp::create(b, named("lane"), thread, constant(kLanes));
  warp = arith::DivSIOp::create(b, named("warp"), thread, constant(kLanes));
}

int64_t ThreadCode::warps() const { return threads / kLanes; }

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

Value ThreadCode::loop(StringRef name, Value from, Value to, int64_t step, Value init,
                       int64_t unroll, llvm::function_ref<Value(Value index, Value carried)> body) {
  auto loop = scf::ForOp::create(b, named(name), from, to, constant(step),
                                 init ? ValueRange(init) : ValueRange());
  loop.getInductionVar().setLoc(named(name));
  loop->setAttr(tile::kUnrollAttr, b.getI64IntegerAttr(unroll));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), init ? loop.getRegionIterArg(0) : Value());
  if (!init)
    return {};
  scf::YieldOp::create(b, loc, next);
  return loop.getResult(0);
}

Value ThreadCode::loop(StringRef name, int64_t count, Value init,
                       llvm::function_ref<Value(Value index, Value carried)> body) {
  return loop(name, constant(0), constant(count), 1, init, /*unroll=*/0, body);
}

Value ThreadCode::when(Value condition, Value otherwise, llvm::function_ref<Value()> body) {
  auto branch = scf::IfOp::create(b, loc, otherwise ? TypeRange(otherwise.getType()) : TypeRange(),
                                  condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value result = body();
  if (!otherwise)
    return {};
  scf::YieldOp::create(b, loc, result);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  return branch.getResult(0);
}

void ThreadCode::when(Value condition, llvm::function_ref<void()> body) {
  when(condition, Value(), [&] {
    body();
    return Value();
  });
}

Value ThreadCode::eachColumn(int64_t cols, Value init,
                             llvm::function_ref<Value(Value, Value, Value)> body) {
  return loop("part", partsOf(cols), init, [&](Value part, Value carried) {
    Value column = add(mul(part, constant(kLanes)), lane, "column");
    if (cols % kLanes == 0)
      return body(part, column, carried);
    return when(less(column, constant(cols)), carried, [&] { return body(part, column, carried); });
  });
}

//===----------------------------------------------------------------------===//
// Which block does what
//===----------------------------------------------------------------------===//

int64_t ThreadCode::columnsOf(Value tensor) {
  return attn::programOf(nest).lookupDim(tensorOf(tensor).dims.back()).getExtent();
}

Value ThreadCode::cellsOf(Value tensor, unsigned axis, Value count) {
  for (auto [i, dim] : llvm::enumerate(ArrayRef(tensorOf(tensor).dims).drop_back()))
    if (i != axis)
      count = mul(count, memory.extent(b, loc, dim));
  return count;
}

SmallVector<Value> ThreadCode::indicesOf(Value tensor, unsigned axis, Value count, Value work) {
  SmallVector<StringAttr> dims = tensorOf(tensor).dims;
  SmallVector<Value> indices(dims.size() - 1);
  Value rest = work;
  for (size_t i = indices.size(); i-- > 0;) {
    Value extent = i == axis ? count : memory.extent(b, loc, dims[i]);
    indices[i] = arith::RemSIOp::create(b, named(dims[i].getValue()), rest, extent);
    rest = arith::DivSIOp::create(b, loc, rest, extent);
  }
  return indices;
}

void ThreadCode::shareBlocks(size_t tensors, llvm::function_ref<Value(size_t)> count,
                             llvm::function_ref<void(size_t, Value)> body) {
  Value work = widen(tile::BlockOp::create(b, named("block")), "work");
  for (size_t i = 0; i < tensors; ++i) {
    Value own = count(i);
    auto branch = scf::IfOp::create(b, loc, less(work, own), /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    body(i, work);
    b.setInsertionPointToStart(branch.elseBlock());
    work = arith::SubIOp::create(b, named("work"), work, own);
  }
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

void ThreadCode::raise(Value number, Value condition) {
  when(condition, [&] { tile::StoreOp::create(b, loc, wide(1), memory.pointer(number), wide(0)); });
}

Value ThreadCode::isFinite(Value x) {
  Value magnitude = math::AbsFOp::create(b, loc, x);
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude,
                               real(std::numeric_limits<float>::infinity()));
}

Value ThreadCode::largerFinite(Value x, Value largest) {
  Value magnitude = math::AbsFOp::create(b, loc, x);
  Value isLarger = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, magnitude, largest);
  Value takes = arith::AndIOp::create(b, loc, isLarger, isFinite(x));
  return arith::SelectOp::create(b, named("largest"), takes, magnitude, largest);
}

Value ThreadCode::constant(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}
Value ThreadCode::wide(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}
Value ThreadCode::real(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}
Value ThreadCode::widen(Value index, StringRef name) {
  return arith::ExtSIOp::create(b, named(name), b.getI64Type(), index);
}
Value ThreadCode::less(Value x, Value y) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
}
Value ThreadCode::add(Value x, Value y, StringRef name) {
  return b.createOrFold<arith::AddIOp>(named(name), x, y);
}
Value ThreadCode::mul(Value x, Value y, StringRef name) {
  return b.createOrFold<arith::MulIOp>(named(name), x, y);
}

Value ThreadCode::ceilDiv(Value x, Value y) {
  Value up = add(x, arith::SubIOp::create(b, loc, y, wide(1)));
  return arith::DivSIOp::create(b, loc, up, y);
}

Value ThreadCode::array(ArrayRef<int64_t> shape, StringRef name, bool shared) {
  auto type = tile::ArrayType::get(b.getContext(), shape, b.getF32Type());
  return tile::ArrayOp::create(b, named(name), type, shared ? b.getUnitAttr() : UnitAttr());
}

Value ThreadCode::get(Value array, ValueRange at) {
  return tile::GetOp::create(b, loc, b.getF32Type(), array, at);
}

} // namespace attnc::schedule
