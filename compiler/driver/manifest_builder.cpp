#include "compiler/driver/manifest_builder.h"
#include "compiler/schedule/signature.h"

using namespace mlir;

namespace attnc::driver {

DType dtypeOf(Type storage) {
  if (storage.isF16())
    return DType::F16;
  if (storage.isBF16())
    return DType::BF16;
  if (storage.isF32())
    return DType::F32;
  if (storage.isF64())
    return DType::F64;
  if (storage.isInteger(1) || storage.isUnsignedInteger(8))
    return DType::U8;
  if (storage.isInteger(8))
    return DType::I8;
  return storage.isInteger(32) ? DType::I32 : DType::I64;
}

static TensorDecl declare(const schedule::Tensor &tensor) {
  TensorDecl decl;
  decl.name = tensor.name;
  decl.dtype = dtypeOf(tensor.element);
  for (StringAttr dim : tensor.dims)
    decl.dims.push_back(dim.getValue().str());
  return decl;
}

// Bounds of tiles add indices to integer params; within this range nothing wraps.
static constexpr double kIntegerRange = 0x1p40;

static void limitInteger(ParamDecl &decl) {
  if (!decl.min || decl.min->value < -kIntegerRange)
    decl.min = Limit{-kIntegerRange, false};
  if (!decl.max || decl.max->value > kIntegerRange)
    decl.max = Limit{kIntegerRange, false};
}

static Result<ParamDecl> declare(attn::ParamOp param) {
  ParamDecl decl;
  decl.name = param.getName().str();
  decl.dtype = dtypeOf(param.getType().getElementType());
  if (param.getDefaultValue()) {
    Result<Expr> fallback = hostExpression(param.getDefaultValue());
    if (!fallback)
      return fallback.error();
    decl.fallback = *fallback;
  }
  if (param.getLower())
    decl.min = Limit{param.getLower()->convertToDouble(), param.getLowerOpen()};
  if (param.getUpper())
    decl.max = Limit{param.getUpper()->convertToDouble(), param.getUpperOpen()};
  if (decl.dtype == DType::I64)
    limitInteger(decl);
  return decl;
}

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
    return ArgDecl::tensorMap(schedule::tensorOf(arg.array).name, {arg.box.begin(), arg.box.end()});
  }
  return {};
}

static void addDims(attn::ProgramOp program, Manifest &manifest) {
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    DimDecl decl;
    decl.name = dim.getName().getValue().str();
    if (dim.isStatic())
      decl.extent = Expr::constant(dim.getExtent());
    manifest.dims.push_back(decl);
  }
}

static Status addFacts(attn::ProgramOp program, Manifest &manifest) {
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>()) {
    Result<ParamDecl> decl = declare(param);
    if (!decl)
      return decl.error();
    manifest.params.push_back(*decl);
  }
  for (auto require : program.getBodyBlock()->getOps<attn::RequireOp>()) {
    Result<Expr> condition = hostExpression(require.getCondition());
    if (!condition)
      return condition.error();
    manifest.requires_.push_back({*condition, require.getText().str()});
  }
  return {};
}

static void addTensors(attn::ProgramOp program, Manifest &manifest) {
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
    manifest.inputs.push_back(declare(schedule::tensorOf(input)));
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>())
    manifest.outputs.push_back(declare(schedule::tensorOf(output.getValue())));
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    for (Value result : nest.getResults()) {
      schedule::Tensor tensor = schedule::tensorOf(result);
      if (tensor.kind == schedule::Tensor::Kind::Intermediate)
        manifest.intermediates.push_back(declare(tensor));
    }
}

static void requireAlignment(Manifest &manifest, const std::string &name, std::int64_t align) {
  for (auto *group : {&manifest.inputs, &manifest.outputs, &manifest.intermediates})
    for (TensorDecl &tensor : *group)
      if (tensor.name == name)
        tensor.align = std::max(tensor.align, align);
}

std::vector<ArgDecl> kernelArguments(red::NestOp nest) {
  std::vector<ArgDecl> list;
  schedule::KernelSignature signature(nest);
  for (const schedule::KernelArg &arg : signature.args())
    list.push_back(argument(arg));
  return list;
}

static void addKernel(Manifest &manifest, const KernelShape &kernel) {
  KernelDecl decl;
  decl.name = decl.image = decl.symbol = kernel.name;
  decl.threads = kernel.threads;
  decl.cluster = kernel.cluster;
  decl.sharedBytes = Expr::constant(kernel.sharedBytes);
  manifest.kernels.push_back(decl);
  for (auto [i, arg] : llvm::enumerate(kernel.args))
    if (i < kernel.align.size() && kernel.align[i] > 1)
      requireAlignment(manifest, arg.name, kernel.align[i]);
}

// Without kernels for the unaligned, one variant serves all tensors.
static void addVariants(Manifest &manifest, ArrayRef<KernelShape> kernels) {
  auto launch = [](const KernelShape &kernel) {
    LaunchDecl decl;
    decl.kernel = kernel.name;
    decl.grid = kernel.grid;
    decl.args = kernel.args;
    return decl;
  };
  VariantDecl first, second;
  for (const KernelShape &kernel : kernels) {
    first.launches.push_back(launch(kernel));
    first.aligned.insert(kernel.fallbackFor.begin(), kernel.fallbackFor.end());
    second.launches.push_back(launch(kernel.fallback ? *kernel.fallback : kernel));
  }
  bool differ = !first.aligned.empty();
  manifest.variants.push_back(std::move(first));
  if (differ)
    manifest.variants.push_back(std::move(second));
}

Result<Manifest> buildManifest(attn::ProgramOp program, StringRef target,
                               ArrayRef<KernelShape> kernels) {
  Manifest manifest;
  manifest.name = program.getSymName().str();
  manifest.target = target.str();
  addDims(program, manifest);
  addTensors(program, manifest);
  if (Status status = addFacts(program, manifest); !status)
    return status.error();
  for (const KernelShape &kernel : kernels) {
    addKernel(manifest, kernel);
    if (kernel.fallback)
      addKernel(manifest, *kernel.fallback);
  }
  addVariants(manifest, kernels);
  if (Status status = checkManifest(manifest); !status)
    return status.error();
  return manifest;
}

} // namespace attnc::driver
