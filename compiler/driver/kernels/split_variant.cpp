#include "compiler/driver/kernels/split_variant.h"
#include "compiler/driver/kernels/fold_choice.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/few_rows.h"
#include "compiler/schedule/choice/packing.h"
#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/slab/cells.h"
#include "compiler/schedule/slab/multipliers.h"
#include "compiler/transforms/split.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>

using namespace mlir;

namespace attnc::driver {

using schedule::hasTiles;

bool canBeSplit(red::NestOp nest) {
  return hasTiles(nest) && nest.getStream().size() == 1 && !nest.states().empty() &&
         !attn::programOf(nest).lookupDim(cast<StringAttr>(nest.getStream()[0])).isStatic();
}

// The dims of parts that the nest has side by side.
static SmallVector<StringAttr> partDims(red::NestOp nest) {
  return llvm::filter_to_vector(attn::dimNames(nest.getGrid()), [&](StringAttr dim) {
    return isPartDim(attn::programOf(nest), dim);
  });
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

static Expr withSize(Expr expr, const std::string &dim, std::int64_t size) {
  if (expr.op == ExprOp::Size && expr.name == dim)
    return Expr::constant(size);
  for (Expr &operand : expr.operands)
    operand = withSize(operand, dim, size);
  return expr;
}

// The blocks that a kernel has of each part. One whose blocks stay says how many there would be.
static Expr blocksOfPart(const KernelShape &kernel, const std::string &part) {
  const Expr &grid = kernel.grid[0];
  auto isRoom = [](const Expr &e) {
    return e.op == ExprOp::Multiprocessors ||
           (e.op == ExprOp::Mul && e.operands.front().op == ExprOp::Multiprocessors);
  };
  bool stay = grid.op == ExprOp::Min && isRoom(grid.operands.back());
  return withSize(stay ? grid.operands.front() : grid, part, 1);
}

static Expr apply(ExprOp op, Expr a, Expr b) {
  return Expr::apply(op, {std::move(a), std::move(b)});
}

static Expr atLeast(Expr number, std::int64_t least) {
  return apply(ExprOp::Ge, std::move(number), Expr::constant(least));
}

// The dim of a nest whose schedule packs indices of it, or nothing.
static std::optional<schedule::Packing> packingOf(schedule::PlannedNest &nest) {
  auto warpgroups = tile::scheduleAs<tile::WarpgroupSchedule>(nest.op().getScheduleAttr());
  return warpgroups && warpgroups->pack > 1 ? nest.stream()->packing : std::nullopt;
}

// The blocks that there is room for beside each other. Those with few rows wait for memory, which
// is idle where the last round has few blocks: more than fit at once are divided for several
// rounds.
static Expr blocksToFill(red::NestOp nest, const Expr &blocks, bool packs) {
  constexpr int kRounds = 4;
  Expr room = apply(ExprOp::Mul, Expr::apply(ExprOp::Multiprocessors, {}),
                    Expr::constant(nest.getScheduleAttr().getMinBlocks()));
  if (!packs)
    return room;
  Expr several = apply(ExprOp::Mul, room, Expr::constant(kRounds));
  Expr fit = apply(ExprOp::Le, blocks, room);
  return Expr::apply(ExprOp::Select, {std::move(fit), std::move(room), std::move(several)});
}

// As many parts as the stream is long enough for.
static Expr worthwhileParts(schedule::PlannedNest &nest, const std::string &stream, bool packs) {
  auto partsOf = [&](std::int64_t least) {
    return apply(ExprOp::FloorDiv, Expr::size(stream), Expr::constant(least));
  };
  if (packs)
    return partsOf(kLeastOfPacked);
  bool isSlow = !tile::scheduleAs<tile::WarpgroupSchedule>(nest.op().getScheduleAttr()) &&
                nest.stream() && nest.stream()->hasProducts();
  if (!isSlow)
    return partsOf(kLeastOfPart);
  Expr several = apply(ExprOp::Min, partsOf(kLeastOfSlow), Expr::constant(kMostOfSlow));
  return Expr::apply(ExprOp::Select,
                     {atLeast(Expr::size(stream), kLeastSlowStream),
                      apply(ExprOp::Max, partsOf(kLeastOfPart), several), Expr::constant(1)});
}

std::map<std::string, Expr> splitsThatFill(attn::ProgramOp program, ArrayRef<KernelShape> kernels,
                                           std::int64_t most) {
  std::map<std::string, std::vector<Expr>> counts; // of each nest
  for (auto [nest, kernel] : llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), kernels))
    for (StringAttr part : partDims(nest)) {
      if (nest.getStream().size() != 1)
        continue;
      schedule::PlannedNest planned(nest);
      bool packs = packingOf(planned).has_value();
      std::string name = part.str(), stream = cast<StringAttr>(nest.getStream()[0]).str();
      Expr blocks = apply(ExprOp::Max, blocksOfPart(kernel, name), Expr::constant(1));
      Expr room = blocksToFill(nest, blocks, packs);
      Expr fill = apply(ExprOp::FloorDiv, std::move(room), std::move(blocks));
      Expr count = apply(ExprOp::Min, std::move(fill), worthwhileParts(planned, stream, packs));
      counts[name].push_back(apply(ExprOp::Min, std::move(count), Expr::constant(most)));
    }
  std::map<std::string, Expr> least;
  for (auto &[name, list] : counts)
    least[name] = apply(ExprOp::Max, join(ExprOp::Min, std::move(list)), Expr::constant(1));
  return least;
}

//===----------------------------------------------------------------------===//
// Few rows
//===----------------------------------------------------------------------===//

// Params are known too late: numbers of parts are extents.
static bool usesParams(const Expr &expr) {
  return expr.op == ExprOp::Param || llvm::any_of(expr.operands, usesParams);
}

// How many indices of the packed dim see the same stream, where the extents say.
static std::optional<Expr> sharingOf(schedule::PlannedNest &nest,
                                     const schedule::Packing &packing) {
  Result<Expr> sharing = gridExpr(schedule::sharingIndices(nest.op(), packing));
  return sharing && !usesParams(*sharing) ? std::optional(*sharing) : std::nullopt;
}

nlohmann::json fewRowsKeys(attn::ProgramOp program, StringRef target) {
  nlohmann::json keys = nlohmann::json::object();
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    schedule::PlannedNest planned(nest);
    std::optional<tile::WarpgroupSchedule> found =
        schedule::fewRowsSchedule(planned, *schedule::findGpuModel(target));
    if (found && sharingOf(planned, *planned.stream()->packing))
      keys[schedule::kernelName(nest)] =
          schedule::toJson(tile::WarpgroupsAttr::get(nest.getContext(), *found));
  }
  return keys;
}

std::vector<nlohmann::json> shortKeys(attn::ProgramOp program, StringRef target) {
  std::vector<nlohmann::json> keys(schedule::shortSequences().size(), nlohmann::json::object());
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    schedule::PlannedNest planned(nest);
    auto found = schedule::othersIfShort(planned, *schedule::findGpuModel(target));
    for (auto [of, schedule] : llvm::zip(keys, found))
      if (schedule)
        of[schedule::kernelName(nest)] =
            schedule::toJson(tile::WarpgroupsAttr::get(nest.getContext(), *schedule));
  }
  return keys;
}

// That the rows of each nest that packs indices are few, and that there are some to pack.
static Expr hasFewRows(attn::ProgramOp program) {
  std::vector<Expr> all;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    schedule::PlannedNest planned(nest);
    std::optional<schedule::Packing> packing = packingOf(planned);
    std::optional<Expr> sharing = packing ? sharingOf(planned, *packing) : std::nullopt;
    if (!sharing)
      continue;
    if (sharing->op != ExprOp::Integer)
      all.push_back(atLeast(std::move(*sharing), 2));
    all.push_back(apply(ExprOp::Le, Expr::size(planned.stream()->row.str()),
                        Expr::constant(schedule::kPackedRows)));
  }
  return join(ExprOp::And, std::move(all));
}

static Expr rowsWithEmpty(const Expr &rows, int64_t tile) {
  return apply(ExprOp::Mul, apply(ExprOp::CeilDiv, rows, Expr::constant(tile)),
               Expr::constant(tile));
}

// That the rows and the stream are short of each nest that the variant has a schedule for, and that
// its rows fit (ShortSequences::fits).
static Expr areShort(attn::ProgramOp program, const VariantProgram &variant) {
  std::vector<Expr> all;
  const schedule::ShortSequences &sequences = *variant.sequences;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    schedule::PlannedNest planned(nest);
    if (!variant.schedule.contains(schedule::kernelName(nest)))
      continue;
    for (StringAttr dim : {planned.ofHalves()->row, planned.ofHalves()->stream})
      all.push_back(apply(ExprOp::Le, Expr::size(dim.str()), Expr::constant(sequences.longest)));
    Expr rows = Expr::size(planned.ofHalves()->row.str());
    if (sequences.rowTile) {
      all.push_back(apply(ExprOp::Lt, Expr::constant(sequences.rowTile), rows));
      all.push_back(apply(ExprOp::Lt, rowsWithEmpty(rows, sequences.rowTile),
                          rowsWithEmpty(rows, sequences.otherTile)));
    }
  }
  return join(ExprOp::And, std::move(all));
}

//===----------------------------------------------------------------------===//
// Stored weights
//===----------------------------------------------------------------------===//

red::NestOp nestOfOtherForm(attn::ProgramOp program) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    if (schedule::isOfWarpgroupsOnly(nest) &&
        !tile::scheduleAs<tile::WarpgroupSchedule>(nest.getScheduleAttr()))
      return nest;
  return {};
}

// The first of those that `are` what the variant is for.
static red::NestOp firstNest(attn::ProgramOp program, llvm::function_ref<bool(red::NestOp)> are) {
  auto nests = program.getBodyBlock()->getOps<red::NestOp>();
  return *llvm::find_if(nests, are);
}

static void addLeast(std::vector<Expr> &all, red::NestOp nest, std::int64_t least) {
  for (ArrayAttr role : {nest.getRow(), nest.getStream()})
    all.push_back(atLeast(Expr::size(cast<StringAttr>(role[0]).str()), least));
}

// That the weights of one cell fit, and are as many as several kernels are worth.
static Expr fitsSlab(attn::ProgramOp program, std::int64_t bytes) {
  red::NestOp nest =
      firstNest(program, [](red::NestOp each) { return each->hasAttr(schedule::kSlabAttr); });
  std::vector<Expr> all = {
      apply(ExprOp::Le, *gridExpr(schedule::slabCells(nest).bytes), Expr::constant(bytes))};
  addLeast(all, nest, kLeastOfSlab);
  return join(ExprOp::And, std::move(all));
}

static Expr isWorthJoining(attn::ProgramOp program) {
  std::vector<Expr> all;
  addLeast(all,
           firstNest(program, [](red::NestOp each) { return !schedule::rowSumsOf(each).empty(); }),
           kLeastOfJoined);
  return join(ExprOp::And, std::move(all));
}

//===----------------------------------------------------------------------===//
// Which variant
//===----------------------------------------------------------------------===//

nlohmann::json VariantProgram::keys() const {
  nlohmann::json all = schedule;
  all["fold"] = isInParts() ? "two_pass" : "one_pass";
  all["slab_bytes"] = slabBytes;
  all["joined_sums"] = joinsSums;
  return all;
}

Expr chooseVariant(const VariantProgram &variant, attn::ProgramOp program,
                   ArrayRef<KernelShape> kernels, std::int64_t most,
                   std::map<std::string, Expr> &counts) {
  if (variant.sequences)
    return areShort(program, variant);
  if (variant.slabBytes)
    return fitsSlab(program, variant.slabBytes);
  if (variant.joinsSums)
    return isWorthJoining(program);
  std::vector<Expr> all, several;
  if (variant.packs())
    all.push_back(hasFewRows(program));
  for (auto &[dim, count] : splitsThatFill(program, kernels, most)) {
    several.push_back(atLeast(Expr::size(dim), 2));
    counts[dim] =
        variant.packs() ? Expr::apply(ExprOp::Select, {all[0], count, counts.at(dim)}) : count;
  }
  if (!several.empty())
    all.push_back(join(ExprOp::Or, std::move(several)));
  return join(ExprOp::And, std::move(all));
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

void setSplits(Manifest &manifest, const std::map<std::string, Expr> &counts) {
  for (DimDecl &dim : manifest.dims)
    if (auto count = counts.find(dim.name); count != counts.end())
      dim.extent = count->second;
  for (RequireDecl &require : manifest.requires_)
    for (const auto &[dim, count] : counts)
      require.expr = withSize(std::move(require.expr), dim, kMostParts);
}

namespace {

/// Takes over what the launches of variants need.
class Merger {
public:
  Merger(Manifest &manifest, const Manifest &parts, const AlignedCopies &copies, StringRef prefix)
      : manifest(manifest), parts(parts), prefix(prefix.str()) {
    for (const AlignedCopy &copy : copies.tensors)
      copying.insert(copy.kernel.name);
  }

  // What `parts` has beyond its first variant serves tensors that are not aligned: if not `all`,
  // the program in one pass does that.
  void add(const Expr &when, size_t place, bool all) {
    for (const DimDecl &dim : parts.dims)
      if (!manifest.findDim(dim.name))
        manifest.dims.push_back(dim);
    std::vector<Expr> holds = {when};
    for (const RequireDecl &require : parts.requires_)
      if (isNew(require))
        holds.push_back(require.expr);
    for (VariantDecl variant : ArrayRef(parts.variants).take_front(all ? SIZE_MAX : 1)) {
      if (!hasCopies(variant))
        continue;
      for (LaunchDecl &launch : variant.launches)
        addLaunch(launch);
      variant.when = join(ExprOp::And, holds);
      manifest.variants.insert(manifest.variants.begin() + place++, std::move(variant));
    }
  }

private:
  // The kernels that copy are those of the program here.
  bool hasCopies(const VariantDecl &variant) {
    return llvm::all_of(variant.launches, [&](const LaunchDecl &launch) {
      return !copying.contains(launch.kernel) || manifest.findKernel(launch.kernel);
    });
  }

  void addLaunch(LaunchDecl &launch) {
    bool copies = copying.contains(launch.kernel);
    std::string name = (copies ? "" : prefix) + launch.kernel;
    if (!manifest.findKernel(name)) {
      KernelDecl kernel = *parts.findKernel(launch.kernel);
      kernel.name = name;
      kernel.image = prefix + kernel.image;
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
    while (manifest.findTensor(known->second)) {
      if (TensorDecl *shared = sharedWith(*found, known->second)) {
        shared->align = std::max(shared->align, found->align);
        return known->second;
      }
      known->second += "_of_parts";
    }
    manifest.intermediates.push_back(*found);
    manifest.intermediates.back().name = known->second;
    return known->second;
  }

  // One variant runs at a time: what differs in no more than its name and its alignment is one
  // tensor.
  TensorDecl *sharedWith(const TensorDecl &tensor, const std::string &name) {
    auto same = std::find_if(manifest.intermediates.begin(), manifest.intermediates.end(),
                             [&](const TensorDecl &known) {
                               return known.name == name && known.dtype == tensor.dtype &&
                                      known.dims == tensor.dims && !known.window && !tensor.window;
                             });
    return same == manifest.intermediates.end() ? nullptr : &*same;
  }

  bool isNew(const RequireDecl &require) const {
    return std::none_of(manifest.requires_.begin(), manifest.requires_.end(),
                        [&](const RequireDecl &known) { return known.expr == require.expr; });
  }

  Manifest &manifest;
  const Manifest &parts;
  std::string prefix;
  llvm::StringSet<> copying;                // kernels
  std::map<std::string, std::string> names; // of intermediates
};

} // namespace

void addVariant(Manifest &manifest, const Manifest &parts, const AlignedCopies &copies,
                const VariantProgram &variant, const Expr &when, size_t place) {
  Merger(manifest, parts, copies, variant.prefix)
      .add(when, place, /*all=*/variant.sequences != nullptr);
}

} // namespace attnc::driver
