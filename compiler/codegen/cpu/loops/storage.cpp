#include "compiler/codegen/cpu/loops/storage.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attnc::cpu {

Type memoryType(Type storage) {
  if (storage.isBF16())
    return IntegerType::get(storage.getContext(), 16);
  if (storage.isInteger(1))
    return IntegerType::get(storage.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(storage))
    return IntegerType::get(storage.getContext(), integer.getWidth());
  return storage;
}

int64_t memoryBytes(Type storage) { return memoryType(storage).getIntOrFloatBitWidth() / 8; }

Storage::Storage(MLIRContext *context)
    : group(LLVM::AccessGroupAttr::get(context, DistinctAttr::create(UnitAttr::get(context)))),
      annotations(group) {}

static Value address(OpBuilder &b, Location loc, Type type, Value pointer, Value index) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{index}, LLVM::GEPNoWrapFlags::inbounds);
}

// bf16 is the upper half of an f32.
static Value fromBf16(OpBuilder &b, Location loc, Value bits) {
  Value wide = arith::ExtUIOp::create(b, loc, b.getI32Type(), bits);
  Value high = arith::ShLIOp::create(b, loc, wide, intConstant(b, loc, b.getI32Type(), 16));
  return arith::BitcastOp::create(b, loc, b.getF32Type(), high);
}

Value Storage::load(OpBuilder &b, Location loc, Type storage, Value pointer, Value index) const {
  Type memory = memoryType(storage);
  auto load = LLVM::LoadOp::create(b, loc, memory, address(b, loc, memory, pointer, index));
  load.setAccessGroupsAttr(b.getArrayAttr({group}));
  Value value = load.getResult();
  if (storage.isBF16())
    return fromBf16(b, loc, value);
  if (storage.isF16())
    return arith::ExtFOp::create(b, loc, b.getF32Type(), value);
  if (storage.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 intConstant(b, loc, memory, 0));
  if (!isa<IntegerType>(storage) || storage.isInteger(64))
    return value;
  if (storage.isUnsignedInteger())
    return arith::ExtUIOp::create(b, loc, b.getI64Type(), value);
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), value);
}

void Storage::store(OpBuilder &b, Location loc, Value value, Type storage, Value pointer,
                    Value index) const {
  Type memory = memoryType(storage);
  if (storage.isBF16())
    value = bf16Bits(b, loc, value);
  else if (storage.isF16())
    value = arith::TruncFOp::create(b, loc, storage, value);
  else if (storage.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, memory, value);
  else if (value.getType() != memory && isa<IntegerType>(storage))
    value = arith::TruncIOp::create(b, loc, memory, value);
  auto store = LLVM::StoreOp::create(b, loc, value, address(b, loc, memory, pointer, index));
  store.setAccessGroupsAttr(b.getArrayAttr({group}));
}

} // namespace attnc::cpu
