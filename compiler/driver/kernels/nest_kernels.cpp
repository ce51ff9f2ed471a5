#include "compiler/driver/kernels/nest_kernels.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/driver/images/code_size.h"
#include "compiler/driver/images/equal_kernels.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/step_pass.h"
#include "compiler/schedule/chains/beside.h"
#include "compiler/schedule/chains/chain_memory.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/steps/step_text.h"

using namespace mlir;

namespace attnc::driver {

void reportScheduleOf(red::NestOp nest, const std::string &target, NestReport &report) {
  red::Schedule attribute = nest.getScheduleAttr();
  report.form = attribute.getForm().str();
  report.schedule.clear();
  llvm::raw_string_ostream(report.schedule) << attribute;
  report.scheduled = reportSchedule(nest, target);
  report.passedOver.clear();
  if (auto reasons = nest->getAttrOfType<ArrayAttr>(schedule::kPassedOverAttr))
    for (auto reason : reasons.getAsRange<StringAttr>())
      report.passedOver.push_back(reason.str());
  sayCuts(report.scheduled, report.derivation);
}

NestKernels::NestKernels(attn::ProgramOp program, std::string target,
                         std::vector<NestReport> &reports, const ReportedErrors &errors,
                         Choices choices)
    : program(program), target(std::move(target)), reports(reports), errors(errors),
      choices(choices) {
  llvm::append_range(nests, program.getBodyBlock()->getOps<red::NestOp>());
}

std::string NestKernels::image(size_t number) const {
  return choices.prefix.str() + symbol(number);
}

Status NestKernels::takeAll(CompileWatch *watch) {
  keys.resize(nests.size());
  sizes.resize(nests.size());
  SmallVector<tile::KernelOp> before; // companions of the next kernel, or members of its chain
  for (tile::KernelOp kernel :
       llvm::to_vector(program->getParentOfType<ModuleOp>().getOps<tile::KernelOp>())) {
    if (kernel.getCompanion() || kernel.getChain()) {
      before.push_back(kernel);
      continue;
    }
    if (Status status = enter(watch, "emit-cuda", kernel.getSymName().str()); !status)
      return status;
    Result<KernelShape> shape = kernel.callsOthers() ? takeChain(shapes.size(), before, kernel)
                                                     : takeKernel(shapes.size(), kernel, before);
    if (!shape)
      return shape.error();
    size_t others = kernel.callsOthers() ? before.size() - 1 : 0;
    shapes.push_back(*std::move(shape));
    shapes.resize(shapes.size() + others);
    kernel.erase();
    for (tile::KernelOp each : before)
      each.erase();
    before.clear();
  }
  return {};
}

void NestKernels::reportMember(size_t number, const std::string &chain) {
  NestReport &report = reports[number];
  report.chain = chain;
  for (Value result : nests[number].getResults())
    if (schedule::isKept(result))
      report.kept.push_back(schedule::tensorOf(result).name);
  llvm::erase_if(report.intermediates,
                 [&](const std::string &name) { return llvm::is_contained(report.kept, name); });
  for (Value captured : nests[number].captures())
    if (!captured.getDefiningOp<attn::ParamOp>())
      report.reads.push_back(schedule::tensorOf(captured).name);
}

// Members that are equal but for their names are one function.
Result<KernelShape> NestKernels::takeChain(size_t first, MutableArrayRef<tile::KernelOp> members,
                                           tile::KernelOp joined) {
  std::vector<std::string> equal;
  for (auto [i, member] : llvm::enumerate(members)) {
    reportMember(first + i, joined.getSymName().str());
    equal.push_back(namelessKey(member));
  }
  auto calls = llvm::to_vector(joined.getBodyBlock()->getOps<tile::CallOp>());
  for (auto [i, same] : llvm::enumerate(firstEqual(equal)))
    if (same == i) {
      if (Status status = takeTexts(first, members[i]); !status)
        return status.error();
    } else {
      calls[i].setCallee(members[same].getSymName());
    }
  if (Status status = takeTexts(first, joined); !status)
    return status.error();
  return shapeOf(schedule::KernelSignature(ArrayRef(nests).slice(first, members.size())), joined);
}

// The back of the pipeline once more, for one nest.
Status NestKernels::lowerAgain(size_t number) {
  reportScheduleOf(nests[number], target, reports[number]);
  schedule::encodeOperands(nests[number], *schedule::findGpuModel(target));
  OwningOpRef<ModuleOp> module = ModuleOp::create(nests[number].getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  FailureOr<SmallVector<tile::KernelOp>> companions =
      schedule::lowerCompanions(nests[number], builder);
  FailureOr<tile::KernelOp> kernel = failure();
  if (succeeded(companions))
    kernel = schedule::lowerNest(nests[number], builder);
  if (succeeded(kernel)) {
    schedule::takeMarks(nests[number], nests[number], *kernel);
    reports[number].scheduled.steps = schedule::stepLines(*kernel);
  }
  PassManager passes(module->getContext(), ModuleOp::getOperationName());
  addSteps(passes, steps("assign-roles", pipelineSteps().back().name), {});
  if (failed(kernel) || failed(passes.run(*module)))
    return internalError("a nest cannot be lowered: " + errors.str(), "report this with the spec");
  Result<KernelShape> shape = takeKernel(number, *kernel, *companions);
  if (!shape)
    return shape.error();
  shapes[number] = *std::move(shape);
  return {};
}

Result<KernelShape> NestKernels::takeKernel(size_t number, tile::KernelOp kernel,
                                            ArrayRef<tile::KernelOp> companions) {
  NestReport &report = reports[number];
  report.kernel = kernel.getSymName().str();
  report.tile.clear();
  report.source.clear();
  keys[number].clear();
  sizes[number] = 0;
  SmallVector<tile::KernelOp> all(companions);
  all.push_back(kernel);
  for (tile::KernelOp each : all)
    if (Status status = takeTexts(number, each); !status)
      return status.error();
  Result<KernelShape> shape = shapeOf(nests[number], kernel);
  if (!shape)
    return shape;
  for (auto [companion, each] :
       llvm::zip_equal(schedule::companionsOf(nests[number]), companions)) {
    Result<KernelShape> own = shapeOf(companion.signature, each);
    if (!own)
      return own.error();
    (companion.isAfter() ? shape->after : shape->before).push_back(*std::move(own));
  }
  return shape;
}

// All kernels of a nest are in one text and in one image.
Status NestKernels::takeTexts(size_t number, tile::KernelOp kernel) {
  NestReport &report = reports[number];
  if (choices.withTexts)
    report.tile += printIr(kernel, choices.marksLines);
  keys[number] += namelessKey(kernel);
  sizes[number] += estimateCode(kernel);
  if (!choices.withSources)
    return {};
  FailureOr<std::string> source = cuda::emitCuda(kernel);
  if (failed(source))
    return internalError("CUDA C++ cannot be written: " + errors.str(),
                         "report this with the spec");
  report.source += (report.source.empty() ? "" : "\n") + *source;
  return {};
}

Status NestKernels::makeCopies() {
  aligned = alignedTensors(program, shapes);
  Result<AlignedCopies> copies = makeAlignedCopies(program, aligned, shapes);
  if (!copies)
    return copies.error();
  made = *std::move(copies);
  return {};
}

static bool spills(const NestReport &report) {
  return report.resources && (report.resources->spillStores || report.resources->spillLoads);
}

Result<bool> NestKernels::take(size_t number, NvrtcOutput output) {
  NestReport &report = reports[number];
  report.ptxasNotes = output.notes;
  for (const KernelReport &kernel : output.kernels)
    if (kernel.symbol == symbol(number))
      report.resources = kernel.resources;
  report.cubin = std::move(output.cubin);
  report.ptx = std::move(output.ptx);
  const schedule::GpuModel *machine = schedule::findGpuModel(target);
  if (!spills(report) || choices.keepSchedules || !report.chain.empty())
    return false;
  schedule::PlannedNest nest(nests[number]);
  red::Schedule next = schedule::smallerSchedule(nest, *machine);
  if (!next)
    return false;
  if (std::string form = schedule::formOf(nest.op()).name().str(); next.getForm() != form)
    nest.op()->setAttr(
        schedule::kPassedOverAttr,
        Builder(nest.op().getContext()).getStrArrayAttr({form + ": its kernel spills registers"}));
  nest.op().setScheduleAttr(next);
  nest.op()->removeAttr(schedule::kScheduleSourceAttr);
  if (Status status = lowerAgain(number); !status)
    return status.error();
  return true;
}

Status NestKernels::follow(size_t number, const NestKernels &other, size_t first) {
  red::NestOp nest = nests[number], model = other.nests[first];
  NestReport &report = reports[number];
  if (report.chain.empty() && nest.getScheduleAttr() != model.getScheduleAttr()) {
    nest.setScheduleAttr(model.getScheduleAttr());
    if (Status status = lowerAgain(number); !status)
      return status;
  }
  report.resources = other.reports[first].resources;
  report.ptxasNotes = other.reports[first].ptxasNotes;
  return {};
}

} // namespace attnc::driver
