#include "compiler/driver/kernels/aligned_copies.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/driver/kernels/manifest_builder.h"
#include "compiler/driver/pipeline.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/nest/symbol_name.h"
#include "compiler/schedule/passes.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/ElementTypes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attnc::driver {
namespace {

using schedule::Tensor;

/// Inputs, then outputs.
std::vector<Tensor> boundTensors(attn::ProgramOp program) {
  std::vector<Tensor> tensors;
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
    tensors.push_back(schedule::tensorOf(input));
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>())
    tensors.push_back(schedule::tensorOf(output.getValue()));
  return tensors;
}

/// `name`, numbered if that is taken.
std::string unique(llvm::StringSet<> &taken, const std::string &name) {
  std::string result = name;
  for (unsigned i = 2; !taken.insert(result).second; ++i)
    result = name + "_" + std::to_string(i);
  return result;
}

/// A program of one nest that stores `tensor` of `program`, an input called `from`, as the output
/// `to`. Its dims are in storage order, so that neighbouring threads copy neighbouring elements.
red::NestOp buildCopy(OpBuilder &builder, attn::ProgramOp program, const Tensor &tensor,
                      const std::string &from, const std::string &to) {
  SmallVector<attn::DimAttr> dims;
  std::string place;
  for (StringAttr dim : tensor.dims) {
    dims.push_back(program.lookupDim(dim));
    place += (place.empty() ? "" : ", ") + dim.getValue().str();
  }
  Location loc = attn::specLocation(builder.getContext(), "align", 1, 1,
                                    to + "[" + place + "] = " + from + "[" + place + "]", to);
  auto copy = attn::ProgramOp::create(builder, loc, to, dims);
  OpBuilder b = OpBuilder::atBlockEnd(copy.getBodyBlock());
  Value source = attn::InputOp::create(
      b, attn::renamed(loc, from),
      attn::ArrayType::get(b.getContext(), tensor.dims, tensor.element), from);
  Type computed =
      attn::ArrayType::get(b.getContext(), tensor.dims, attn::computeType(tensor.element));
  auto nest = red::NestOp::create(b, loc, TypeRange(computed), tensor.dims, ArrayRef<StringAttr>(),
                                  ArrayRef<StringAttr>(), ArrayRef<StringAttr>());
  SmallVector<Attribute> names(tensor.dims.begin(), tensor.dims.end());
  ArrayAttr subscripts = b.getArrayAttr(names);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(nest.getBodyBlock());
    Value value = attn::ReadOp::create(b, attn::renamed(loc, from), computed, source, ValueRange(),
                                       subscripts, FloatAttr());
    red::YieldOp::create(b, loc, value);
  }
  attn::OutputOp::create(b, loc, to, nest.getResult(0), subscripts, tensor.element);
  return nest;
}

/// Makes the kernel of one tensor; its CUDA source is appended to `source`.
Status addKernel(attn::ProgramOp program, const Tensor &tensor, const std::string &name,
                 AlignedCopy &copy, std::string &source) {
  auto bug = [&] {
    return internalError("the kernel that copies " + tensor.name + " cannot be made",
                         "report this with the spec");
  };
  OwningOpRef<ModuleOp> module = ModuleOp::create(program.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  red::NestOp nest = copy.isOutput ? buildCopy(builder, program, tensor, copy.standIn, copy.tensor)
                                   : buildCopy(builder, program, tensor, copy.tensor, copy.standIn);
  if (failed(verify(*module)))
    return bug();
  FailureOr<tile::KernelOp> kernel = schedule::lowerNest(nest, builder);
  if (failed(kernel))
    return bug();
  kernel->setSymName(name);
  if (failed(verify(*kernel)))
    return bug();
  Result<KernelShape> shape = shapeOf(nest, *kernel);
  if (!shape)
    return shape.error();
  copy.kernel = *std::move(shape);
  copy.tile = printIr(*kernel);
  FailureOr<std::string> text = cuda::emitCuda(*kernel);
  if (failed(text))
    return bug();
  source += (source.empty() ? "" : "\n") + *text;
  return {};
}

} // namespace

const AlignedCopy *AlignedCopies::find(StringRef tensor) const {
  auto found =
      llvm::find_if(tensors, [&](const AlignedCopy &copy) { return copy.tensor == tensor; });
  return found == tensors.end() ? nullptr : &*found;
}

std::map<std::string, std::int64_t> alignedTensors(attn::ProgramOp program,
                                                   ArrayRef<KernelShape> kernels) {
  std::map<std::string, std::int64_t> aligned;
  for (const Tensor &tensor : boundTensors(program)) {
    std::int64_t element = tile::elementType(tensor.element).bytes;
    std::int64_t needed = element;
    for (const KernelShape &kernel : kernels)
      for (auto [arg, bytes] : llvm::zip(kernel.args, kernel.align))
        if (arg.name == tensor.name)
          needed = std::max(needed, bytes);
    if (needed > element)
      aligned[tensor.name] = needed;
  }
  return aligned;
}

Result<AlignedCopies> makeAlignedCopies(attn::ProgramOp program,
                                        const std::map<std::string, std::int64_t> &aligned,
                                        ArrayRef<KernelShape> kernels) {
  llvm::StringSet<> tensors, names;
  for (const Tensor &tensor : boundTensors(program))
    tensors.insert(tensor.name);
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    for (Value result : nest.getResults())
      tensors.insert(schedule::tensorOf(result).name);
  for (const KernelShape &kernel : kernels)
    names.insert(kernel.name);

  AlignedCopies result;
  result.image =
      unique(names, schedule::symbolName({schedule::cIdentifier(program.getSymName()), "align"}));
  for (const Tensor &tensor : boundTensors(program)) {
    auto needed = aligned.find(tensor.name);
    if (needed == aligned.end())
      continue;
    AlignedCopy copy;
    copy.tensor = tensor.name;
    copy.standIn = unique(tensors, tensor.name + "_aligned");
    copy.isOutput = tensor.kind == Tensor::Kind::Output;
    copy.align = needed->second;
    std::string name = unique(names, schedule::symbolName({copy.isOutput ? "unalign" : "align",
                                                           schedule::cIdentifier(tensor.name)}));
    if (Status status = addKernel(program, tensor, name, copy, result.source); !status)
      return status.error();
    result.tensors.push_back(std::move(copy));
  }
  return result;
}

} // namespace attnc::driver
