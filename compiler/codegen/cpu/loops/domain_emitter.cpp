#include "compiler/codegen/cpu/loops/domain_emitter.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::cpu {

// Loops over the box within the array's extents, one for each axis.
static Value emitExtreme(TileScope &scope, red::ExtremeOp extreme, IRMapping &mapping) {
  OpBuilder &b = scope.builder;
  Location loc = extreme.getLoc();
  Value array = extreme.getArray();
  schedule::Tensor tensor = schedule::tensorOf(array);
  auto dims = cast<attn::ArrayType>(array.getType()).getDims();
  OpBuilder::InsertionGuard guard(b);
  SmallVector<scf::ForOp> loops;
  Value running = schedule::emptyExtreme(b, loc, extreme.getKind());
  Value offset = index64(b, loc, 0), one = index64(b, loc, 1);
  for (auto [axis, dim] : llvm::enumerate(tensor.dims)) {
    unsigned place = llvm::find(dims, dim) - dims.begin();
    Value end = arith::AddIOp::create(b, loc, mapping.lookup(extreme.getLast()[place]), one);
    Value lo = arith::MaxSIOp::create(b, loc, mapping.lookup(extreme.getFirst()[place]),
                                      index64(b, loc, 0));
    Value hi = arith::MinSIOp::create(b, loc, end, scope.args.size(b, dim));
    auto loop = scf::ForOp::create(b, loc, lo, hi, one, running);
    loops.push_back(loop);
    b.setInsertionPointToStart(loop.getBody());
    running = loop.getRegionIterArg(0);
    Value term = loop.getInductionVar();
    if (axis + 1 < tensor.dims.size())
      term = arith::MulIOp::create(b, loc, term, scope.args.stride(array, axis));
    offset = arith::AddIOp::create(b, loc, offset, term);
  }
  Value element = scope.storage.load(b, loc, tensor.element, scope.args.pointer(array), offset);
  running = schedule::furtherExtreme(b, loc, extreme.getKind(), running, element);
  for (scf::ForOp loop : llvm::reverse(loops)) {
    scf::YieldOp::create(b, loc, running);
    b.setInsertionPointAfter(loop);
    running = loop.getResult(0);
  }
  return running;
}

SmallVector<Value> emitDomain(TileScope &scope, ValueRange stream, ValueRange wanted) {
  OpBuilder &b = scope.builder;
  Location loc = scope.plan.nest->getLoc();
  IRMapping mapping;
  auto argument = red::NestOp(scope.plan.nest).getDomainBlock()->args_begin();
  for (StringAttr dim : scope.plan.grid)
    mapping.map(*argument++, scope.ranges.find(dim)->second.origin);
  for (StringAttr dim : scope.plan.row) {
    Range range = scope.ranges.find(dim)->second;
    Value end = arith::AddIOp::create(b, loc, range.origin, range.count);
    mapping.map(*argument++, range.origin);
    mapping.map(*argument++, arith::SubIOp::create(b, loc, end, index64(b, loc, 1)));
  }
  for (Value index : stream)
    mapping.map(*argument++, index);
  LoopNest scalars(scope);
  for (Operation *op : schedule::domainSlice(scope.plan.nest, wanted)) {
    if (auto scalar = dyn_cast<red::ScalarOp>(op))
      mapping.map(scalar.getResult(), scalars.evaluate(scalar.getArray()));
    else if (auto extreme = dyn_cast<red::ExtremeOp>(op))
      mapping.map(extreme.getResult(), emitExtreme(scope, extreme, mapping));
    else if (!isa<attn::ArrayType>(op->getResult(0).getType())) // arrays: where they are used
      emitScalarOp(b, *op, mapping);
  }
  SmallVector<Value> values;
  for (Value value : wanted)
    values.push_back(mapping.lookup(value));
  return values;
}

} // namespace attnc::cpu
