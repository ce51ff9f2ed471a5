#include "compiler/schedule/chains/join_chain.h"
#include "compiler/schedule/chains/chain_memory.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attnc::schedule {

// Another nest may have a result of this name.
static std::string chainName(red::NestOp first) {
  std::string name = kernelName(first) + "_chain";
  auto nests = attn::programOf(first).getBodyBlock()->getOps<red::NestOp>();
  while (llvm::any_of(nests, [&](red::NestOp nest) { return kernelName(nest) == name; }))
    name += "_";
  return name;
}

static Attribute cells(red::NestOp nest) {
  Attribute blocks = Builder(nest.getContext()).getI64IntegerAttr(1);
  for (StringAttr dim : cellDims(nest))
    blocks = gridApply("mul", blocks, gridExtent(nest, dim));
  return blocks;
}

// The fewest of those that say how many blocks are to fit.
static std::optional<int64_t> minBlocksOf(ArrayRef<tile::KernelOp> kernels) {
  std::optional<int64_t> least;
  for (tile::KernelOp kernel : kernels)
    if (std::optional<uint64_t> own = kernel.getMinBlocks())
      least = std::min<int64_t>(least.value_or(*own), *own);
  return least;
}

namespace {

/// The calls, in the body of the joined kernel, and the arguments of those that are called.
class Calls {
public:
  Calls(const KernelSignature &signature, tile::KernelOp joined, ArrayRef<ChainArray> arrays,
        OpBuilder &builder)
      : signature(signature), joined(joined), arrays(arrays), b(builder), loc(joined.getLoc()) {
    for (ChainArray array : arrays) {
      Tensor tensor = tensorOf(array.result);
      Location name = NameLoc::get(b.getStringAttr(cIdentifier(tensor.name)));
      auto type = tile::PtrType::get(b.getContext(), tensor.element, /*shared=*/true);
      pointers[array.result] =
          tile::SharedOp::create(b, name, type, b.getI64IntegerAttr(array.offset));
    }
  }

  // Puts into the kernel what is known of its arguments, and calls it with the others.
  void call(red::NestOp nest, tile::KernelOp kernel) {
    SmallVector<Value> args;
    SmallVector<Attribute> names;
    llvm::BitVector known(kernel.getBodyBlock()->getNumArguments());
    KernelSignature own(nest);
    for (auto [i, arg] : llvm::enumerate(own.args())) {
      BlockArgument inside = kernel.getBodyBlock()->getArgument(i);
      if (const ChainArray *kept = keptAs(arg); kept && arg.kind == KernelArg::Kind::Stride) {
        inside.replaceAllUsesWith(constantIn(kernel, kept->strides[arg.axis]));
        known.set(i);
        continue;
      }
      args.push_back(argument(arg));
      inside.setType(args.back().getType());
      names.push_back(kernel.getArgNames()[i]);
    }
    kernel.getBodyBlock()->eraseArguments(known);
    kernel.setArgNamesAttr(b.getArrayAttr(names));
    (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
    tile::CallOp::create(b, nest.getLoc(), kernel.getSymName(), args);
  }

private:
  const ChainArray *keptAs(const KernelArg &arg) {
    auto kept =
        llvm::find_if(arrays, [&](const ChainArray &array) { return array.result == arg.array; });
    return kept == arrays.end() ? nullptr : kept;
  }

  Value constantIn(tile::KernelOp kernel, int64_t value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(kernel.getBodyBlock());
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }

  Value argument(const KernelArg &arg) {
    return keptAs(arg) ? pointers.lookup(arg.array)
                       : Value(joined.getBodyBlock()->getArgument(signature.position(arg)));
  }

  const KernelSignature &signature;
  tile::KernelOp joined;
  ArrayRef<ChainArray> arrays;
  OpBuilder &b;
  Location loc;
  DenseMap<Value, Value> pointers;
};

} // namespace

tile::KernelOp joinChain(ArrayRef<red::NestOp> nests, ArrayRef<tile::KernelOp> kernels,
                         int64_t memory, OpBuilder &builder) {
  red::NestOp first = nests.front();
  int64_t smem = 0;
  for (tile::KernelOp kernel : kernels)
    smem = std::max<int64_t>(smem, kernel.getSmem());
  SmallVector<ChainArray> arrays = placeChainArrays(nests, smem, memory);
  for (const ChainArray &array : arrays)
    smem = std::max(smem, array.offset + array.bytes);
  KernelSignature signature(nests);
  auto joined = tile::KernelOp::create(
      builder, first.getLoc(), chainName(first), argumentTypes(signature, builder.getContext()),
      builder.getArrayAttr({cells(first)}), tile::KernelOp(kernels.front()).getThreads(), smem);
  if (std::optional<int64_t> least = minBlocksOf(kernels))
    joined.setMinBlocks(std::clamp<int64_t>(smem ? memory / smem : *least, 1, *least));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(joined.getBodyBlock());
  Calls calls(signature, joined, arrays, builder);
  for (size_t i = 0; i < nests.size(); ++i) {
    red::NestOp nest = nests[i];
    tile::KernelOp kernel = kernels[i];
    kernel->setAttr(kernel.getChainAttrName(), nest->getAttr(kChainAttr));
    if (i > 0)
      tile::BarrierOp::create(builder, nest.getLoc());
    calls.call(nest, kernel);
  }
  return joined;
}

} // namespace attnc::schedule
