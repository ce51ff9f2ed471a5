#include "compiler/driver/compile.h"
#include "compiler/driver/build_images.h"
#include "compiler/driver/cut_finishes.h"
#include "compiler/driver/fold_choice.h"
#include "compiler/driver/host_code.h"
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
#include "compiler/schedule/lower_rows.h"
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
    result.attn = textOf(*module);
    Status status = lowerToTarget();
    if (!status)
      return status.error();
    result.seconds = secondsSince(start);
    return std::move(result);
  }

private:
  bool onCpu() const { return options.target == "cpu"; }
  bool reaches(Stage stage) const { return options.upTo >= stage; }
  bool keepsTexts() const {
    return options.keepTexts || options.keepIr || options.upTo != Stage::Cubin;
  }
  std::string textOf(Operation *op) const { return keepsTexts() ? printIr(op) : ""; }

  Status lowerToTarget() {
    if (!reaches(Stage::Red))
      return {};
    if (Status status = runSteps(); !status)
      return status;
    if (onCpu())
      return compileForCpu();
    if (Status status = scheduleNests(); !status)
      return status;
    if (reaches(Stage::Tile))
      return compileForGpu();
    result.red = textOf(*module);
    return {};
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
      if (Status status = enter(options.watch, step.name); !status)
        return status;
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
    if (onCpu())
      result.red = textOf(*module);
    return options.watch ? options.watch->addKernels(result.nests.size()) : Status();
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
    for (const NestReport &report : result.nests)
      describe(*findKernel(report.kernel), report);
    if (!reaches(Stage::Llvm) && options.upTo != Stage::Cubin)
      return {};
    Clock::time_point start = Clock::now();
    llvm::Expected<cpu::ObjectCode> code =
        cpu::compileObject(*module, {.keepLlvmIr = options.upTo == Stage::Llvm});
    if (!code)
      return internalError(llvm::toString(code.takeError()), "report this with the spec");
    addObject(std::move(*code));
    Result<std::shared_ptr<const cpu::CpuExecutable>> executable = loadForHost(result.program);
    if (!executable)
      return executable.error();
    result.cpu = *std::move(executable);
    result.llvmSeconds = secondsSince(start);
    return {};
  }

  // One object holds all kernels.
  void addObject(cpu::ObjectCode code) {
    for (auto [decl, symbol] : llvm::zip_equal(result.program.manifest.kernels, code.symbols)) {
      decl.image = "kernels";
      decl.symbol = symbol;
      decl.notes = code.leftOut;
    }
    result.program.images.push_back({ImageKind::Object, "kernels", std::move(code.object)});
    result.program.processor = std::move(code.processor);
    result.llvm = std::move(code.llvmIr);
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
    if (Status status = enter(options.watch, "choose-schedule"); !status)
      return status;
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
      reportScheduleOf(nest, options.target, report);
      if (!schedule::hasTiles(nest) && schedule::canLowerStream(nest, report.whyGeneric))
        report.whyGeneric = "no tile of the stream form fits " + options.target +
                            ", or the schedule asks for this form";
      if (std::string why; report.form == "generic" && !schedule::canLowerRows(nest, why))
        report.whyGeneric += "; " + why;
    }
    return {};
  }

  Status compileForGpu() {
    Clock::time_point start = Clock::now();
    if (Status status = lowerNests(); !status)
      return status;
    lowerParts();
    // Of the program in parts too: one without it would be another program.
    if (options.watch)
      if (auto crossed = options.watch->crossed())
        return crossed->error;
    double lowering = secondsSince(start);
    if (Status status = kernels->makeCopies(); !status)
      return status;
    if (reaches(Stage::Cubin))
      if (Status status = buildImages(); !status)
        return status;
    if (keepsTexts())
      for (const NestReport &report : result.nests)
        result.tile += report.tile + "\n";
    result.red = textOf(program);
    result.passes.push_back({"lower-nests", "kernels with tiles, copies and barriers",
                             options.keepIr ? result.tile : "", lowering});
    return finishProgram();
  }

  // Tile IR and CUDA C++ of all nests.
  Status lowerNests() {
    // What somebody has chosen is not changed behind their back.
    kernels.emplace(program, options.target, result.nests, errors,
                    NestKernels::Choices{.withSources = reaches(Stage::Cuda),
                                         .withTexts = keepsTexts(),
                                         .keepSchedules = !overrides.empty(),
                                         .isOfParts = isOfParts});
    return kernels->lower(options.watch);
  }

  Status buildImages() {
    if (!options.images)
      return environmentError("NVRTC is needed for " + options.target,
                              "install the CUDA toolkit 13, or use --target cpu");
    std::vector<NestKernels *> programs = {&*kernels};
    if (parts)
      programs.push_back(&*parts->kernels);
    build.emplace(std::move(programs), parts && options.parts == PartsVariant::OnFirstUse);
    Status status = build->run(*options.images, options.target, options.watch);
    result.nvrtcSeconds = build->waitSeconds;
    result.kernelSeconds = build->kernelSeconds;
    result.imagesCompiled = build->compiled;
    result.imagesCached = build->cached;
    result.repeats = build->repeats;
    return status;
  }

  //===--- streams in parts ------------------------------------------------------------------===//

  // The program with its streams in parts, as a variant for launches that would leave much of the
  // GPU idle. What somebody has chosen in the schedule stands for one program, not for two.
  void lowerParts() {
    bool wanted = options.parts != PartsVariant::None && fold.fold == FoldChoice::Fold::Auto &&
                  overrides.empty() && !isOfParts;
    if (!wanted || llvm::none_of(kernels->allNests(), canBeInParts))
      return;
    auto compiler = std::make_unique<Compiler>(spec, options, /*isOfParts=*/true);
    if (compiler->runSteps() && compiler->scheduleNests() && foldsPartsByTiles(compiler->program) &&
        compiler->lowerNests())
      parts = std::move(compiler);
  }

  Status addParts() {
    if (Status status = parts->kernels->makeCopies(); !status)
      return status;
    if (Status status = parts->makeManifest(); !status)
      return status;
    addPartsVariant(result.program.manifest, parts->result.program.manifest,
                    partsOfMachine(parts->program, parts->kernels->allShapes(),
                                   fold.parts.value_or(kMostParts)));
    for (auto [i, report] : llvm::enumerate(parts->result.nests)) {
      std::string name = partsName(report.kernel);
      if (KernelDecl *decl = findKernel(name))
        setImage(*decl, *parts->kernels, i);
      addImages(name, report.source, std::move(report.cubin), std::move(report.ptx));
    }
    deferImages();
    result.partsNests = std::move(parts->result.nests);
    return checkManifest(result.program.manifest);
  }

  // What is left to the first launch that needs it.
  void deferImages() {
    if (!build || build->waiting().empty())
      return;
    for (const KernelOf &kernel : build->waiting())
      result.program.images.push_back({ImageKind::Cuda, kernel.image(), kernel.report().source});
    result.deferred = deferredImagesOf(result.program, options.images);
  }

  //===--- the program -----------------------------------------------------------------------===//

  Status finishProgram() {
    if (Status status = makeManifest(); !status)
      return status;
    if (fold.fold == FoldChoice::Fold::TwoPass && !fold.parts)
      setParts(result.program.manifest, partsOfMachine(program, kernels->allShapes(), kMostParts));
    for (auto [i, report] : llvm::enumerate(result.nests)) {
      if (KernelDecl *decl = findKernel(report.kernel))
        setImage(*decl, *kernels, i);
      addImages(report.kernel, report.source, std::move(report.cubin), std::move(report.ptx));
    }
    NvrtcOutput copies = build ? std::move(build->copies) : NvrtcOutput();
    for (const KernelReport &kernel : copies.kernels)
      if (KernelDecl *decl = findKernel(kernel.symbol))
        decl->resources = kernel.resources;
    if (reaches(Stage::Cuda))
      addImages(result.copies.image, result.copies.source, std::move(copies.cubin),
                std::move(copies.ptx));
    return parts ? addParts() : Status();
  }

  Status makeManifest() {
    result.copies = kernels->copies();
    return makeManifest(kernels->allShapes());
  }

  // So that a program says without the compiler what its kernels are.
  static void describe(KernelDecl &decl, const NestReport &report) {
    decl.form = report.form;
    decl.schedule = report.schedule;
    decl.notes = llvm::join(report.ptxasNotes, "\n");
  }

  // Where the kernel of a nest is, and what it needs.
  void setImage(KernelDecl &decl, const NestKernels &of, size_t number) const {
    const NestReport &report = of.report(number);
    decl.resources = report.resources;
    describe(decl, report);
    if (build) {
      KernelOf first = build->firstOf(of, number);
      decl.image = first.image();
      decl.symbol = first.report().kernel;
    } else {
      decl.image = of.image(number);
      decl.symbol = report.kernel;
    }
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
  nlohmann::json overrides; // of the schedule
  FoldChoice fold;
  const bool isOfParts;               // of the program in parts
  std::optional<NestKernels> kernels; // for a GPU
  std::optional<ImageBuild> build;    // of these and of the kernels in parts
  std::unique_ptr<Compiler> parts;    // the same program with streams in parts, or null
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
