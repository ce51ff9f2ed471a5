// From a checked spec to something that runs: the pipeline, its records, and the Program.
#ifndef ATTNC_COMPILER_DRIVER_COMPILE_H
#define ATTNC_COMPILER_DRIVER_COMPILE_H

#include "attnc/result.h"
#include "compiler/codegen/cpu/cpu_target.h"
#include "compiler/driver/compile_watch.h"
#include "compiler/driver/images/deferred_images.h"
#include "compiler/driver/kernels/aligned_copies.h"
#include "compiler/driver/report/nest_work.h"
#include "compiler/driver/report/schedule_report.h"
#include "compiler/frontend/frontend.h"
#include "compiler/schedule/choice/tuning_database.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/gradient/halve.h"
#include "runtime/cuda/image_compiler.h"
#include "runtime/program/program.h"
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace attnc::driver {

/// How far the compilation goes. Each stage includes the ones before it; Ptx and Cubin are made
/// together. On the target "cpu" the last stage is Llvm, on a GPU it is Cubin.
enum class Stage { Attn, Red, Tile, Cuda, Cubin, Llvm };

/// Whether there are the variants for launches that would leave much of the GPU idle or have few
/// rows. From Stage::Tile on, and not on the cpu.
enum class SplitVariant {
  None,
  /// Its kernels are compiled when a launch first needs them (Compilation::deferred): for who runs
  /// the program in this process.
  OnFirstUse,
  /// Compiled with the others: for who stores the program, or looks at its kernels.
  Built
};

struct CompileOptions {
  std::string target = "cpu"; ///< "cpu", "sm_80", "sm_90a", ...
  Stage upTo = Stage::Cubin;
  /// Overrides of the schedule, as in a schedule file; null for none.
  nlohmann::json schedule;
  /// Measured schedules, which come before predicted ones; null for none.
  const schedule::TuningDatabase *tuned = nullptr;
  bool keepIr = false; ///< keep the IR after each pass, for explain
  /// Without it and keepIr, a compilation to Stage::Cubin has no IR as text: to print it takes half
  /// as long as to lower it.
  bool keepTexts = true;
  bool marksLines = false; ///< of that IR: the line of the spec at the ends of its lines
  /// Passes after which the IR is printed on stderr, as mlir-opt does; "all": each.
  std::vector<std::string> printAfter = {};
  /// Where to write what attnc-opt --run-reproducer does again, if a pass fails or crashes; empty:
  /// nowhere. It holds the program as it came and the passes.
  std::string reproducer = {};
  bool verifyPasses = false; ///< evaluate before and after each pass, stop at the first difference
  /// Needed for Stage::Cubin. What is left to first use keeps it.
  std::shared_ptr<const ImageCompiler> images = nullptr;
  SplitVariant parts = SplitVariant::None;
  /// Becomes Manifest::memoryBudget; none: any number of bytes.
  std::optional<std::int64_t> memoryBudget = {};
  /// Of dynamic dims: what reports count at, and where passes are verified (else at the spec's
  /// reference shape); the program does not depend on them.
  std::map<std::string, int64_t> extents = {};
  /// Those with which passes are verified; others have their defaults, or a value of their range.
  std::map<std::string, double> params = {};
  /// Told what is done, and asked whether there is time for it, between passes, nests and kernels,
  /// and by NVRTC; null: nobody. Of this compilation alone, not of what is left to first use.
  CompileWatch *watch = nullptr;
};

/// What one pass did.
struct PassRecord {
  std::string name;
  std::string summary; ///< one sentence
  std::string ir;      ///< after the pass, with names of the spec; empty unless keepIr
  double seconds = 0;  ///< for the program, and for its variants in parts
};

/// One nest of the result, in the order in which they run.
struct NestReport {
  std::string kernel; ///< name
  /// Of a nest that is computed with others: the name of their kernel, the tensors that it reads,
  /// and those that it stores in the shared memory of a block only. Else empty.
  std::string chain;
  std::vector<std::string> reads, kept;
  std::string form;       ///< "warpgroups", "portable", "generic" or "cpu"
  /// Why forms that are faster were passed over, "warpgroups, portable: why" each.
  std::vector<std::string> passedOver;
  std::vector<std::string> grid, row, stream, inner; ///< dims by role
  std::vector<std::string> gathers;                  ///< reads at subscripts from data, in words
  std::vector<std::string> packs;                    ///< where packed rows are stored, in words
  std::vector<std::string> streamed; ///< tensors read at subscripts that vary along the stream
  std::vector<std::string> states;   ///< in words
  std::vector<derivation::Step> derivation; ///< how the nest came about
  bool skipsTiles = false;                  ///< the domain bounds the stream
  NestWork work;                            ///< operations, and the part that the mask leaves
  std::string domain;              ///< lo, hi and full in words or C-like text; empty if none
  std::string schedule;            ///< as printed in the IR
  ScheduleReport scheduled;        ///< what that means
  std::vector<std::string> stores; ///< outputs and intermediates that it writes
  std::vector<std::string> intermediates; ///< those of `stores` that go through global memory
  /// The kernel in the tile dialect (keepTexts), and CUDA C++; empty on the cpu. The first nest of
  /// a chain has what all of its nests become, and the others nothing.
  std::string tile, source;
  std::string ptx, cubin; ///< moved to Compilation::program when all nests are compiled
  std::optional<KernelResources> resources;
  std::vector<std::string> ptxasNotes;

  /// The name of the kernel that is launched for it.
  const std::string &launched() const { return chain.empty() ? kernel : chain; }
};

/// The nests of a variant: kernels have their names behind the prefix.
struct VariantNests {
  std::string prefix; ///< split_variant.h has them
  std::vector<NestReport> nests;
};

/// A value of the forward program that kernels of the backward one compute again.
struct RecomputedReport {
  TensorDecl value;   ///< as it would be stored
  unsigned count = 1; ///< of the turns of an iteration
  std::vector<std::string> kernels;
};

/// The result of a compilation.
struct Compilation {
  /// Of a spec with `grad`: the backward program, which `program` has as an entry point. Its times
  /// and counts are its own, and those here are the forward program's.
  std::shared_ptr<const Compilation> backward;
  /// What this, the forward program, stores for it: outputs here, inputs there.
  std::vector<SavedValue> saved;
  /// Of the backward program: what it needs of the forward one that was not stored.
  std::vector<RecomputedReport> recomputed;
  std::string target;
  std::string name;
  std::vector<PassRecord> passes;
  std::vector<NestReport> nests;
  /// Those for launches that would leave much of the GPU idle, or that have few rows.
  std::vector<VariantNests> variants;
  AlignedCopies copies;              ///< what serves tensors that are not aligned; empty on the cpu
  std::string attn, red, tile, llvm; ///< IR as text, up to the stage reached (keepTexts)
  /// Manifest always (from Stage::Red on); images and sources for GPU targets.
  Program program;
  /// Makes the images that the program lacks; null if it has them all.
  std::shared_ptr<DeferredImages> deferred;
  /// The kernels of the target "cpu", by the names in the manifest; null for GPU targets.
  std::shared_ptr<const cpu::CpuExecutable> cpu;
  double seconds = 0;      ///< wall-clock time of the compilation
  double emitSeconds = 0;  ///< of that, for CUDA C++ and what is asked of its kernels
  double nvrtcSeconds = 0; ///< of that, spent waiting for NVRTC or the cache
  /// How long NVRTC took for each kernel, summed: more than nvrtcSeconds where they are compiled
  /// side by side.
  double kernelSeconds = 0;
  int imagesCompiled = 0, imagesCached = 0; ///< by NVRTC, and those that it had no part in
  int repeats = 0; ///< kernels compiled once more, with a smaller schedule, because they spilled
  double gradientSeconds = 0; ///< before both programs: to derive them, and divide the schedule
  double llvmSeconds = 0; ///< or from nests to machine code of the processor, nearly all in LLVM
};

/// Compiles a spec; with `grad`, its forward and its backward program as the two entry points of
/// one. The spec's module is read and not changed. Errors: InvalidArgument for what the
/// target or the schedule cannot do (located in the spec where it has a place), Compilation for
/// NVRTC's and for a limit of the watch, Internal for a bug of ours, with what to report.
/// Thread-safe for different contexts.
Result<Compilation> compile(const Spec &spec, const CompileOptions &options);

/// The dialects that a context needs, loaded.
void loadDialects(mlir::MLIRContext &context);

} // namespace attnc::driver

#endif
