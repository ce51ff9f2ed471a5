#include "compiler/driver/kernels/split_variant.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/transforms/split.h"
#include <algorithm>

using namespace mlir;

namespace attnc::driver {

std::string splitName(const std::string &kernel) { return "split_" + kernel; }

using schedule::hasTiles;

bool canBeSplit(red::NestOp nest) {
  return hasTiles(nest) && nest.getStream().size() == 1 &&
         !attn::programOf(nest).lookupDim(cast<StringAttr>(nest.getStream()[0])).isStatic();
}

// The dims of parts that the nest has side by side.
static SmallVector<StringAttr> partDims(red::NestOp nest) {
  SmallVector<StringAttr> found;
  if (auto dims = attn::programOf(nest)->getAttrOfType<ArrayAttr>(kPartDimsAttr))
    llvm::copy_if(dims.getAsRange<StringAttr>(), std::back_inserter(found),
                  [&](StringAttr dim) { return llvm::is_contained(nest.getGrid(), dim); });
  return found;
}

bool foldsSplitsByTiles(attn::ProgramOp program) {
  auto nests = program.getBodyBlock()->getOps<red::NestOp>();
  return program->hasAttr(kPartDimsAttr) && llvm::all_of(nests, [](red::NestOp nest) {
           return partDims(nest).empty() || hasTiles(nest);
         });
}

//===----------------------------------------------------------------------===//
// How many parts
//===----------------------------------------------------------------------===//

// One or more operands of And, Or or Min, as a tree as deep as the logarithm of their number: of
// many kernels each has its own, and expressions have a greatest depth. Equal ones stand once.
static Expr join(ExprOp op, std::vector<Expr> operands) {
  std::vector<Expr> level;
  for (Expr &operand : operands)
    if (!llvm::is_contained(level, operand))
      level.push_back(std::move(operand));
  for (; level.size() > 1; level.resize((level.size() + 1) / 2)) {
    for (size_t i = 0; i + 1 < level.size(); i += 2)
      level[i / 2] = Expr::apply(op, {std::move(level[i]), std::move(level[i + 1])});
    if (level.size() % 2)
      level[level.size() / 2] = std::move(level.back());
  }
  return std::move(level.front());
}

static Expr withSizeOne(Expr expr, const std::string &dim) {
  if (expr.op == ExprOp::Size && expr.name == dim)
    return Expr::constant(1);
  for (Expr &operand : expr.operands)
    operand = withSizeOne(operand, dim);
  return expr;
}

// The blocks that a kernel has of each part. One whose blocks stay says how many there would be.
static Expr blocksOfPart(const KernelShape &kernel, const std::string &part) {
  const Expr &grid = kernel.grid[0];
  bool stay = grid.op == ExprOp::Min && grid.operands.back().op == ExprOp::Multiprocessors;
  return withSizeOne(stay ? grid.operands.front() : grid, part);
}

std::map<std::string, Expr> splitsThatFill(attn::ProgramOp program, ArrayRef<KernelShape> kernels,
                                           std::int64_t most) {
  std::map<std::string, std::vector<Expr>> counts; // of each nest
  auto apply = [](ExprOp op, Expr a, Expr b) {
    return Expr::apply(op, {std::move(a), std::move(b)});
  };
  for (auto [nest, kernel] : llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), kernels))
    for (StringAttr part : partDims(nest)) {
      if (nest.getStream().size() != 1)
        continue;
      std::string name = part.str(), stream = cast<StringAttr>(nest.getStream()[0]).str();
      Expr blocks = apply(ExprOp::Max, blocksOfPart(kernel, name), Expr::constant(1));
      Expr room = apply(ExprOp::Mul, Expr::apply(ExprOp::Multiprocessors, {}),
                        Expr::constant(nest.getScheduleAttr().getMinBlocks()));
      Expr fill = apply(ExprOp::FloorDiv, std::move(room), std::move(blocks));
      Expr worth = apply(ExprOp::FloorDiv, Expr::size(stream), Expr::constant(kLeastOfPart));
      Expr count = apply(ExprOp::Min, std::move(fill), std::move(worth));
      counts[name].push_back(apply(ExprOp::Min, std::move(count), Expr::constant(most)));
    }
  std::map<std::string, Expr> least;
  for (auto &[name, list] : counts)
    least[name] = apply(ExprOp::Max, join(ExprOp::Min, std::move(list)), Expr::constant(1));
  return least;
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

void setSplits(Manifest &manifest, const std::map<std::string, Expr> &counts) {
  for (DimDecl &dim : manifest.dims)
    if (auto count = counts.find(dim.name); count != counts.end())
      dim.extent = count->second;
}

namespace {

/// Takes over what the launches of a variant need.
class Merger {
public:
  Merger(Manifest &manifest, const Manifest &parts) : manifest(manifest), parts(parts) {}

  void add(const std::map<std::string, Expr> &counts) {
    for (const DimDecl &dim : parts.dims)
      if (!manifest.findDim(dim.name))
        manifest.dims.push_back(dim);
    setSplits(manifest, counts);
    // What `parts` has beyond its first variant serves tensors that are not aligned; the program in
    // one pass does that.
    VariantDecl variant = parts.variants.front();
    for (LaunchDecl &launch : variant.launches)
      addLaunch(launch);
    std::vector<Expr> several, all;
    for (const auto &[name, count] : counts)
      several.push_back(Expr::apply(ExprOp::Ge, {Expr::size(name), Expr::constant(2)}));
    all.push_back(join(ExprOp::Or, std::move(several)));
    for (const RequireDecl &require : parts.requires_)
      if (isNew(require))
        all.push_back(require.expr);
    variant.when = join(ExprOp::And, std::move(all));
    manifest.variants.insert(manifest.variants.begin(), std::move(variant));
  }

private:
  void addLaunch(LaunchDecl &launch) {
    std::string name = splitName(launch.kernel);
    if (!manifest.findKernel(name)) {
      KernelDecl kernel = *parts.findKernel(launch.kernel);
      kernel.name = name;
      kernel.image = splitName(kernel.image);
      manifest.kernels.push_back(std::move(kernel));
    }
    launch.kernel = name;
    for (ArgDecl &arg : launch.args)
      if (arg.kind == ArgKind::Pointer || arg.kind == ArgKind::Stride ||
          arg.kind == ArgKind::TensorMap)
        arg.name = addTensor(arg.name);
    if (!launch.guard.empty())
      launch.guard = addTensor(launch.guard);
  }

  // The tensor's name here.
  std::string addTensor(const std::string &name) {
    auto found = std::find_if(parts.intermediates.begin(), parts.intermediates.end(),
                              [&](const TensorDecl &tensor) { return tensor.name == name; });
    if (found == parts.intermediates.end())
      return name;
    auto [known, isNew] = names.try_emplace(name, name);
    if (!isNew)
      return known->second;
    while (manifest.findTensor(known->second))
      known->second += "_of_parts";
    manifest.intermediates.push_back(*found);
    manifest.intermediates.back().name = known->second;
    return known->second;
  }

  bool isNew(const RequireDecl &require) const {
    return std::none_of(manifest.requires_.begin(), manifest.requires_.end(),
                        [&](const RequireDecl &known) { return known.expr == require.expr; });
  }

  Manifest &manifest;
  const Manifest &parts;
  std::map<std::string, std::string> names; // of intermediates
};

} // namespace

void addSplitVariant(Manifest &manifest, const Manifest &parts,
                     const std::map<std::string, Expr> &counts) {
  Merger(manifest, parts).add(counts);
}

} // namespace attnc::driver
