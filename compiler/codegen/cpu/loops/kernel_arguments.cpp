#include "compiler/codegen/cpu/loops/kernel_arguments.h"
#include "compiler/codegen/cpu/loops/scalar_ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace attnc::cpu {

static Type argumentType(MLIRContext *context, const schedule::KernelArg &arg) {
  switch (arg.kind) {
  case schedule::KernelArg::Kind::Pointer:
    return LLVM::LLVMPointerType::get(context);
  case schedule::KernelArg::Kind::Param:
    return cast<attn::ArrayType>(arg.array.getType()).getElementType();
  case schedule::KernelArg::Kind::Stride:
  case schedule::KernelArg::Kind::Size:
    return IntegerType::get(context, 64);
  case schedule::KernelArg::Kind::TensorMap:
  case schedule::KernelArg::Kind::Cells:
  case schedule::KernelArg::Kind::Counter:
    break; // schedules for the cpu have no copies of boxes, no slabs and no row tiles to draw
  }
  llvm_unreachable("a kind of argument of this target");
}

KernelArguments::KernelArguments(OpBuilder &b, red::NestOp nest, Value words)
    : nest(nest), signature(nest) {
  Location loc = nest.getLoc();
  for (auto [i, arg] : llvm::enumerate(signature.args())) {
    Value word = LLVM::GEPOp::create(b, loc, words.getType(), b.getI64Type(), words,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)},
                                     LLVM::GEPNoWrapFlags::inbounds);
    values.push_back(LLVM::LoadOp::create(b, loc, argumentType(b.getContext(), arg), word));
  }
}

Value KernelArguments::stride(Value array, unsigned axis) const {
  return values[signature.stride(array, axis)];
}

Value KernelArguments::size(OpBuilder &b, StringAttr dim) const {
  attn::DimAttr attr = attn::programOf(nest).lookupDim(dim);
  if (attr.isStatic())
    return index64(b, nest->getLoc(), attr.getExtent());
  return values[signature.size(dim)];
}

} // namespace attnc::cpu
