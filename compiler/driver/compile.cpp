#include "compiler/driver/compile.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/divide_schedule.h"
#include "compiler/driver/entries.h"
#include "compiler/driver/gradient.h"
#include "compiler/driver/images/build_images.h"
#include "compiler/driver/images/host_code.h"
#include "compiler/driver/images/side_by_side.h"
#include "compiler/driver/kernels/fold_choice.h"
#include "compiler/driver/kernels/manifest_builder.h"
#include "compiler/driver/kernels/split_variant.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/report/nest_report.h"
#include "compiler/driver/report/recomputed_report.h"
#include "compiler/driver/reported_errors.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/driver/step_instruments.h"
#include "compiler/driver/step_pass.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/slab/join_sums.h"
#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/steps/step_text.h"
#include "compiler/schedule/stream/stream_plan.h"
#include "compiler/schedule/threads/lower_rows.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  Compiler(const Spec &spec, const CompileOptions &options, VariantProgram own = {})
      : spec(spec), options(options), module(cast<ModuleOp>(spec.module.get()->clone())),
        program(*module->getOps<attn::ProgramOp>().begin()), errors(module->getContext()),
        own(std::move(own)) {}

  /// The program is the backward one of `specs`, which differentiate `original`. The reports are to
  /// say what it computes again, and passes are verified with the forward program before it.
  void setGradients(const GradientSpecs &specs, const Spec &of) {
    gradients = &specs;
    original = &of;
  }

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
  std::string textOf(Operation *op) const {
    return keepsTexts() ? printIr(op, options.marksLines) : "";
  }

  Status lowerToTarget() {
    if (!reaches(Stage::Red))
      return {};
    if (Status status = runPasses(); !status)
      return status;
    if (onCpu())
      return compileForCpu();
    if (reaches(Stage::Tile))
      return compileForGpu();
    result.red = textOf(*module);
    return {};
  }

  //===--- the pipeline ----------------------------------------------------------------------===//

  Status runPasses() {
    nlohmann::json keys = scheduleKeys(spec, options.schedule);
    overrides = keys;
    Result<FoldChoice> choice = takeFoldChoice(overrides);
    if (!choice)
      return choice.error();
    fold = *choice;
    if (own.isVariant()) {
      fold.fold = own.fold;
      fold.slabBytes = own.slabBytes;
      fold.joinsSums = own.joinsSums;
      keys.update(own.keys());
    }
    std::optional<Error> error;
    PassManager passes(module->getContext(), ModuleOp::getOperationName());
    addSteps(passes,
             steps(firstStepOf(program),
                   lowersNests() ? pipelineSteps().back().name : "choose-schedules"),
             {options.target, std::move(keys), options.tuned, &error});
    if (Status status = instrument(passes, error); !status)
      return status;
    if (failed(passes.run(*module)))
      return error ? std::move(*error) : bug();
    return {};
  }

  void addDumps(PassManager &passes) {
    auto isAsked = [this](Pass *pass, Operation *) {
      StringRef name = pass->getArgument();
      return !name.empty() && llvm::any_of(options.printAfter, [&](const std::string &asked) {
        return asked == "all" || asked == name;
      });
    };
    if (!options.printAfter.empty())
      passes.enableIRPrinting(nullptr, isAsked, /*printModuleScope=*/false,
                              /*printAfterOnlyOnChange=*/false,
                              /*printAfterOnlyOnFailure=*/false, llvm::errs(),
                              OpPrintingFlags().printNameLocAsPrefix());
    if (!options.reproducer.empty())
      passes.enableCrashReproducerGeneration(options.reproducer);
  }

  bool lowersNests() const { return !onCpu() && reaches(Stage::Tile); }

  // What comes last is told first of what a pass has done.
  Status instrument(PassManager &passes, std::optional<Error> &error) {
    passes.enableVerifier(false); // ValidInstrument does that, where it is worth its time
    if (!own.isVariant())
      addDumps(passes);
    auto add = [&]<typename Instrument>(std::unique_ptr<Instrument> instrument) {
      passes.addInstrumentation(std::move(instrument));
    };
    add(std::make_unique<CallInstrument>([this](const Step &step) { return report(step); }, error));
    if (options.verifyPasses) {
      std::map<std::string, int64_t> extents = options.extents;
      extents.merge(referenceExtents(spec));
      SmallVector<attn::ProgramOp> programs = {program};
      if (gradients)
        programs.insert(programs.begin(), programOf(gradients->forward));
      Result<PassVerifier> verifier =
          gradients
              ? PassVerifier::createForGradients(programOf(*original), programOf(gradients->whole),
                                                 extents, options.params)
              : PassVerifier::create(program, extents, options.params);
      if (!verifier)
        return verifier.error();
      if (gradients)
        if (Status status = verifier->check(programs, "halve"); !status)
          return status;
      add(std::make_unique<MeaningInstrument>(std::move(*verifier), std::move(programs), error));
    }
    add(std::make_unique<ValidInstrument>(errors, error));
    if (options.watch)
      add(std::make_unique<WatchInstrument>(*options.watch, error));
    add(std::make_unique<RecordInstrument>(result.passes, options.keepIr, error));
    return {};
  }

  // What the reports say of the nests at this point.
  Status report(const Step &step) {
    if (&step == findStep("pack-results")) {
      for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
        result.nests.push_back(reportNest(nest, options.extents));
      if (gradients)
        result.recomputed = reportRecomputed(program, gradients->cotangents, gradients->recomputed);
      return options.watch ? options.watch->addKernels(result.nests.size()) : Status();
    }
    if (&step == findStep("lower-nests"))
      for (auto [kernel, nest] : llvm::zip_equal(kernelsOfNests(), result.nests))
        nest.scheduled.steps = schedule::stepLines(kernel);
    if (&step == findStep("choose-schedules") && !onCpu()) {
      reportSchedules();
      if (red::NestOp other = nestOfOtherForm(program))
        return refuseForm(other);
      if (own.isInParts() && !foldsSplitsByTiles(program))
        return compilationError("parts are not folded by tiles", "fold the stream in one pass");
    }
    return {};
  }

  // Of a nest that only kernels of warpgroups know how to compute.
  static Error refuseForm(red::NestOp nest) {
    std::string key = nest->hasAttr(schedule::kSlabAttr) ? "slab_bytes" : "joined_sums";
    schedule::PlannedNest planned(nest);
    std::string why = planned.whyNoStream();
    if (planned.ofHalves() && schedule::canUseWarpgroups(*planned.ofHalves(), why))
      why = "no schedule of that form fits, or another one is asked for";
    return invalidArgument("schedule: " + key + ": " + schedule::kernelName(nest) +
                               " has no kernel of the form warpgroups, which alone knows " +
                               (key == "slab_bytes" ? "slabs: " : "sums over rows: ") + why,
                           "leave " + key +
                               " out of the schedule, or name a schedule of that "
                               "form for the kernel");
  }

  SmallVector<tile::KernelOp> kernelsOfNests() {
    auto kernels = llvm::to_vector(module->getOps<tile::KernelOp>());
    llvm::erase_if(kernels, [](tile::KernelOp kernel) {
      return kernel.getCompanion() || kernel.callsOthers();
    });
    return kernels;
  }

  void reportSchedules() {
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      reportScheduleOf(nest, options.target, report);
    }
  }

  Error bug() {
    return internalError("the program cannot be compiled: " + errors.str(),
                         "report this with the spec");
  }

  //===--- cpu -------------------------------------------------------------------------------===//

  Status compileForCpu() {
    result.red = textOf(*module);
    std::vector<KernelShape> kernels;
    for (auto [nest, report] :
         llvm::zip(program.getBodyBlock()->getOps<red::NestOp>(), result.nests)) {
      report.form = tile::CpuAttr::getMnemonic().str();
      report.scheduled.how = "loops over tiles, compiled by LLVM for this processor";
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

  Status compileForGpu() {
    if (Status status = takeKernels(); !status)
      return status;
    lowerVariants();
    // Of the program in parts too: one without it would be another program.
    if (options.watch)
      if (auto crossed = options.watch->crossed())
        return crossed->error;
    if (Status status = kernels->makeCopies(); !status)
      return status;
    if (reaches(Stage::Cubin))
      if (Status status = buildImages(); !status)
        return status;
    if (keepsTexts())
      for (const NestReport &report : result.nests)
        result.tile += report.tile + "\n";
    result.red = textOf(program);
    return finishProgram();
  }

  // The kernels of all nests, and their CUDA C++.
  Status takeKernels() {
    Clock::time_point start = Clock::now();
    // What somebody has chosen is not changed behind their back.
    kernels.emplace(program, options.target, result.nests, errors,
                    NestKernels::Choices{.withSources = reaches(Stage::Cuda),
                                         .withTexts = keepsTexts(),
                                         .marksLines = options.marksLines,
                                         .keepSchedules = !overrides.empty() || own.packs(),
                                         .prefix = own.prefix});
    Status status = kernels->takeAll(options.watch);
    result.emitSeconds = secondsSince(start);
    return status;
  }

  Status buildImages() {
    if (!options.images)
      return environmentError("NVRTC is needed for " + options.target,
                              "install the CUDA toolkit 13, or use --target cpu");
    std::vector<NestKernels *> programs = {&*kernels};
    for (const std::unique_ptr<Compiler> &variant : variants)
      programs.push_back(&*variant->kernels);
    build.emplace(std::move(programs), options.parts == SplitVariant::OnFirstUse);
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
  // GPU idle; those for few rows, in one pass and in parts; and those for short sequences. What
  // somebody has chosen in the schedule stands for one program, not for several.
  void lowerVariants() {
    if (options.parts == SplitVariant::None || fold.fold != FoldChoice::Fold::Auto ||
        !overrides.empty() || own.isVariant() || fold.slabBytes.value_or(0) > 0 ||
        fold.joinsSums.value_or(false))
      return;
    lowerInParts();
    if (!lowerSlab())
      lowerJoined();
    for (auto [each, keys] :
         llvm::zip(schedule::shortSequences(), shortKeys(program, options.target)))
      if (!keys.empty())
        lowerVariant({each.prefix.str(), FoldChoice::Fold::OnePass, keys, &each});
  }

  bool hasWarpgroups() const {
    const schedule::GpuModel *machine = schedule::findGpuModel(options.target);
    return machine && machine->warpgroups;
  }

  // The program that stores weights, where there are such.
  bool lowerSlab() {
    OwningOpRef<attn::ProgramOp> trial = program.clone();
    if (fold.slabBytes || !hasWarpgroups() ||
        !schedule::storeWeights(*trial, kSlabBytes, schedule::kSlabColumns))
      return false;
    VariantProgram variant{kSlabPrefix.str()};
    variant.slabBytes = kSlabBytes;
    return lowerVariant(std::move(variant));
  }

  // The program whose blocks add to each other's sums, where there are such.
  void lowerJoined() {
    OwningOpRef<attn::ProgramOp> trial = program.clone();
    if (fold.joinsSums || !hasWarpgroups() || !schedule::joinSums(*trial) ||
        !schedule::areSumsWorthIt(*trial, *schedule::findGpuModel(options.target)))
      return;
    VariantProgram variant{kJoinedPrefix.str()};
    variant.joinsSums = true;
    if (lowerVariant(std::move(variant)) && hasLoneGroup(variants.back()->program))
      variants.pop_back();
  }

  // A group beside which nobody computes takes longer than kernels that make the weights anew.
  // Measured of causal D128 on an H200: 2.05 and 1.88 ms (not recorded).
  static bool hasLoneGroup(attn::ProgramOp program) {
    return llvm::any_of(program.getBodyBlock()->getOps<red::NestOp>(), [](red::NestOp nest) {
      auto schedule = tile::scheduleAs<tile::WarpgroupSchedule>(nest.getScheduleAttr());
      return schedule && schedule->adderRegisters && schedule->groups == 1;
    });
  }

  void lowerInParts() {
    if (llvm::none_of(kernels->allNests(), canBeSplit) ||
        !lowerVariant({kSplitPrefix.str(), FoldChoice::Fold::TwoPass}))
      return;
    nlohmann::json once = fewRowsKeys(program, options.target);
    nlohmann::json inParts = fewRowsKeys(variants.front()->program, options.target);
    if (once.empty() || inParts.empty() ||
        !lowerVariant({kPackedPrefix.str(), FoldChoice::Fold::OnePass, once}) ||
        !lowerVariant({kPackedSplitPrefix.str(), FoldChoice::Fold::TwoPass, inParts}))
      variants.resize(1); // each leaves some launches with few rows to the other
  }

  bool lowerVariant(VariantProgram variant) {
    auto compiler = std::make_unique<Compiler>(spec, options, std::move(variant));
    bool isWhole = compiler->runPasses() && compiler->takeKernels();
    for (auto [pass, ofParts] : llvm::zip(result.passes, compiler->result.passes))
      pass.seconds += ofParts.seconds;
    result.emitSeconds += compiler->result.emitSeconds;
    if (isWhole)
      variants.push_back(std::move(compiler));
    return isWhole;
  }

  Status addVariants() {
    std::map<std::string, Expr> counts;
    ownVariants = result.program.manifest.variants.size();
    for (const std::unique_ptr<Compiler> &variant : variants)
      if (Status status = addVariant(*variant, counts); !status)
        return status;
    setSplits(result.program.manifest, counts);
    deferImages();
    for (const std::unique_ptr<Compiler> &variant : variants)
      result.variants.push_back({variant->own.prefix, std::move(variant->result.nests)});
    return checkManifest(result.program.manifest);
  }

  // `counts` are the parts that streams have in the variants before it, and then in it too.
  Status addVariant(Compiler &variant, std::map<std::string, Expr> &counts) {
    Status status = variant.kernels->makeCopies();
    if (status)
      status = variant.makeManifest();
    if (!status)
      return status;
    Expr when = chooseVariant(variant.own, variant.program, variant.kernels->allShapes(),
                              fold.parts.value_or(kMostParts), counts);
    // Those for short sequences come behind the others.
    size_t others = result.program.manifest.variants.size() - ownVariants;
    driver::addVariant(result.program.manifest, variant.result.program.manifest,
                       variant.result.copies, variant.own, when,
                       variant.own.sequences ? others : 0);
    addKernels(variant);
    return {};
  }

  // Those of this program, or of a variant.
  void addKernels(Compiler &of) {
    for (auto [i, report] : llvm::enumerate(of.result.nests)) {
      if (!of.kernels->hasKernel(i))
        continue;
      std::string name = of.kernels->image(i);
      if (KernelDecl *decl = findKernel(name)) {
        setImage(*decl, *of.kernels, i);
        const KernelShape &shape = of.kernels->allShapes()[i];
        for (const std::vector<KernelShape> &companions : {shape.before, shape.after})
          for (const KernelShape &each : companions)
            setImageOfFirst(*findKernel(of.own.prefix + each.name),
                            each.name.substr(shape.name.size()), *decl);
      }
      addImages(name, report.source, std::move(report.cubin), std::move(report.ptx));
    }
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
      setSplits(result.program.manifest, splitsThatFill(program, kernels->allShapes(), kMostParts));
    addKernels(*this);
    NvrtcOutput copies = build ? std::move(build->copies) : NvrtcOutput();
    for (const KernelReport &kernel : copies.kernels)
      if (KernelDecl *decl = findKernel(kernel.symbol))
        decl->resources = kernel.resources;
    if (reaches(Stage::Cuda))
      addImages(result.copies.image, result.copies.source, std::move(copies.cubin),
                std::move(copies.ptx));
    return variants.empty() ? Status() : addVariants();
  }

  Status makeManifest() {
    result.copies = kernels->copies();
    return makeManifest(kernels->allShapes());
  }

  // So that a program says without the compiler what its kernels are.
  static void describe(KernelDecl &decl, const NestReport &report) {
    bool isAlone = report.chain.empty(); // the nests of a chain have a schedule each
    decl.form = isAlone ? report.form : "chain";
    decl.schedule = isAlone ? report.schedule : "";
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
      decl.symbol = first.symbol();
    } else {
      decl.image = of.image(number);
      decl.symbol = of.symbol(number);
    }
  }

  // That of a companion of another kernel, in one image with it.
  static void setImageOfFirst(KernelDecl &decl, const std::string &suffix, const KernelDecl &of) {
    decl.image = of.image;
    decl.symbol = of.symbol + suffix;
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
  const GradientSpecs *gradients = nullptr; // null but for a backward program
  const Spec *original = nullptr;           // which that differentiates
  OwningOpRef<ModuleOp> module;
  attn::ProgramOp program;
  ReportedErrors errors;
  nlohmann::json overrides; // of the schedule, without what `fold` says
  FoldChoice fold;
  const VariantProgram own;
  std::optional<NestKernels> kernels;              // for a GPU
  std::optional<ImageBuild> build;                 // of these and of the kernels of variants
  std::vector<std::unique_ptr<Compiler>> variants; // the same program otherwise
  size_t ownVariants = 0;                          // of the manifest, before theirs
  Compilation result;
};

} // namespace

static Result<Compilation> compileBackward(const Spec &spec, const GradientSpecs &specs,
                                           const CompileOptions &options) {
  Compiler compiler(specs.backward, options);
  compiler.setGradients(specs, spec);
  return compiler.run();
}

Result<Compilation> compile(const Spec &spec, const CompileOptions &options) {
  if (spec.grad.empty())
    return Compiler(spec, options).run();
  Clock::time_point start = Clock::now();
  Result<GradientSpecs> specs = differentiateSpec(spec);
  if (!specs)
    return specs.error();
  if (Status status = divideSchedule(*specs, options.schedule, options.target); !status)
    return status.error();
  double gradientSeconds = secondsSince(start);
  CompileOptions ofEach = options;
  ofEach.schedule = nullptr; // each of the specs has its own
  Result<Compilation> forward = compile(specs->forward, ofEach);
  Result<Compilation> backward =
      forward ? compileBackward(spec, *specs, ofEach) : Result<Compilation>(forward.error());
  if (!backward)
    return backward.error();
  forward->gradientSeconds = gradientSeconds;
  addEntry(forward->program, backwardEntry, backward->program);
  forward->deferred = deferredImagesOf(forward->program, options.images);
  forward->saved = std::move(specs->saved);
  forward->backward = std::make_shared<const Compilation>(*std::move(backward));
  return forward;
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<attn::AttnDialect, red::RedDialect, tile::TileDialect, arith::ArithDialect,
                      math::MathDialect, scf::SCFDialect>();
}

} // namespace attnc::driver
