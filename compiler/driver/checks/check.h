// Comparing what a compiled program computes with the float64 evaluation of its spec.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_CHECK_H
#define ATTNC_COMPILER_DRIVER_CHECKS_CHECK_H

#include "compiler/driver/execution/execute.h"
#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/tolerance/compare.h"
#include "compiler/frontend/frontend.h"

namespace attnc::driver {

/// What to run and compare.
struct CheckRequest {
  std::map<std::string, int64_t> extents; ///< of all dynamic dims
  std::map<std::string, double> params;   ///< those that are passed
  std::vector<uint64_t> seeds = {1};
  std::vector<evaluator::InputKind> kinds = {evaluator::InputKind::Random,
                                             evaluator::InputKind::Planted};
  TensorLayout layout; ///< of inputs and outputs in memory
  /// The reference is computed on samples of the parallel dims if the largest array that the spec
  /// names would have more elements than this.
  double maxElements = 1 << 28;
};

/// What a comparison says of an output.
enum class Verdict {
  Ok,        ///< right wherever the reference decides, which it does for at least half of it
  Undecided, ///< nothing is wrong, and the reference decides less than half
  Failed,
};

/// "ok", "undecided", "failed"
const char *verdictName(Verdict verdict);

/// One output under one set of inputs.
struct OutputCheck {
  std::string output;
  std::string inputs; ///< "random", "planted", ... or "given"
  uint64_t seed = 0;
  evaluator::Comparison compared;
  double tolerance = 0;            ///< at the worst element
  double expected = 0, actual = 0; ///< there
  std::string place;               ///< of the worst element: "b=0, h=1, i=16, e=3"
  int64_t unwritten = 0;           ///< elements that are still the poison that was there before
  /// Elements that anything would pass for: their tolerance exceeds `magnitude` or has no bound.
  int64_t vague = 0;
  int64_t undefined = 0; ///< of these: what float64 itself has lost on the way, as in 0 / 0
  double magnitude = 0;  ///< of the output, or 2^-6 of that of the inputs if it is smaller

  Verdict verdict() const;
  bool ok() const { return verdict() == Verdict::Ok; }
  /// One line: what differs, where, and how much; or how much is not decided, and why.
  std::string why() const;
};

struct CheckReport {
  std::vector<OutputCheck> outputs;
  /// Dims that the reference was computed for in part, with how many of their indices.
  std::map<std::string, int64_t> sampled;
  double milliseconds = 0; ///< of one run of the program

  /// The worst of the outputs; Ok if there are none.
  Verdict verdict() const;
  bool ok() const { return verdict() == Verdict::Ok; }
  /// The output with the largest ratio to its tolerance; null if there are none.
  const OutputCheck *worst() const;
};

/// Runs the program on seeded inputs of each kind and seed and compares every output, element by
/// element, with the evaluation of `spec` as it was before any pass, under the tolerance that the
/// evaluator derives. Errors: those of the executor and of the evaluator.
Result<CheckReport> checkProgram(const Spec &spec, const Executor &executor,
                                 const CheckRequest &request);

/// Compares outputs that were computed from `inputs`. `label` names the inputs in the report. With
/// a `productUnit` (EvalOptions) tolerances allow for it.
Result<CheckReport> checkOutputs(const Spec &spec, const evaluator::EvalInputs &inputs,
                                 const std::map<std::string, HostTensor> &outputs,
                                 const std::string &label, double maxElements = 1 << 28,
                                 double productUnit = 0);

/// The unit roundoff of the least exact products in the schedules of a program's kernels; 0 if all
/// are as exact as f32.
double productUnitOf(const Manifest &manifest);

/// The indices of parallel dims at which the reference is evaluated; empty if it is evaluated
/// whole. 66 of the largest dim that is never reduced, then 2 of further ones, until the largest
/// array has no more than `maxElements` elements.
std::map<std::string, std::vector<int64_t>>
chooseSamples(attn::ProgramOp program, const std::map<std::string, int64_t> &extents,
              double maxElements);

/// True if these samples leave no array of more than `maxElements` elements: too many dims are
/// reduced otherwise, and extents have to be smaller. `extents` are those of the dynamic dims.
bool canSample(attn::ProgramOp program, std::map<std::string, int64_t> extents, double maxElements);

/// The program of a spec.
attn::ProgramOp programOf(const Spec &spec);

/// A run of `manifest` on `inputs`.
RunRequest runRequest(const Manifest &manifest, const evaluator::EvalInputs &inputs);

/// An array in the type of a tensor, and back.
HostTensor toHostTensor(const evaluator::Array &array, DType dtype);
evaluator::Array toArray(const HostTensor &tensor, const std::vector<std::string> &dims);

} // namespace attnc::driver

#endif
