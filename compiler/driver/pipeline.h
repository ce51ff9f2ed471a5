// The passes of a compilation, in order.
#ifndef ATTNC_COMPILER_DRIVER_PIPELINE_H
#define ATTNC_COMPILER_DRIVER_PIPELINE_H

#include "attnc/result.h"
#include "compiler/schedule/choice/tuning_database.h"
#include "dialects/Red/Red.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace attnc::driver {

/// What passes are told.
struct PipelineOptions {
  std::string target = {}; ///< "cpu", "sm_80", ...
  /// The keys of the schedule (schedule_override.h), those that say how streams are folded too.
  nlohmann::json overrides = nlohmann::json::object();
  const schedule::TuningDatabase *tuned = nullptr; ///< measured schedules; may be null
  /// Where the error of a pass goes, whole; null: it is reported at the operation.
  std::optional<Error> *error = nullptr;
};

/// One pass. All but the last ones are about a program and keep its meaning; those about a kernel
/// keep the kernel's.
struct Step {
  const char *name;    ///< the pass's name, that of its file
  const char *summary; ///< one sentence
  /// What it runs on: a program, the module with the program and its kernels, or a kernel.
  enum class On { Program, Module, Kernel } on;
  Status (*transform)(mlir::Operation *op, const PipelineOptions &options);
  bool asksOptions = false; ///< it has the options `target` and `override`

  /// Errors: of the schedule that `options` asks for; Internal, a bug of ours.
  Status run(mlir::Operation *op, const PipelineOptions &options = {}) const {
    return transform(op, options);
  }
};

/// All passes, from what the user wrote to the kernels in the tile dialect.
llvm::ArrayRef<Step> pipelineSteps();

/// The passes whose names are `first` to `last`. Both must exist.
llvm::ArrayRef<Step> steps(llvm::StringRef first, llvm::StringRef last);

/// From what the user wrote to fused nests: those that need no target. Each runs on the program.
llvm::ArrayRef<Step> targetIndependentSteps();

/// The first step for this program. One in fold form, as halve makes it, is one that reassociate
/// has left.
llvm::StringRef firstStepOf(attn::ProgramOp program);

/// The pass of this name; null if there is none.
const Step *findStep(llvm::StringRef name);

/// What stands before the line of the spec at the end of a line of IR.
inline constexpr const char *lineMark = " // line ";

/// The IR of `op` as text, with the spec's names for its values; with `marksLines`, each line that
/// begins an operation ends with the line of the spec that it comes from.
std::string printIr(mlir::Operation *op, bool marksLines = false);

} // namespace attnc::driver

#endif
