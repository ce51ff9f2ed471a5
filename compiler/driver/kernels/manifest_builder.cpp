#include "compiler/driver/kernels/manifest_builder.h"
#include "compiler/driver/report/program_place.h"
#include "compiler/driver/report/stored_values.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/evaluator/inputs/positive_dims.h"
#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/slab/cells.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/ElementTypes.h"
#include "dialects/Tile/Tile.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::driver {

static TensorDecl declare(const schedule::Tensor &tensor) {
  TensorDecl decl;
  decl.name = tensor.name;
  decl.dtype = tile::elementType(tensor.element).dtype;
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

static Result<ParamDecl> declare(attn::ProgramOp program, attn::ParamOp param) {
  ParamDecl decl;
  decl.name = param.getName().str();
  decl.dtype = tile::elementType(param.getType().getElementType()).dtype;
  decl.place = placeIn(program, param.getLoc());
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

static void addDims(attn::ProgramOp program, Manifest &manifest) {
  llvm::DenseSet<StringAttr> positive = positiveDims(program);
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    DimDecl decl;
    decl.name = dim.getName().getValue().str();
    if (dim.isStatic())
      decl.extent = Expr::constant(dim.getExtent());
    decl.min = positive.contains(dim.getName()) ? 1 : 0;
    manifest.dims.push_back(decl);
  }
}

static Status addExtents(attn::ProgramOp program, Manifest &manifest) {
  for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>()) {
    if (!extent.getValue().getType().isScalar())
      continue;
    Result<Expr> value = hostExpression(extent.getValue());
    if (!value)
      return value.error();
    for (DimDecl &dim : manifest.dims)
      if (dim.name == extent.getDim())
        dim.extent = *value;
  }
  return {};
}

static Status addFacts(attn::ProgramOp program, Manifest &manifest) {
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>()) {
    Result<ParamDecl> decl = declare(program, param);
    if (!decl)
      return decl.error();
    manifest.params.push_back(*decl);
  }
  for (auto require : program.getBodyBlock()->getOps<attn::RequireOp>()) {
    Result<Expr> condition = hostExpression(require.getCondition());
    if (!condition)
      return condition.error();
    manifest.requires_.push_back(
        {*condition, require.getText().str(), placeIn(program, require.getLoc())});
  }
  return {};
}

// A kernel whose blocks take row tiles in turn counts these in 32 bits. Others have a block for
// each, whose number the launch checks.
static void limitRowTiles(const KernelShape &kernel, Manifest &manifest) {
  constexpr std::int64_t kMost = (std::int64_t(1) << 31) - (1 << 16);
  const Expr &blocks = kernel.grid[0];
  if (blocks.op != ExprOp::Min || blocks.operands.back().op != ExprOp::Multiprocessors)
    return;
  Expr limit = Expr::apply(ExprOp::Le, {blocks.operands.front(), Expr::constant(kMost)});
  // Kernels of one shape have one limit.
  if (llvm::none_of(manifest.requires_, [&](auto &known) { return known.expr == limit; }))
    manifest.requires_.push_back(
        {std::move(limit), llvm::formatv("at most {0} row tiles ({1})", kMost, kernel.name)});
}

// Of inputs that stay in shared memory all of the stream is there.
static void limitStreams(attn::ProgramOp program, Manifest &manifest) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    auto schedule = tile::scheduleAs<tile::WarpgroupSchedule>(nest.getScheduleAttr());
    if (!schedule || !schedule->residentInputs)
      continue;
    auto dim = cast<StringAttr>(nest.getStream()[0]);
    if (program.lookupDim(dim).isStatic()) // checked already
      continue;
    std::string stream = dim.str();
    Expr limit =
        Expr::apply(ExprOp::Le, {Expr::size(stream), Expr::constant(schedule->residentInputs)});
    manifest.requires_.push_back(
        {std::move(limit),
         llvm::formatv("at most {0} elements of {1} (resident_inputs of {2})",
                       schedule->residentInputs, stream, schedule::kernelName(nest))});
  }
}

static void addTensors(attn::ProgramOp program, Manifest &manifest) {
  auto declareAt = [&](Value value, Location place) {
    TensorDecl decl = declare(schedule::tensorOf(value));
    decl.place = placeIn(program, place);
    return decl;
  };
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
    manifest.inputs.push_back(declareAt(input, input.getLoc()));
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>())
    manifest.outputs.push_back(declareAt(output.getValue(), output.getLoc()));
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    for (auto [result, computed] :
         llvm::zip(nest.getResults(),
                   cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()).getValues()))
      if (schedule::tensorOf(result).kind == schedule::Tensor::Kind::Intermediate) {
        manifest.intermediates.push_back(declareAt(result, computed.getLoc()));
        manifest.intermediates.back().reason = whyStored(result);
        if (schedule::liesInSlab(result) && !nest.getGrid().empty())
          manifest.intermediates.back().window =
              WindowDecl{static_cast<int>(nest.getGrid().size()),
                         *gridExpr(schedule::slabCells(nest).together)};
      }
  for (Operation &op : *program.getBodyBlock())
    if (isa<red::TopsOp, red::EncodeOp, red::LostOp>(op))
      for (Value result : op.getResults()) {
        manifest.intermediates.push_back(declareAt(result, op.getLoc()));
        manifest.intermediates.back().reason =
            isa<red::LostOp>(op)
                ? "it says whether halves of f32 lose something"
                : "halves of " + schedule::tensorOf(op.getOperand(0)).name +
                      " and their scales are what products take; the form portable needs none";
      }
}

// Rows of intermediates are laid out as aligned as the kernels need them. What is bound may have
// any alignment: see addVariants.
static void alignIntermediates(Manifest &manifest, const KernelShape &kernel) {
  for (auto [arg, bytes] : llvm::zip(kernel.args, kernel.align))
    for (TensorDecl &tensor : manifest.intermediates)
      if (tensor.name == arg.name && bytes > static_cast<std::int64_t>(dtypeSize(tensor.dtype)))
        tensor.align = std::max(tensor.align, bytes);
}

static void addKernel(Manifest &manifest, const KernelShape &kernel, const std::string &image) {
  KernelDecl decl;
  decl.name = decl.symbol = kernel.name;
  decl.image = image;
  decl.threads = kernel.threads;
  decl.cluster = kernel.cluster;
  decl.startsEarly = schedule::waitsForLaunches(manifest.target) && !kernel.beside;
  decl.sharedBytes = Expr::constant(kernel.sharedBytes);
  manifest.kernels.push_back(decl);
}

static void addCopies(Manifest &manifest, const AlignedCopies &copies) {
  for (const AlignedCopy &copy : copies.tensors) {
    TensorDecl decl = *manifest.findTensor(copy.tensor);
    decl.name = copy.standIn;
    decl.reason = "aligned rows for " + copy.tensor;
    decl.align = copy.align;
    manifest.intermediates.push_back(decl);
    addKernel(manifest, copy.kernel, copies.image);
  }
}

static LaunchDecl launchOf(const KernelShape &kernel) {
  LaunchDecl decl;
  decl.kernel = kernel.name;
  decl.grid = kernel.grid;
  decl.args = kernel.args;
  return decl;
}

using Copied = llvm::StringMap<const AlignedCopy *>; // by tensor

// The launch of `kernel` on the stand-ins of what is copied.
static LaunchDecl launchOnCopies(const KernelShape &kernel, const Copied &copied) {
  LaunchDecl decl = launchOf(kernel);
  for (ArgDecl &arg : decl.args)
    if (arg.kind == ArgKind::Pointer || arg.kind == ArgKind::Stride ||
        arg.kind == ArgKind::TensorMap)
      if (const AlignedCopy *copy = copied.lookup(arg.name))
        arg.name = copy->standIn;
  return decl;
}

// A kernel with its companions, in the order of their launches. Nests that another one's kernel
// computes have none.
static void forAll(const KernelShape &kernel, llvm::function_ref<void(const KernelShape &)> body) {
  if (kernel.name.empty())
    return;
  for (const KernelShape &before : kernel.before)
    body(before);
  body(kernel);
  for (const KernelShape &after : kernel.after)
    body(after);
}

// The kernels on copies of the tensors that `isCopied`; all others are as aligned as they need.
static VariantDecl variantOf(ArrayRef<KernelShape> kernels, const AlignedCopies &copies,
                             llvm::function_ref<bool(const AlignedCopy &)> isCopied) {
  VariantDecl variant;
  Copied copied;
  for (const AlignedCopy &copy : copies.tensors)
    if (isCopied(copy))
      copied[copy.tensor] = &copy;
    else
      variant.aligned[copy.tensor] = copy.align;
  auto copyAll = [&](bool outputs) {
    for (const AlignedCopy &copy : copies.tensors)
      if (copied.contains(copy.tensor) && copy.isOutput == outputs)
        variant.launches.push_back(launchOf(copy.kernel));
  };
  copyAll(/*outputs=*/false);
  const KernelShape *last = nullptr;
  for (const KernelShape &kernel : kernels) {
    size_t first = variant.launches.size();
    forAll(kernel, [&](const KernelShape &each) {
      variant.launches.push_back(launchOnCopies(each, copied));
      variant.launches.back().beside =
          each.beside && last && kernel.before.empty() && last->after.empty() && &each == &kernel;
    });
    if (kernel.slabs && variant.loops.empty())
      variant.loops.push_back({schedule::kSlabIndex.str(), *kernel.slabs, first, 0});
    if (kernel.slabs)
      variant.loops.front().launches = variant.launches.size() - variant.loops.front().first;
    if (!kernel.name.empty())
      last = &kernel;
  }
  copyAll(/*outputs=*/true);
  return variant;
}

// Whether rows of the tensor are aligned as copies need them wherever the first one is and it is
// contiguous: where their extent is known, and a multiple.
static bool hasAlignedRows(const Manifest &manifest, const AlignedCopy &copy) {
  const TensorDecl &tensor = *manifest.findTensor(copy.tensor);
  if (tensor.dims.empty())
    return true;
  const std::optional<Expr> &extent = manifest.findDim(tensor.dims.back())->extent;
  return extent && extent->op == ExprOp::Integer &&
         extent->integer * static_cast<std::int64_t>(dtypeSize(tensor.dtype)) % copy.align == 0;
}

// As the tensors are; on copies of those alone whose rows are of any length, as of a bias for each
// pair of positions; on copies of all.
static void addVariants(Manifest &manifest, ArrayRef<KernelShape> kernels,
                        const AlignedCopies &copies) {
  manifest.variants.push_back(variantOf(kernels, copies, [](auto &) { return false; }));
  auto isLoose = [&](const AlignedCopy &copy) { return !hasAlignedRows(manifest, copy); };
  if (llvm::any_of(copies.tensors, isLoose) && !llvm::all_of(copies.tensors, isLoose))
    manifest.variants.push_back(variantOf(kernels, copies, isLoose));
  if (!copies.tensors.empty())
    manifest.variants.push_back(variantOf(kernels, copies, [](auto &) { return true; }));
}

Result<Manifest> buildManifest(attn::ProgramOp program, StringRef target,
                               ArrayRef<KernelShape> kernels, const AlignedCopies &copies) {
  Manifest manifest;
  manifest.name = program.getSymName().str();
  manifest.target = target.str();
  addDims(program, manifest);
  addTensors(program, manifest);
  if (Status status = addExtents(program, manifest); !status)
    return status.error();
  if (Status status = addFacts(program, manifest); !status)
    return status.error();
  limitStreams(program, manifest);
  for (const KernelShape &kernel : kernels)
    forAll(kernel, [&](const KernelShape &each) {
      addKernel(manifest, each, kernel.name);
      alignIntermediates(manifest, each);
      limitRowTiles(each, manifest);
    });
  addCopies(manifest, copies);
  addVariants(manifest, kernels, copies);
  if (Status status = checkManifest(manifest); !status)
    return status.error();
  return manifest;
}

} // namespace attnc::driver
