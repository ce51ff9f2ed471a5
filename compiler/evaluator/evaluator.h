// The reference evaluator: what a program means, in float64, with a bound on what f32 may lose.
//
// It evaluates attn ops and red.nest bodies (as graphs of whole arrays; roles, schedules and
// domains are ignored), so a program can be evaluated before and after any pass.
#ifndef ATTNC_COMPILER_EVALUATOR_EVALUATOR_H
#define ATTNC_COMPILER_EVALUATOR_EVALUATOR_H

#include "dialects/Attn/Attn.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace attnc::evaluator {

/// What an element is: floats are held in float64, integers and booleans in int64.
enum class ElementKind { Real, Whole, Bool };

/// A dense row-major array over named dims.
struct Array {
  std::vector<std::string> dims;
  std::vector<int64_t> shape;
  ElementKind kind = ElementKind::Real;
  std::vector<double> value;    // kind Real
  std::vector<int64_t> integer; // kinds Whole and Bool
  /// First-order bound, element by element, on the absolute error of an f32 computation before its
  /// result is stored; infinity where nothing can be said (a branch taken on a rounding error).
  /// Empty if the values are exact. See docs/notes/error-analysis.md.
  std::vector<double> error;
  /// Rounding of the store into the output's type: storeUnit * |value| + storeFloor.
  double storeUnit = 0;
  double storeFloor = 0;
  /// Largest finite number of the output's type; what is beyond it may be stored as infinity.
  double storeMax = std::numeric_limits<double>::infinity();

  int64_t size() const;
  /// The element at flat index `i`, as a double.
  double at(int64_t i) const {
    return kind == ElementKind::Real ? value[i] : static_cast<double>(integer[i]);
  }
  double errorAt(int64_t i) const { return error.empty() ? 0.0 : error[i]; }
};

/// What a program is evaluated on.
struct EvalInputs {
  std::map<std::string, Array> tensors;   // by attn.input's name, in its storage order
  std::map<std::string, double> params;   // those that are passed; the others take their default
  std::map<std::string, int64_t> extents; // of the dims that no input carries (others must agree)
};

/// The arithmetic of an evaluation.
enum class Precision {
  Double, ///< float64 throughout, with bounds on what f32 may lose
  /// As kernels compute: every scalar operation rounds to the type of its result (f32, or what the
  /// program converts to), sums add one term after the other in f32, a computed operand of a fold
  /// rounds to 16 bits where the schedule of its nest feeds tensor cores, and outputs round to
  /// their storage types. Elementary functions are correctly rounded. Arrays carry no bounds.
  EmulatedF32,
};

struct EvalOptions {
  Precision precision = Precision::Double;
  /// Also check that domains of nests leave out nothing that counts, in tiles of several sizes
  /// (domain_check.h); meant for small extents.
  bool checkDomains = false;
  /// Evaluate these dims only at these indices (ascending). Such a dim is a parallel one: a program
  /// that reduces it, or reads a computed array at another index of it, is refused.
  std::map<std::string, std::vector<int64_t>> sample;
  /// Bytes of intermediate arrays that may be alive at once; beyond it evaluation ends in an error.
  uint64_t memoryLimit = 8ull << 30;
  /// What sums of products round each factor to beside f32, as a unit roundoff: of schedules whose
  /// products are less exact. Bounds allow for it.
  double productUnit = 0;
  /// Threads to use; 0 means one for each core.
  unsigned threads = 0;
};

using Outputs = std::map<std::string, Array>;

/// Evaluates `program`; the outputs by name, in the storage order of their attn.output.
///
/// Errors: an input, param or extent that is missing, extents that disagree, a param outside its
/// range, a false attn.require, a read outside without `else`, an op without a rule, the memory
/// limit. The message begins with the place in the spec if there is one. Integer arithmetic wraps;
/// floor division and modulus by zero give 0. Thread-safe as long as nobody changes the program.
llvm::Expected<Outputs> evaluate(attn::ProgramOp program, const EvalInputs &inputs,
                                 const EvalOptions &options = {});

/// The extent of each dim of `program` under `inputs`; the same errors as evaluate.
llvm::Expected<std::map<std::string, int64_t>> bindExtents(attn::ProgramOp program,
                                                           const EvalInputs &inputs);

/// Adds to `extents` those that are static or computed from others. Errors: an extent that is
/// negative or disagrees with what `extents` says; a computed one whose sizes are unknown stays
/// unknown.
llvm::Error completeExtents(attn::ProgramOp program, std::map<std::string, int64_t> &extents);

} // namespace attnc::evaluator

#endif
