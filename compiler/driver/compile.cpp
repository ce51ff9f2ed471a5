#include "compiler/driver/compile.h"
#include "compiler/codegen/cuda/emit.h"
#include "compiler/driver/cut_finishes.h"
#include "compiler/driver/equal_kernels.h"
#include "compiler/driver/fold_choice.h"
#include "compiler/driver/manifest_builder.h"
#include "compiler/driver/nest_report.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/reported_errors.h"
#include "compiler/driver/side_by_side.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/driver/split_variant.h"
#include "compiler/driver/verify_pass.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/cpu_tiles.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/schedule_override.h"
#include "compiler/schedule/stream_plan.h"
#include "compiler/transforms/split.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include <chrono>

using namespace mlir;

namespace attnc::driver {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Compiler {
public:
  Compiler(const Spec &spec, const CompileOptions &options, bool isOfParts = false)
      : spec(spec), options(options), module(cast<ModuleOp>(spec.module.get()->clone())),
        program(*module->getOps<attn::ProgramOp>().begin()), errors(module->getContext()),
        isOfParts(isOfParts) {}

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
  /// A nest of this program, or of the one in parts.
  struct Build {
    Compiler *of;
    size_t number;

    bool operator==(const Build &) const = default;
    red::NestOp nest() const { return of->nests[number]; }
    NestReport &report() const { return of->result.nests[number]; }
    /// The name of the image in the manifest.
    std::string image() const {
      return of->isOfParts ? partsName(report().kernel) : report().kernel;
    }
  };

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
    overrides = scheduleKeys(spec, options.schedule);
    Result<FoldChoice> choice = takeFoldChoice(overrides);
    if (!choice)
      return choice.error();
    fold = *choice;
    if (isOfParts)
      fold.fold = FoldChoice::Fold::TwoPass;
    if (fold.fold == FoldChoice::Fold::TwoPass)
      program->setAttr(kSplitsAttr,
                       OpBuilder(program).getI64IntegerAttr(fold.parts.value_or(kDefaultParts)));
    if (options.verifyPasses) {
      std::map<std::string, int64_t> extents = options.extents;
      extents.merge(referenceExtents(spec));
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
    if (!onCpu())
      cutFinishes(program, options.target);
    for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
      result.nests.push_back(reportNest(nest, options.extents));
    result.red = printIr(*module);
    return {};
  }

  Error bug(const std::string &pass) {
    return internalError("the program is not valid after " + pass + ": " + errors.str(),
                         "report this with the spec");
  }

  //===--- cpu -------------------------------------------------------------------------------===//

  Status compileForCpu() {
    if (Status status = schedule::setCpuTiles(
            llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>()), overrides);
        !status)
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

  Status compileForGpu() {
    Clock::time_point start = Clock::now();
    if (Status status = lowerNests(); !status)
      return status;
    lowerParts();
    double lowering = secondsSince(start);
    if (Status status = makeCopies(); !status)
      return status;
    if (reaches(Stage::Cubin))
      if (Status status = buildKernels(); !status)
        return status;
    for (const NestReport &report : result.nests)
      result.tile += report.tile + "\n";
    result.red = printIr(program);
    result.passes.push_back({"lower-nests", "kernels with tiles, copies and barriers",
                             options.keepIr ? result.tile : "", lowering});
    return finishProgram();
  }

  // Tile IR and CUDA C++ of all nests.
  Status lowerNests() {
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      nests.push_back(nest);
      Result<KernelShape> shape = lowerNest(nest, report);
      if (!shape)
        return shape.error();
      shapes.push_back(*shape);
    }
    return {};
  }

  //===--- streams in parts ------------------------------------------------------------------===//

  // The program with its streams in parts, as a variant for launches that would leave much of the
  // GPU idle. What somebody has chosen in the schedule stands for one program, not for two.
  void lowerParts() {
    bool wanted = options.partsVariant && fold.fold == FoldChoice::Fold::Auto &&
                  overrides.empty() && !isOfParts;
    if (!wanted || llvm::none_of(nests, canBeInParts))
      return;
    auto compiler = std::make_unique<Compiler>(spec, options, /*isOfParts=*/true);
    if (compiler->runSteps() && compiler->scheduleNests() && foldsPartsByTiles(compiler->program) &&
        compiler->lowerNests())
      parts = std::move(compiler);
  }

  Status addParts() {
    if (Status status = parts->makeCopies(); !status)
      return status;
    if (Status status = parts->makeManifest(parts->shapes); !status)
      return status;
    addPartsVariant(result.program.manifest, parts->result.program.manifest,
                    partsOfMachine(parts->program, parts->shapes, fold.parts.value_or(kMostParts)));
    for (auto [i, report] : llvm::enumerate(parts->result.nests)) {
      if (KernelDecl *decl = findKernel(partsName(report.kernel))) {
        decl->resources = report.resources;
        Build first = parts->firstOf(i);
        decl->image = first.image();
        decl->symbol = first.report().kernel;
      }
      addImages(partsName(report.kernel), report.source, std::move(report.cubin),
                std::move(report.ptx));
    }
    result.partsNests = std::move(parts->result.nests);
    return checkManifest(result.program.manifest);
  }

  //===--- machine code ----------------------------------------------------------------------===//

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
    nameless[report.kernel] = namelessText(*kernel);
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

  // All kernels side by side, then those again that spilled and have become smaller.
  Status buildKernels() {
    if (!options.nvrtc)
      return environmentError("NVRTC is needed for " + options.target,
                              "install the CUDA toolkit 13, or use --target cpu");
    std::vector<Build> builds = chooseBuilds();
    bool copies = !aligned.empty();
    while (!builds.empty() || copies) {
      Result<std::vector<Build>> again = buildOnce(builds, copies);
      if (!again)
        return again.error();
      builds = *std::move(again);
      if (builds.empty())
        for (Compiler *each : {this, parts.get()})
          if (each)
            if (Status status = each->followFirsts(); !status)
              return status;
      // A nest that spilled has another schedule since then, which may need other tensors aligned.
      copies = builds.empty() && alignedTensors(program, shapes) != aligned;
      if (copies)
        if (Status status = makeCopies(); !status)
          return status;
    }
    return {};
  }

  // Of kernels that are equal but for names, here and in the program in parts, only the first is
  // built.
  std::vector<Build> chooseBuilds() {
    std::vector<Build> all;
    std::vector<std::string> texts;
    for (Compiler *each : {this, parts.get()})
      for (size_t i = 0; each && i < each->nests.size(); ++i) {
        all.push_back({each, i});
        texts.push_back(each->nameless[each->result.nests[i].kernel]);
      }
    std::vector<Build> builds;
    for (auto [build, first] : llvm::zip(all, firstEqual(texts))) {
      build.of->imageOf.push_back(all[first]);
      if (build == all[first])
        builds.push_back(build);
    }
    return builds;
  }

  // Once all is built: what stands for the others has another schedule if it spilled.
  Status followFirsts() {
    for (size_t i = 0; i < imageOf.size(); ++i) {
      Build first = imageOf[i];
      if (first == Build{this, i})
        continue;
      NestReport &report = result.nests[i];
      if (nests[i].getScheduleAttr() != first.nest().getScheduleAttr()) {
        nests[i].setScheduleAttr(first.nest().getScheduleAttr());
        reportSchedule(nests[i], report);
        Result<KernelShape> smaller = lowerNest(nests[i], report);
        if (!smaller)
          return smaller.error();
        shapes[i] = *smaller;
      }
      report.resources = first.report().resources;
      report.ptxasNotes = first.report().ptxasNotes;
    }
    return {};
  }

  // Returns what has to be built once more.
  Result<std::vector<Build>> buildOnce(const std::vector<Build> &builds, bool copies) {
    std::vector<NvrtcRequest> requests;
    for (const Build &build : builds) {
      const NestReport &report = build.of->result.nests[build.number];
      requests.push_back(requestFor(options.target, report.source, report.kernel));
    }
    if (copies)
      requests.push_back(requestFor(options.target, result.copies.source, result.copies.image));
    Clock::time_point start = Clock::now();
    std::vector<Result<NvrtcOutput>> outputs = compileSideBySide(*options.nvrtc, requests);
    result.nvrtcSeconds += secondsSince(start);
    for (const Result<NvrtcOutput> &output : outputs) {
      if (!output)
        return output.error();
      result.kernelSeconds += output->seconds;
    }
    if (copies)
      copiesOutput = *std::move(outputs.back());
    std::vector<Build> again;
    for (size_t i = 0; i < builds.size(); ++i) {
      Result<bool> repeats = builds[i].of->take(builds[i].number, *std::move(outputs[i]));
      if (!repeats)
        return repeats.error();
      if (*repeats)
        again.push_back(builds[i]);
    }
    return again;
  }

  // Keeps what NVRTC made of a nest. True if it spills and has been lowered with a smaller
  // schedule.
  Result<bool> take(size_t number, NvrtcOutput output) {
    NestReport &report = result.nests[number];
    report.ptxasNotes = output.notes;
    for (const KernelReport &kernel : output.kernels)
      if (kernel.symbol == report.kernel)
        report.resources = kernel.resources;
    report.cubin = std::move(output.cubin);
    report.ptx = std::move(output.ptx);
    const schedule::Machine *machine = schedule::findMachine(options.target);
    if (!spills(report) || hasTileOverrides() ||
        !schedule::chooseSmallerSchedule(nests[number], *machine))
      return false;
    reportSchedule(nests[number], report);
    Result<KernelShape> smaller = lowerNest(nests[number], report);
    if (!smaller)
      return smaller.error();
    shapes[number] = *smaller;
    return true;
  }

  //===--- tensors that are not aligned ------------------------------------------------------===//

  Status makeCopies() {
    aligned = alignedTensors(program, shapes);
    Result<AlignedCopies> made = makeAlignedCopies(program, aligned, shapes);
    if (!made)
      return made.error();
    result.copies = *std::move(made);
    return {};
  }

  //===--- the program -----------------------------------------------------------------------===//

  Status finishProgram() {
    if (Status status = makeManifest(shapes); !status)
      return status;
    if (fold.fold == FoldChoice::Fold::TwoPass && !fold.parts)
      setParts(result.program.manifest, partsOfMachine(program, shapes, kMostParts));
    for (auto [i, report] : llvm::enumerate(result.nests)) {
      if (KernelDecl *decl = findKernel(report.kernel)) {
        decl->resources = report.resources;
        decl->image = decl->symbol = firstOf(i).image();
      }
      addImages(report.kernel, report.source, std::move(report.cubin), std::move(report.ptx));
    }
    for (const KernelReport &kernel : copiesOutput.kernels)
      if (KernelDecl *decl = findKernel(kernel.symbol))
        decl->resources = kernel.resources;
    if (reaches(Stage::Cuda))
      addImages(result.copies.image, result.copies.source, std::move(copiesOutput.cubin),
                std::move(copiesOutput.ptx));
    return parts ? addParts() : Status();
  }

  // The nest whose image holds the kernel of nest `i`.
  Build firstOf(size_t i) { return imageOf.empty() ? Build{this, i} : imageOf[i]; }

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
  std::map<std::string, std::string> nameless; // what kernels do, by name
  std::vector<Build> imageOf;                  // of each nest, the first whose kernel is equal
  std::map<std::string, std::int64_t> aligned; // what is copied
  NvrtcOutput copiesOutput;
  FoldChoice fold;
  const bool isOfParts; // of the program in parts
  std::vector<red::NestOp> nests;
  std::vector<KernelShape> shapes; // of nests
  std::unique_ptr<Compiler> parts; // the same program with streams in parts, or null
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
