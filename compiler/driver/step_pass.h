// The pipeline for MLIR's pass manager.
#ifndef ATTNC_COMPILER_DRIVER_STEP_PASS_H
#define ATTNC_COMPILER_DRIVER_STEP_PASS_H

#include "compiler/driver/pipeline.h"
#include "mlir/Pass/PassManager.h"

namespace attnc::driver {

/// Adds passes that follow each other in the pipeline to a manager of modules. What `options`
/// points to must outlive it.
void addSteps(mlir::OpPassManager &module, llvm::ArrayRef<Step> steps,
              const PipelineOptions &options);

/// Registers each pass under its name, with `target=sm_80 override={"stream_tile": 64}` for those
/// that ask for options, and the pipeline as `attnc-pipeline`, which takes these, too, and
/// `from=PASS through=PASS` for a part of it.
void registerPipeline();

} // namespace attnc::driver

#endif
