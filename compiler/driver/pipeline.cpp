#include "compiler/driver/pipeline.h"
#include "compiler/driver/kernels/fold_choice.h"
#include "compiler/driver/kernels/outline_epilogues.h"
#include "compiler/driver/reported_errors.h"
#include "compiler/schedule/chains/beside.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/chains/join_chain.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/cpu_tiles.h"
#include "compiler/schedule/choice/same_arithmetic.h"
#include "compiler/schedule/cleanup/element_loops.h"
#include "compiler/schedule/cleanup/fixed_slots.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "compiler/schedule/cleanup/lane_conditions.h"
#include "compiler/schedule/cleanup/narrow_indices.h"
#include "compiler/schedule/cleanup/share_arithmetic.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/slab/join_sums.h"
#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/steps/assign_roles.h"
#include "compiler/schedule/steps/expand_pipeline.h"
#include "compiler/schedule/steps/place.h"
#include "compiler/schedule/steps/synchronise.h"
#include "compiler/schedule/stream/addends.h"
#include "compiler/schedule/stream/differences.h"
#include "compiler/transforms/choose_layouts.h"
#include "compiler/transforms/derive_updates.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/flatten_columns.h"
#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/hoist_vectors.h"
#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/mask_intervals.h"
#include "compiler/transforms/order_nests.h"
#include "compiler/transforms/outline_epilogue.h"
#include "compiler/transforms/packed/pack_results.h"
#include "compiler/transforms/pair_roles.h"
#include "compiler/transforms/plain_differences.h"
#include "compiler/transforms/reassociate.h"
#include "compiler/transforms/split.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc::driver {
namespace {

template <void (*transform)(attn::ProgramOp)>
Status onProgram(Operation *op, const PipelineOptions &) {
  transform(cast<attn::ProgramOp>(op));
  return {};
}

template <void (*transform)(tile::KernelOp)>
Status onKernel(Operation *op, const PipelineOptions &) {
  transform(cast<tile::KernelOp>(op));
  return {};
}

template <void (*transform)(tile::KernelOp)>
Status onTiled(Operation *op, const PipelineOptions &) {
  auto kernel = cast<tile::KernelOp>(op);
  if (!schedule::isTiled(kernel))
    return {};
  if (!schedule::canCleanUp(kernel))
    return invalidArgument("tile.clean_up has no `sizes` that are integer arguments of the kernel, "
                           "or tile.index is on what is no integer");
  transform(kernel);
  return {};
}

// Of programs, and of nests that stand alone.
Status deriveAllUpdates(Operation *op, const PipelineOptions &) {
  op->walk([](red::NestOp nest) { deriveUpdates(nest); });
  return {};
}

// Without a target there is none that could fold there.
Status outlineEpilogue(Operation *op, const PipelineOptions &options) {
  auto program = cast<attn::ProgramOp>(op);
  if (!options.target.empty())
    outlineEpilogues(program, options.target);
  else
    for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()))
      attnc::outlineEpilogue(nest);
  return {};
}

// Of nests that tiles can take then, and not as they are.
Status flattenAllColumns(Operation *op, const PipelineOptions &options) {
  auto program = cast<attn::ProgramOp>(op);
  if (!schedule::findGpuModel(options.target))
    return {};
  auto nests = [](attn::ProgramOp of) {
    return llvm::to_vector(of.getBodyBlock()->getOps<red::NestOp>());
  };
  // What folds some of the dims behind the stream is cut off first.
  auto flatten = [&](attn::ProgramOp of, size_t number) {
    if (red::NestOp nest = nests(of)[number]; !hasSeveralColumnDims(nest) && foldsInEpilogue(nest))
      attnc::outlineEpilogue(nest);
    red::NestOp nest = nests(of)[number];
    return hasSeveralColumnDims(nest) ? flattenColumns(nest) : red::NestOp();
  };
  std::string why;
  auto gainsTiles = [&](size_t number) {
    if (red::NestOp nest = nests(program)[number];
        !hasSeveralColumnDims(nest) && !foldsInEpilogue(nest))
      return false;
    OwningOpRef<attn::ProgramOp> trial = program.clone();
    red::NestOp flat = flatten(*trial, number);
    return flat && schedule::canLowerPortable(flat, why);
  };
  for (size_t number = nests(program).size(); number-- > 0;)
    if (!schedule::canLowerPortable(nests(program)[number], why) && gainsTiles(number))
      flatten(program, number);
  deriveUpdates(program); // of nests that were cut off
  return {};
}

// Of nests that tiles can take then. Products of f32 err otherwise where rows and stream change
// places, and other nests may compute the same ones (schedule/choice/same_arithmetic.h).
Status giveAllPairRoles(Operation *op, const PipelineOptions &options) {
  auto program = cast<attn::ProgramOp>(op);
  if (!schedule::findGpuModel(options.target))
    return {};
  auto isTurned = [&](red::NestOp nest) {
    return llvm::any_of(program.getBodyBlock()->getOps<red::NestOp>(), [&](red::NestOp other) {
      return other.getRow() == nest.getStream() && other.getStream() == nest.getRow();
    });
  };
  for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>())) {
    SmallVector<StringAttr> dims = schedule::tensorOf(nest.getResult(0)).dims;
    std::string why;
    if (!dims.empty() && givePairRoles(nest, dims.back()) &&
        (!schedule::canLowerPortable(nest, why) ||
         (isTurned(nest) && schedule::multipliesFloats(nest))))
      takePairRoles(nest);
  }
  return {};
}

// Changes for kernels of warpgroups alone, where the schedule asks for them; derives what new folds
// need.
static Status changeForWarpgroups(
    Operation *op, const PipelineOptions &options,
    llvm::function_ref<bool(attn::ProgramOp program, const FoldChoice &choice)> change) {
  nlohmann::json keys = options.overrides;
  Result<FoldChoice> choice = takeFoldChoice(keys);
  if (!choice)
    return choice.error();
  auto program = cast<attn::ProgramOp>(op);
  const schedule::GpuModel *machine = schedule::findGpuModel(options.target);
  if (machine && machine->warpgroups && change(program, *choice))
    deriveUpdates(program);
  return {};
}

// Where the schedule says how much memory weights may take.
Status storeAllWeights(Operation *op, const PipelineOptions &options) {
  return changeForWarpgroups(op, options, [](attn::ProgramOp program, const FoldChoice &choice) {
    return choice.slabBytes.value_or(0) > 0 && schedule::storeWeights(program, *choice.slabBytes);
  });
}

// Where the schedule lets blocks add to each other's sums.
Status joinAllSums(Operation *op, const PipelineOptions &options) {
  return changeForWarpgroups(op, options, [](attn::ProgramOp program, const FoldChoice &choice) {
    return choice.joinsSums.value_or(false) && schedule::joinSums(program);
  });
}

Status chooseFold(Operation *op, const PipelineOptions &options) {
  nlohmann::json keys = options.overrides;
  Result<FoldChoice> choice = takeFoldChoice(keys);
  if (!choice)
    return choice.error();
  if (choice->fold == FoldChoice::Fold::TwoPass)
    op->setAttr(
        kSplitsAttr,
        Builder(op->getContext()).getI64IntegerAttr(choice->parts.value_or(kDefaultSplits)));
  return {};
}

Status chooseSchedules(Operation *op, const PipelineOptions &options) {
  nlohmann::json keys = options.overrides;
  if (Result<FoldChoice> choice = takeFoldChoice(keys); !choice)
    return choice.error();
  std::string target = options.target.empty() ? "sm_80" : options.target;
  for (auto program : cast<ModuleOp>(op).getOps<attn::ProgramOp>())
    if (Status status =
            target == "cpu"
                ? schedule::setCpuTiles(
                      llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()), keys)
                : schedule::chooseSchedules(program, target, keys, options.tuned);
        !status)
      return status;
  if (!options.error) // the driver has a report of its own
    op->walk([&](red::NestOp nest) {
      std::string why;
      if (!schedule::canLowerPortable(nest, why))
        nest.emitRemark() << schedule::formOf(nest).name() << " form: " << why;
    });
  return {};
}

// Kernels lie behind the programs, in the order of their nests; the programs stay.
Status lowerNests(Operation *op, const PipelineOptions &options) {
  const schedule::GpuModel *machine = schedule::findGpuModel(options.target);
  SmallVector<red::NestOp> nests;
  op->walk([&](red::NestOp nest) { nests.push_back(nest); });
  OpBuilder builder = OpBuilder::atBlockEnd(cast<ModuleOp>(op).getBody());
  ReportedErrors errors(op->getContext());
  SmallVector<red::NestOp> chain;
  SmallVector<tile::KernelOp> chained;
  if (schedule::waitsForLaunches(options.target))
    schedule::markBesides(nests);
  for (auto [i, nest] : llvm::enumerate(nests)) {
    FailureOr<tile::KernelOp> kernel = failure();
    FailureOr<SmallVector<tile::KernelOp>> companions = schedule::lowerCompanions(nest, builder);
    if (succeeded(companions))
      kernel = schedule::lowerNest(nest, builder);
    if (failed(kernel))
      return internalError("a nest cannot be lowered: " + errors.str(),
                           "report this with the spec");
    Attribute number = nest->getAttr(schedule::kChainAttr);
    if (!number) {
      schedule::takeMarks(nest, nest, *kernel);
      continue;
    }
    assert(companions->empty() && "nests with encodings are of another form");
    chain.push_back(nest);
    chained.push_back(*kernel);
    if (i + 1 < nests.size() && nests[i + 1]->getAttr(schedule::kChainAttr) == number)
      continue;
    schedule::takeMarks(
        chain.front(), chain.back(),
        schedule::joinChain(chain, chained, machine ? machine->sharedPerBlock : 0, builder));
    chain.clear();
    chained.clear();
  }
  return {};
}

// Loops of the CPU store what they compute in its own place.
Status packOutputs(Operation *op, const PipelineOptions &options) {
  if (schedule::findGpuModel(options.target))
    attnc::packResults(cast<attn::ProgramOp>(op));
  return {};
}

// Warpgroups make tables of them.
Status outlineAllDifferences(Operation *op, const PipelineOptions &options) {
  if (const schedule::GpuModel *machine = schedule::findGpuModel(options.target);
      machine && machine->warpgroups)
    op->walk([](red::NestOp nest) { schedule::outlineDifferences(nest); });
  return {};
}

// Products of warpgroups take in what they add.
Status joinAllAddends(Operation *op, const PipelineOptions &options) {
  if (const schedule::GpuModel *machine = schedule::findGpuModel(options.target);
      machine && machine->warpgroups)
    op->walk([](red::NestOp nest) { schedule::joinAddends(nest); });
  return {};
}

// Without a target there are none that would be encoded for it.
Status encodeAllOperands(Operation *op, const PipelineOptions &options) {
  if (const schedule::GpuModel *machine = schedule::findGpuModel(options.target))
    op->walk([&](red::NestOp nest) { schedule::encodeOperands(nest, *machine); });
  return {};
}

using enum Step::On;
using schedule::approximateFunctions, schedule::askLanesForConditions, schedule::assignRoles,
    schedule::expandPipeline, schedule::fixSlots, schedule::foldKernel, schedule::narrowIndices,
    schedule::placeShared, schedule::shareElementArithmetic, schedule::shareElementLoops,
    schedule::synchronise;

// The table of contents of the compiler. Code generation follows in compile.cpp.
constexpr Step table[] = {
    {"desugar", "softmax, logsumexp and mean become reductions and maps", Program,
     onProgram<desugar>},
    {"lower-to-nests", "one nest for each reduction; nothing is fused yet", Program,
     onProgram<lowerToNests>},
    {"reassociate", "sums of products of sums in the order that costs least", Program,
     onProgram<reassociate>},
    {"fuse-nests", "folds that can share a pass over the stream become one nest", Program,
     onProgram<fuseNests>},
    {"hoist-vectors", "sums of rows or of the stream alone are computed once", Program,
     onProgram<hoistVectors>},
    {"choose-fold", "whether streams are split, and into how many parts", Program, chooseFold,
     /*asksOptions=*/true},
    {"split", "streams in parts that fold side by side, where the schedule asks for it", Program,
     onProgram<split>},
    {"choose-layouts", "what nests store for each other lies as its readers want it", Program,
     onProgram<chooseLayouts>},
    {"mask-intervals", "which part of the stream matters to a tile, and when it needs no mask",
     Program, onProgram<maskIntervals>},
    {"plain-differences", "what is subtracted from that is never -inf, which kernels need not ask",
     Program, onProgram<markPlainDifferences>},
    {"derive-updates", "what each state takes in, how it moves and merges, as scalar regions",
     Module, deriveAllUpdates},
    {"flatten-columns", "several dims of a state's columns become one, for tiles", Program,
     flattenAllColumns, /*asksOptions=*/true},
    {"outline-epilogue", "folds after a stream become nests where no tiled form takes them",
     Program, outlineEpilogue, /*asksOptions=*/true},
    {"order-nests", "passes over sequences behind the small nests that do not need them", Program,
     onProgram<orderNests>},
    {"store-weights", "weights that several products read are computed once, and stored", Program,
     storeAllWeights, /*asksOptions=*/true},
    {"join-sums", "sums over rows join the pass that makes their weights", Program, joinAllSums,
     /*asksOptions=*/true},
    {"pack-results", "rows of packed sequences are stored by who computes them", Program,
     packOutputs, /*asksOptions=*/true},
    {"pair-roles", "values of pairs that are stored get a row and a stream dim, for tiles", Program,
     giveAllPairRoles, /*asksOptions=*/true},
    {"outline-differences",
     "what maps compute of a row and an index through their difference alone is an array", Module,
     outlineAllDifferences, /*asksOptions=*/true},
    {"join-addends", "what grows evenly along the stream is added to products by these", Module,
     joinAllAddends, /*asksOptions=*/true},
    {"choose-schedules", "a form and tile sizes for each nest", Module, chooseSchedules,
     /*asksOptions=*/true},
    {"encode-operands", "f32 that products take as a high and a low half", Module,
     encodeAllOperands, /*asksOptions=*/true},
    {"lower-nests", "kernels with tiles; with warpgroups, steps in order of meaning", Module,
     lowerNests},
    {"assign-roles", "who does what: copies and steps are divided, and pipes connect them", Kernel,
     onKernel<assignRoles>},
    {"expand-pipeline", "when: loops over row tiles and tiles, with what comes before and after",
     Kernel, onKernel<expandPipeline>},
    {"synchronise", "who waits for what: fences, groups of products, releases", Kernel,
     onKernel<synchronise>},
    {"place", "where: bytes of shared memory for pipes and tiles", Kernel, onKernel<placeShared>},
    {"narrow-indices", "32-bit arithmetic where indices are sure to fit", Kernel,
     onTiled<narrowIndices>},
    {"fold-kernel", "constants are folded, and what does nothing goes", Kernel,
     onTiled<foldKernel>},
    {"fix-slots", "slots of pipes that are the same in each turn of a loop are constants", Kernel,
     onTiled<fixSlots>},
    {"ask-lanes", "conditions of columns that read memory, for which each lane asks in turn",
     Kernel, onTiled<askLanesForConditions>},
    {"share-element-loops", "loops that all elements of a thread take go around them", Kernel,
     onTiled<shareElementLoops>},
    {"approximate-functions", "exponentials and reciprocals of elements by the GPU's instructions",
     Kernel, onTiled<approximateFunctions>},
    {"share-arithmetic", "what all elements of a map compute is computed once", Kernel,
     onTiled<shareElementArithmetic>},
};

} // namespace

llvm::ArrayRef<Step> pipelineSteps() { return table; }

const Step *findStep(StringRef name) {
  auto found = llvm::find_if(table, [&](const Step &step) { return name == step.name; });
  return found == std::end(table) ? nullptr : &*found;
}

llvm::ArrayRef<Step> steps(StringRef first, StringRef last) {
  return {findStep(first), findStep(last) + 1};
}

llvm::ArrayRef<Step> targetIndependentSteps() { return steps("desugar", "derive-updates"); }

StringRef firstStepOf(attn::ProgramOp program) {
  return program.getBodyBlock()->getOps<red::FoldOp>().empty() ? "desugar" : "fuse-nests";
}

// The first operation of a line says where the line comes from, unless it is of a file that the
// spec extends.
static std::string withLineMarks(StringRef text, Operation *whole,
                                 const AsmState::LocationMap &printed) {
  auto own = whole->getLoc()->findInstanceOf<FileLineColLoc>();
  std::map<unsigned, std::pair<unsigned, FileLineColLoc>> places;
  for (auto [op, at] : printed)
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
        place && own && place.getFilename() == own.getFilename()) {
      auto [it, isNew] = places.try_emplace(at.first, at.second, place);
      if (!isNew && at.second < it->second.first)
        it->second = {at.second, place};
    }
  std::string marked;
  for (unsigned number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    marked += line;
    if (auto it = places.find(number); it != places.end())
      marked += (lineMark + Twine(it->second.second.getLine())).str();
    marked += '\n';
    text = rest;
  }
  return marked;
}

std::string printIr(Operation *op, bool marksLines) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto flags = OpPrintingFlags().printNameLocAsPrefix().useLocalScope();
  if (!marksLines) {
    op->print(os, flags);
    return text;
  }
  AsmState::LocationMap printed;
  AsmState state(op, flags, &printed);
  op->print(os, state);
  return withLineMarks(text, op, printed);
}

} // namespace attnc::driver
