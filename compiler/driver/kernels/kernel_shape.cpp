#include "compiler/driver/kernels/kernel_shape.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/slab/cells.h"
#include <nlohmann/json.hpp>

using namespace mlir;

namespace attnc::driver {

// What the copy engine of Hopper asks of tensor maps (tensor_map.h).
static constexpr std::int64_t kMapAlign = 16;

static ArgDecl argument(const schedule::KernelArg &arg) {
  switch (arg.kind) {
  case schedule::KernelArg::Kind::Pointer:
    return ArgDecl::pointer(schedule::tensorOf(arg.array).name);
  case schedule::KernelArg::Kind::Stride:
    return ArgDecl::stride(schedule::tensorOf(arg.array).name, arg.axis);
  case schedule::KernelArg::Kind::Size:
    return ArgDecl::size(arg.dim.getValue().str());
  case schedule::KernelArg::Kind::Param:
    return ArgDecl::param(arg.array.getDefiningOp<attn::ParamOp>().getName().str());
  case schedule::KernelArg::Kind::TensorMap:
    return ArgDecl::tensorMap(schedule::tensorOf(arg.array).name, {arg.box.begin(), arg.box.end()},
                              arg.swizzle);
  case schedule::KernelArg::Kind::Counter:
    return ArgDecl::counter();
  case schedule::KernelArg::Kind::Cells: {
    schedule::SlabCells cells = schedule::slabCells(arg.array.getDefiningOp<red::NestOp>());
    return ArgDecl::value(*gridExpr(arg.axis ? cells.end : cells.first), DType::I32);
  }
  }
  return {};
}

static std::vector<ArgDecl> argumentsOf(const schedule::KernelSignature &signature) {
  std::vector<ArgDecl> list;
  for (const schedule::KernelArg &arg : signature.args())
    list.push_back(argument(arg));
  return list;
}

std::vector<ArgDecl> kernelArguments(red::NestOp nest) {
  return argumentsOf(schedule::KernelSignature(nest));
}

static nlohmann::ordered_json toJson(Attribute attribute) {
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue().str();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (Attribute item : cast<ArrayAttr>(attribute))
    list.push_back(toJson(item));
  return list;
}

Result<Expr> gridExpr(Attribute extent) { return parseExpr(toJson(extent)); }

Result<KernelShape> shapeOf(red::NestOp nest, tile::KernelOp kernel) {
  Result<KernelShape> shape = shapeOf(schedule::KernelSignature(nest), kernel);
  if (shape && nest->hasAttr(schedule::kSlabAttr))
    shape->slabs = *gridExpr(schedule::slabCells(nest).slabs);
  return shape;
}

Result<KernelShape> shapeOf(const schedule::KernelSignature &signature, tile::KernelOp kernel) {
  KernelShape shape;
  shape.args = argumentsOf(signature);
  shape.name = kernel.getSymName().str();
  shape.threads = kernel.getThreads();
  shape.cluster = kernel.getCluster().value_or(1);
  shape.beside = kernel.getBeside();
  shape.sharedBytes = kernel.getSmem();
  for (auto [i, arg] : llvm::enumerate(shape.args))
    shape.align.push_back(arg.kind == ArgKind::TensorMap
                              ? kMapAlign
                              : schedule::requiredAlignment(kernel, static_cast<unsigned>(i)));
  for (auto [i, extent] : llvm::enumerate(kernel.getGrid())) {
    Result<Expr> e = gridExpr(extent);
    if (!e)
      return e.error();
    shape.grid[i] = *e;
  }
  return shape;
}

} // namespace attnc::driver
