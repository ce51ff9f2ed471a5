// The forms of kernels that a nest can have: one object for each, and the list of them.
#ifndef ATTNC_COMPILER_SCHEDULE_FORMS_FORM_H
#define ATTNC_COMPILER_SCHEDULE_FORMS_FORM_H

#include "attnc/result.h"
#include "compiler/schedule/forms/form_report.h"
#include "compiler/schedule/model/gpu_model.h"
#include "compiler/schedule/nest/planned_nest.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// A schedule that a nest can run by, and what is predicted of it, where something is.
struct Candidate {
  red::Schedule schedule;
  std::optional<double> share = {};  ///< of the tensor cores' peak
  std::optional<double> clocks = {}; ///< of a tile step
};

/// One way to compute nests. Has no state. A schedule that a method takes is of the form.
class Form {
public:
  virtual ~Form() = default;

  /// As schedules and JSON name it.
  virtual llvm::StringRef name() const = 0;
  /// Whether its kernels multiply tiles; others compute scalar by scalar.
  virtual bool hasTiles() const = 0;
  virtual std::vector<llvm::StringRef> keys() const = 0;
  /// Whether a value is of the kind of a key of the form. Error: which kind that is.
  virtual Status checkKind(llvm::StringRef key, const nlohmann::json &value) const = 0;

  /// Schedules for the nest that `check` accepts, the one to take first; if empty, `why` says why.
  virtual std::vector<Candidate> candidates(PlannedNest &nest, const GpuModel &machine,
                                            std::string &why) const = 0;
  /// The first of them, or null.
  virtual red::Schedule choose(PlannedNest &nest, const GpuModel &machine, std::string &why) const;
  /// Up to `count` schedules to measure, the best by prediction first.
  virtual std::vector<Candidate> tuneSpace(PlannedNest &nest, const GpuModel &machine,
                                           size_t count) const;
  /// Why the nest cannot run by the schedule on the machine, with what would do, or "".
  virtual std::string check(PlannedNest &nest, red::Schedule schedule,
                            const GpuModel &machine) const = 0;
  /// The schedule with the keys of an object. Others stay where the nest has the form, else they
  /// are as the compiler takes them. Error (InvalidArgument): a key, or why that cannot be.
  virtual Result<red::Schedule> withKeys(PlannedNest &nest, const GpuModel &machine,
                                         const nlohmann::json &keys) const = 0;
  /// The next schedule that needs fewer registers, of this form or of another, or null.
  virtual red::Schedule smaller(PlannedNest &nest, const GpuModel &machine) const { return {}; }
  /// The kernel of a nest with such a schedule, at the builder's insertion point. Fails, with an
  /// error at the nest, where the nest has no such form.
  virtual llvm::FailureOr<tile::KernelOp> lower(PlannedNest &nest,
                                                mlir::OpBuilder &builder) const = 0;
  /// Adds what explain says of the nest's schedule.
  virtual void report(PlannedNest &nest, const GpuModel &machine, ScheduleReport &into) const {}
  /// Where a schedule is from that the compiler takes.
  virtual llvm::StringRef source() const = 0;
  /// The keys that matter most, in short; `keys` are such as withKeys takes.
  virtual std::string describe(const nlohmann::json &keys) const = 0;
};

/// All forms, the one to prefer first. The last one takes every nest.
llvm::ArrayRef<const Form *> forms();
/// The form of a name, or null.
const Form *findForm(llvm::StringRef name);
/// That of the nest's schedule; of a nest without, the last one.
const Form &formOf(red::NestOp nest);
/// `"warpgroups", "portable" or "rows"`, for errors.
std::string formNames();

} // namespace attnc::schedule

#endif
