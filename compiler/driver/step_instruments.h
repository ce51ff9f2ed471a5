// What looks on while the pipeline runs, and may end it.
#ifndef ATTNC_COMPILER_DRIVER_STEP_INSTRUMENTS_H
#define ATTNC_COMPILER_DRIVER_STEP_INSTRUMENTS_H

#include "compiler/driver/checks/verify_pass.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/reported_errors.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace attnc::driver {

/// Is told of the passes of the table alone, not of what MLIR runs between them. An error ends the
/// run, as that of the pass; nobody is told of anything then.
class StepInstrument : public mlir::PassInstrumentation {
protected:
  explicit StepInstrument(std::optional<Error> &error) : error(error) {}
  virtual Status before(const Step &, mlir::Operation *) { return {}; }
  /// Not where the pass has failed.
  virtual Status after(const Step &, mlir::Operation *) { return {}; }

private:
  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) final;
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) final;
  void endIfFailed(mlir::Pass *pass, Status status);
  std::optional<Error> &error; ///< PipelineOptions::error
};

/// Asks the watch before each pass whether there is time for it.
class WatchInstrument : public StepInstrument {
public:
  WatchInstrument(CompileWatch &watch, std::optional<Error> &error)
      : StepInstrument(error), watch(watch) {}

private:
  Status before(const Step &step, mlir::Operation *op) override;
  CompileWatch &watch;
};

/// Records what each pass did, those about kernels of all kernels together.
class RecordInstrument : public StepInstrument {
public:
  RecordInstrument(std::vector<PassRecord> &records, bool keepIr, std::optional<Error> &error)
      : StepInstrument(error), records(records), keepIr(keepIr) {}

private:
  Status before(const Step &step, mlir::Operation *op) override;
  Status after(const Step &step, mlir::Operation *op) override;
  std::vector<PassRecord> &records;
  const bool keepIr;
  std::chrono::steady_clock::time_point start;
};

/// MLIR's verifier after the passes about programs, and of the kernels that come out.
class ValidInstrument : public StepInstrument {
public:
  ValidInstrument(const ReportedErrors &reported, std::optional<Error> &error)
      : StepInstrument(error), reported(reported) {}

private:
  Status after(const Step &step, mlir::Operation *op) override;
  const ReportedErrors &reported;
};

/// Evaluates the program after each pass that has changed it.
class MeaningInstrument : public StepInstrument {
public:
  /// `programs` run one after the other; the last one is what the passes change.
  MeaningInstrument(PassVerifier verifier, llvm::SmallVector<attn::ProgramOp> programs,
                    std::optional<Error> &error)
      : StepInstrument(error), verifier(std::move(verifier)), programs(std::move(programs)),
        text(printIr(this->programs.back())) {}

private:
  Status after(const Step &step, mlir::Operation *op) override;
  const PassVerifier verifier;
  llvm::SmallVector<attn::ProgramOp> programs;
  std::string text; ///< of the last one, after the pass before
};

/// Calls a function after each pass.
class CallInstrument : public StepInstrument {
public:
  using Call = std::function<Status(const Step &)>;
  CallInstrument(Call call, std::optional<Error> &error)
      : StepInstrument(error), call(std::move(call)) {}

private:
  Status after(const Step &step, mlir::Operation *) override { return call(step); }
  const Call call;
};

} // namespace attnc::driver

#endif
