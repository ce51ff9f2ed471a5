#include "compiler/driver/compile.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/device/wgmma_header.h"
#include "compiler/driver/manifest_builder.h"
#include "compiler/driver/nest_report.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/verify_pass.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/schedule_override.h"
#include "compiler/schedule/stream_plan.h"
#include "compiler/transforms/split.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <chrono>
#include <fmt/format.h>
#include <future>

using namespace mlir;

namespace attnc::driver {
namespace {

constexpr int64_t kDefaultSplits = 8;
constexpr int64_t kMostSplits = 128; // the states of so many parts are kept in memory

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Collects what MLIR reports while it lives, with places in the spec.
class ReportedErrors {
public:
  explicit ReportedErrors(MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          std::string place = attn::specPlace(diagnostic.getLocation());
          text +=
              (text.empty() ? "" : "\n") + (place.empty() ? "" : place + ": ") + diagnostic.str();
          return success();
        }) {}
  const std::string &str() const { return text; }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

class Compiler {
public:
  Compiler(const Spec &spec, const CompileOptions &options)
      : spec(spec), options(options), module(cast<ModuleOp>(spec.module.get()->clone())),
        program(*module->getOps<attn::ProgramOp>().begin()), errors(module->getContext()) {}

  Result<Compilation> run() {
    Clock::time_point start = Clock::now();
    result.target = options.target;
    result.name = spec.name;
    result.attn = printIr(*module);
    Status status = lowerToTarget();
    if (!status)
      return status.error();
    result.seconds = secondsSince(start);
    return std::move(result);
  }

private:
  bool onCpu() const { return options.target == "cpu"; }
  bool reaches(Stage stage) const { return options.upTo >= stage; }

  Status lowerToTarget() {
    if (!reaches(Stage::Red))
      return {};
    if (Status status = runSteps(); !status)
      return status;
    if (onCpu())
      return compileForCpu();
    if (Status status = scheduleNests(); !status)
      return status;
    result.red = printIr(*module);
    return reaches(Stage::Tile) ? compileForGpu() : Status{};
  }

  //===--- target-independent passes ---------------------------------------------------------===//

  Status runSteps() {
    Result<nlohmann::json> merged = mergedOverrides();
    if (!merged)
      return merged.error();
    overrides = std::move(*merged);
    if (Status status = requestSplit(overrides); !status)
      return status;
    if (options.verifyPasses) {
      std::map<std::string, int64_t> extents = options.extents;
      extents.merge(referenceExtents());
      Result<PassVerifier> created = PassVerifier::create(program, extents, options.params);
      if (!created)
        return created.error();
      verifier = std::move(*created);
    }
    for (const Step &step : targetIndependentSteps()) {
      Clock::time_point start = Clock::now();
      step.run(program);
      if (failed(verify(*module)))
        return bug(step.name);
      result.passes.push_back(
          {step.name, step.summary, options.keepIr ? printIr(*module) : "", secondsSince(start)});
      if (verifier)
        if (Status status = verifier->check(program, step.name); !status)
          return status;
    }
    for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
      result.nests.push_back(reportNest(nest, options.extents));
    result.red = printIr(*module);
    return {};
  }

  Error bug(const std::string &pass) {
    return internalError("the program is not valid after " + pass + ": " + errors.str(),
                         "report this with the spec");
  }

  std::map<std::string, int64_t> referenceExtents() const {
    std::map<std::string, int64_t> extents;
    auto shape = spec.reference.find("shape");
    if (shape != spec.reference.end())
      for (auto &[dim, extent] : shape->items())
        extents[dim] = extent.get<int64_t>();
    return extents;
  }

  //===--- cpu -------------------------------------------------------------------------------===//

  // There is nothing to choose here; what is misspelt is an error all the same.
  Status checkScheduleKeys() {
    return schedule::checkOverrides(llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()),
                                    overrides);
  }

  Status compileForCpu() {
    if (Status status = checkScheduleKeys(); !status)
      return status;
    std::vector<KernelShape> kernels;
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      report.form = "cpu";
      KernelShape shape;
      shape.name = report.kernel;
      shape.args = kernelArguments(nest);
      kernels.push_back(shape);
    }
    if (Status status = makeManifest(kernels); !status)
      return status;
    if (!reaches(Stage::Llvm) && options.upTo != Stage::Cubin)
      return {};
    cpu::CpuOptions cpuOptions;
    cpuOptions.keepLlvmIr = options.upTo == Stage::Llvm;
    Clock::time_point start = Clock::now();
    llvm::Expected<std::unique_ptr<cpu::CpuExecutable>> executable =
        cpu::CpuExecutable::compile(*module, cpuOptions);
    result.llvmSeconds = secondsSince(start);
    if (!executable)
      return internalError(llvm::toString(executable.takeError()), "report this with the spec");
    result.cpu = std::move(*executable);
    result.llvm = result.cpu->llvmIr();
    return {};
  }

  Status makeManifest(ArrayRef<KernelShape> kernels) {
    Result<Manifest> manifest = buildManifest(program, options.target, kernels, result.copies);
    if (!manifest)
      return manifest.error();
    result.program.manifest = std::move(*manifest);
    result.program.manifest.memoryBudget = options.memoryBudget;
    return {};
  }

  //===--- GPU -------------------------------------------------------------------------------===//

  Status scheduleNests() {
    Clock::time_point start = Clock::now();
    if (Status status =
            schedule::chooseSchedules(program, options.target, overrides, options.tuned);
        !status)
      return status;
    result.passes.push_back({"choose-schedule",
                             "a form and tile sizes for each nest, for " + options.target,
                             options.keepIr ? printIr(*module) : "", secondsSince(start)});
    if (verifier)
      if (Status status = verifier->check(program, "choose-schedule"); !status)
        return status;
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      reportSchedule(nest, report);
      if (report.form == "generic" && schedule::canLowerStream(nest, report.whyGeneric))
        report.whyGeneric = "no tile of the stream form fits " + options.target +
                            ", or the schedule asks for this form";
    }
    return {};
  }

  void reportSchedule(red::NestOp nest, NestReport &report) const {
    DictionaryAttr attribute = nest.getScheduleAttr();
    report.form = attribute.getAs<StringAttr>("form").getValue().str();
    report.schedule.clear();
    llvm::raw_string_ostream(report.schedule) << attribute;
    report.scheduled = driver::reportSchedule(nest, options.target);
  }

  // What the caller says comes before what the spec hints at.
  Result<nlohmann::json> mergedOverrides() const {
    nlohmann::json keys = spec.schedule.is_object() ? spec.schedule : nlohmann::json::object();
    if (options.schedule.is_object())
      keys.update(options.schedule);
    return keys;
  }

  // Takes the keys that say how streams are folded out of the schedule.
  Status requestSplit(nlohmann::json &keys) {
    nlohmann::json fold = keys.value("fold", nlohmann::json("auto"));
    nlohmann::json splits = keys.value("splits", nlohmann::json(kDefaultSplits));
    keys.erase("fold");
    keys.erase("splits");
    if (fold != "auto" && fold != "stream" && fold != "two_pass")
      return invalidArgument("schedule: fold is " + fold.dump() +
                                 "; it can be \"auto\", \"stream\" or \"two_pass\"",
                             "leave the key out");
    if (!splits.is_number_integer() || splits < 2 || splits > kMostSplits)
      return invalidArgument(fmt::format("schedule: splits is {}; it can be a whole number from 2 "
                                         "to {}",
                                         splits.dump(), kMostSplits),
                             "leave the key out");
    if (fold == "two_pass")
      program->setAttr(kSplitsAttr, OpBuilder(program).getI64IntegerAttr(splits.get<int64_t>()));
    return {};
  }

  Status compileForGpu() {
    Clock::time_point start = Clock::now();
    std::vector<red::NestOp> nests;
    std::vector<KernelShape> shapes;
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      nests.push_back(nest);
      Result<KernelShape> shape = lowerNest(nest, report);
      if (!shape)
        return shape.error();
      shapes.push_back(*shape);
    }
    double lowering = secondsSince(start);
    if (Status status = startCopies(shapes); !status)
      return status;
    if (reaches(Stage::Cubin))
      for (size_t i = 0; i < nests.size(); ++i)
        if (Status status = compileNest(nests[i], result.nests[i], shapes[i]); !status)
          return status;
    if (Status status = finishCopies(shapes); !status)
      return status;
    for (const NestReport &report : result.nests)
      result.tile += report.tile + "\n";
    result.red = printIr(program);
    result.passes.push_back({"lower-nests", "kernels with tiles, copies and barriers",
                             options.keepIr ? result.tile : "", lowering});
    return finishProgram(shapes);
  }

  static bool spills(const NestReport &report) {
    return report.resources && (report.resources->spillStores || report.resources->spillLoads);
  }

  // What somebody has chosen is not changed behind their back.
  bool hasTileOverrides() const { return !overrides.empty(); }

  // Tile IR and CUDA C++ of a nest.
  Result<KernelShape> lowerNest(red::NestOp nest, NestReport &report) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(nest.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
    FailureOr<tile::KernelOp> kernel = schedule::lowerNest(nest, builder);
    if (failed(kernel) || failed(verify(*kernel)))
      return internalError("a nest cannot be lowered: " + errors.str(),
                           "report this with the spec");
    report.kernel = kernel->getSymName().str();
    report.tile = printIr(*kernel);
    Result<KernelShape> shape = shapeOf(nest, *kernel);
    if (!shape || !reaches(Stage::Cuda))
      return shape;
    FailureOr<std::string> source = cuda::emitCuda(*kernel);
    if (failed(source))
      return internalError("CUDA C++ cannot be written: " + errors.str(),
                           "report this with the spec");
    report.source = *source;
    return shape;
  }

  // Machine code of a nest that has been lowered, and lowered again as long as it spills.
  Status compileNest(red::NestOp nest, NestReport &report, KernelShape &shape) {
    const schedule::Machine *machine = schedule::findMachine(options.target);
    Status status = compileCuda(report);
    while (status && spills(report) && !hasTileOverrides() &&
           schedule::chooseSmallerSchedule(nest, *machine)) {
      reportSchedule(nest, report);
      Result<KernelShape> smaller = lowerNest(nest, report);
      if (!smaller)
        return smaller.error();
      shape = *smaller;
      status = compileCuda(report);
    }
    return status;
  }

  Status compileCuda(NestReport &report) {
    Result<NvrtcRequest> request = nvrtcRequest(report.source, report.kernel);
    if (!request)
      return request.error();
    Result<NvrtcOutput> output = options.nvrtc->compile(*request);
    if (!output)
      return output.error();
    result.nvrtcSeconds += output->seconds;
    report.ptxasNotes = output->notes;
    for (const KernelReport &kernel : output->kernels)
      if (kernel.symbol == report.kernel)
        report.resources = kernel.resources;
    report.cubin = std::move(output->cubin);
    report.ptx = std::move(output->ptx);
    return {};
  }

  Result<NvrtcRequest> nvrtcRequest(const std::string &source, const std::string &image) const {
    if (!options.nvrtc)
      return environmentError("NVRTC is needed for " + options.target,
                              "install the CUDA toolkit 13, or use --target cpu");
    NvrtcRequest request;
    request.source = source;
    request.name = image + ".cu";
    request.headers = device::headersFor(source);
    request.architecture = options.target;
    // NVRTC's own cache leaves out ptxas's report, and with it the spills.
    request.options = {"--no-cache"};
    return request;
  }

  //===--- tensors that are not aligned ------------------------------------------------------===//

  // Makes the kernels that copy, and has NVRTC compile them beside the others; after them where
  // there can be no further thread.
  Status startCopies(ArrayRef<KernelShape> shapes) {
    copiesBuild = {};
    aligned = alignedTensors(program, shapes);
    Result<AlignedCopies> made = makeAlignedCopies(program, aligned, shapes);
    if (!made)
      return made.error();
    result.copies = *std::move(made);
    if (aligned.empty() || !reaches(Stage::Cubin))
      return {};
    Result<NvrtcRequest> request = nvrtcRequest(result.copies.source, result.copies.image);
    if (!request)
      return request.error();
    copiesBuild = std::async(
        std::launch::async | std::launch::deferred,
        [nvrtc = options.nvrtc, request = *std::move(request)] { return nvrtc->compile(request); });
    return {};
  }

  // A nest that spilled has another schedule since then, which may need other tensors aligned.
  Status finishCopies(ArrayRef<KernelShape> shapes) {
    if (alignedTensors(program, shapes) != aligned)
      if (Status status = startCopies(shapes); !status)
        return status;
    if (!copiesBuild.valid())
      return {};
    Clock::time_point start = Clock::now();
    Result<NvrtcOutput> output = copiesBuild.get();
    result.nvrtcSeconds += secondsSince(start);
    if (!output)
      return output.error();
    copiesOutput = *std::move(output);
    return {};
  }

  //===--- the program -----------------------------------------------------------------------===//

  Status finishProgram(ArrayRef<KernelShape> shapes) {
    if (Status status = makeManifest(shapes); !status)
      return status;
    for (NestReport &report : result.nests) {
      if (KernelDecl *decl = findKernel(report.kernel))
        decl->resources = report.resources;
      addImages(report.kernel, report.source, std::move(report.cubin), std::move(report.ptx));
    }
    for (const KernelReport &kernel : copiesOutput.kernels)
      if (KernelDecl *decl = findKernel(kernel.symbol))
        decl->resources = kernel.resources;
    if (reaches(Stage::Cuda))
      addImages(result.copies.image, result.copies.source, std::move(copiesOutput.cubin),
                std::move(copiesOutput.ptx));
    return {};
  }

  KernelDecl *findKernel(const std::string &name) {
    for (KernelDecl &decl : result.program.manifest.kernels)
      if (decl.name == name)
        return &decl;
    return nullptr;
  }

  void addImages(const std::string &name, const std::string &source, std::string cubin,
                 std::string ptx) {
    if (!source.empty())
      result.program.sources.push_back({name + ".cu", source});
    if (cubin.empty())
      return;
    result.program.images.push_back({ImageKind::Cubin, name, std::move(cubin)});
    result.program.images.push_back({ImageKind::Ptx, name, std::move(ptx)});
  }

  const Spec &spec;
  const CompileOptions &options;
  OwningOpRef<ModuleOp> module;
  attn::ProgramOp program;
  ReportedErrors errors;
  std::optional<PassVerifier> verifier;
  nlohmann::json overrides;                    // of the schedule
  std::map<std::string, std::int64_t> aligned; // what is copied
  std::future<Result<NvrtcOutput>> copiesBuild;
  NvrtcOutput copiesOutput;
  Compilation result;
};

} // namespace

Result<Compilation> compile(const Spec &spec, const CompileOptions &options) {
  return Compiler(spec, options).run();
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<attn::AttnDialect, red::RedDialect, tile::TileDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect>();
}

} // namespace attnc::driver
