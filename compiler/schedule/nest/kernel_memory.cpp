#include "compiler/schedule/nest/kernel_memory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {

Type argumentType(const KernelArg &arg, MLIRContext *context) {
  switch (arg.kind) {
  case KernelArg::Kind::Pointer:
    return tile::PtrType::get(context, tensorOf(arg.array).element);
  case KernelArg::Kind::Param:
    return attn::computeType(cast<attn::ArrayType>(arg.array.getType()).getElementType());
  case KernelArg::Kind::Stride:
  case KernelArg::Kind::Size:
    return IntegerType::get(context, 64);
  case KernelArg::Kind::TensorMap:
    return tile::TensorMapType::get(context, arg.box, tensorOf(arg.array).element);
  case KernelArg::Kind::Cells:
    return IntegerType::get(context, 32);
  case KernelArg::Kind::Counter:
    return tile::PtrType::get(context, IntegerType::get(context, 32));
  }
  llvm_unreachable("all kinds are handled");
}

SmallVector<std::pair<std::string, Type>> argumentTypes(const KernelSignature &signature,
                                                        MLIRContext *context) {
  SmallVector<std::pair<std::string, Type>> types;
  for (const KernelArg &arg : signature.args())
    types.push_back({arg.name, argumentType(arg, context)});
  return types;
}

KernelMemory::KernelMemory(red::NestOp nest, const KernelSignature &signature,
                           tile::KernelOp kernel)
    : nest(nest), signature(signature), args(kernel.getBodyBlock()) {}

Value KernelMemory::pointer(Value array) const {
  return args->getArgument(signature.pointer(array));
}

Value KernelMemory::stride(Value array, unsigned axis) const {
  return args->getArgument(signature.stride(array, axis));
}

Value KernelMemory::param(Value array) const { return args->getArgument(signature.param(array)); }

Value KernelMemory::tensorMap(attn::ReadOp read, Half half) const {
  return args->getArgument(signature.tensorMap(read, half));
}

Value KernelMemory::tensorMap(Value result) const {
  return args->getArgument(signature.tensorMap(result));
}

Value KernelMemory::cells(bool isEnd) const { return args->getArgument(signature.cells(isEnd)); }
Value KernelMemory::counter() const { return args->getArgument(signature.counter()); }

Value KernelMemory::extent(OpBuilder &builder, Location loc, StringAttr dim) const {
  attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
  if (declared.isStatic())
    return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(declared.getExtent()));
  return args->getArgument(signature.size(dim));
}

Value KernelMemory::offset(OpBuilder &builder, Location loc, Value array,
                           ValueRange indices) const {
  Value sum;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    if (!index)
      continue;
    Value term = index;
    if (axis + 1 < indices.size())
      term = arith::MulIOp::create(builder, loc, index, stride(array, axis));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, term).getResult() : term;
  }
  return sum ? sum : arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
}

Value KernelMemory::element(OpBuilder &builder, Location loc, Value array, Value index) const {
  return tile::LoadOp::create(builder, loc, attn::computeType(tensorOf(array).element),
                              pointer(array), index);
}

Attribute gridExtent(red::NestOp nest, StringAttr dim) {
  Builder builder(nest.getContext());
  attn::DimAttr declared = attn::programOf(nest).lookupDim(dim);
  if (declared.isStatic())
    return builder.getI64IntegerAttr(declared.getExtent());
  return builder.getArrayAttr({builder.getStringAttr("size"), dim});
}

Attribute gridApply(StringRef op, Attribute lhs, Attribute rhs) {
  Builder builder(lhs.getContext());
  auto x = dyn_cast<IntegerAttr>(lhs), y = dyn_cast<IntegerAttr>(rhs);
  if (x && y)
    return builder.getI64IntegerAttr(op == "mul"   ? x.getInt() * y.getInt()
                                     : op == "add" ? x.getInt() + y.getInt()
                                     : op == "min" ? std::min(x.getInt(), y.getInt())
                                     : op == "max" ? std::max(x.getInt(), y.getInt())
                                                   : llvm::divideCeil(x.getInt(), y.getInt()));
  if (op == "mul" && x && x.getInt() == 1)
    return rhs;
  if (op == "add" && x && x.getInt() == 0)
    return rhs;
  if ((op == "mul" || op == "ceildiv") && y && y.getInt() == 1)
    return lhs;
  return builder.getArrayAttr({builder.getStringAttr(op), lhs, rhs});
}

} // namespace attnc::schedule
