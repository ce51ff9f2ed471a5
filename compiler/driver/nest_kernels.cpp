#include "compiler/driver/nest_kernels.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/driver/code_size.h"
#include "compiler/driver/equal_kernels.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/split_variant.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/passes.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace attnc::driver {

void reportScheduleOf(red::NestOp nest, const std::string &target, NestReport &report) {
  DictionaryAttr attribute = nest.getScheduleAttr();
  report.form = attribute.getAs<StringAttr>("form").getValue().str();
  report.schedule.clear();
  llvm::raw_string_ostream(report.schedule) << attribute;
  report.scheduled = reportSchedule(nest, target);
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
  const std::string &kernel = reports[number].kernel;
  return choices.isOfParts ? partsName(kernel) : kernel;
}

Status NestKernels::lower(CompileWatch *watch) {
  keys.resize(nests.size());
  sizes.resize(nests.size());
  for (size_t number = 0; number < nests.size(); ++number) {
    if (Status status = enter(watch, "lower-nests", reports[number].kernel); !status)
      return status;
    Result<KernelShape> shape = lowerNest(number);
    if (!shape)
      return shape.error();
    shapes.push_back(*std::move(shape));
  }
  return {};
}

Result<KernelShape> NestKernels::lowerNest(size_t number) {
  red::NestOp nest = nests[number];
  NestReport &report = reports[number];
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(nest.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
  FailureOr<tile::KernelOp> kernel = schedule::lowerNest(nest, builder);
  if (failed(kernel) || failed(verify(*kernel)))
    return internalError("a nest cannot be lowered: " + errors.str(), "report this with the spec");
  report.kernel = kernel->getSymName().str();
  if (choices.withTexts)
    report.tile = printIr(*kernel);
  keys[number] = namelessKey(*kernel);
  sizes[number] = estimateCode(*kernel);
  Result<KernelShape> shape = shapeOf(nest, *kernel);
  if (!shape || !choices.withSources)
    return shape;
  FailureOr<std::string> source = cuda::emitCuda(*kernel);
  if (failed(source))
    return internalError("CUDA C++ cannot be written: " + errors.str(),
                         "report this with the spec");
  report.source = *std::move(source);
  return shape;
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
    if (kernel.symbol == report.kernel)
      report.resources = kernel.resources;
  report.cubin = std::move(output.cubin);
  report.ptx = std::move(output.ptx);
  const schedule::Machine *machine = schedule::findMachine(target);
  if (!spills(report) || choices.keepSchedules ||
      !schedule::chooseSmallerSchedule(nests[number], *machine))
    return false;
  reportScheduleOf(nests[number], target, report);
  Result<KernelShape> smaller = lowerNest(number);
  if (!smaller)
    return smaller.error();
  shapes[number] = *std::move(smaller);
  return true;
}

Status NestKernels::follow(size_t number, const NestKernels &other, size_t first) {
  red::NestOp nest = nests[number], model = other.nests[first];
  NestReport &report = reports[number];
  if (nest.getScheduleAttr() != model.getScheduleAttr()) {
    nest.setScheduleAttr(model.getScheduleAttr());
    reportScheduleOf(nest, target, report);
    Result<KernelShape> smaller = lowerNest(number);
    if (!smaller)
      return smaller.error();
    shapes[number] = *std::move(smaller);
  }
  report.resources = other.reports[first].resources;
  report.ptxasNotes = other.reports[first].ptxasNotes;
  return {};
}

} // namespace attnc::driver
