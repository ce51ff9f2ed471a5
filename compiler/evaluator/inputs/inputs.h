// Seeded inputs for a program: ordinary ones and adversarial ones.
#ifndef ATTNC_COMPILER_EVALUATOR_INPUTS_INPUTS_H
#define ATTNC_COMPILER_EVALUATOR_INPUTS_INPUTS_H

#include "compiler/evaluator/evaluator.h"

#include <optional>

namespace attnc::evaluator {

enum class InputKind {
  /// Floats near normal(0, 1), integers in 0..3, booleans and bytes 0 or 1. Integers that serve as
  /// subscripts are inside, but for one in 16 (subscript_inputs.h).
  Random,
  /// One index of each stream dim carries about three quarters of a softmax's weight, so an element
  /// that is dropped, doubled or misplaced changes the result by far more than rounding. A stream
  /// dim is one that is reduced and is some input's axis other than the last (keys, values). At the
  /// planted index, an input whose last dim is reduced (a key) is a multiple of a sign pattern over
  /// that dim, which inputs without the stream dim (queries) lean to; one whose last dim is kept (a
  /// value) is 4 times a sign pattern. Inputs whose last axis is the stream dim are left alone.
  Planted,
  /// Inputs whose last dim is reduced are scaled by 100, so that products of two reach 1e4.
  LargeLogits,
  /// Queries lean to a sign pattern and keys grow along it, so the running maximum keeps rising.
  AscendingMaxima,
  /// A quarter of the elements of inputs that are only added (biases) are -inf, and in every
  /// sixteenth row all are.
  InfiniteBias,
  /// As InfiniteBias, but -1e9 (or the type's lowest number, if that is more), and so is the first
  /// half of every other row: masks as they are often written.
  FiniteMask,
};

inline constexpr InputKind kInputKinds[] = {InputKind::Random,       InputKind::Planted,
                                            InputKind::LargeLogits,  InputKind::AscendingMaxima,
                                            InputKind::InfiniteBias, InputKind::FiniteMask};

/// "random", "planted", "large", "ascending", "infinite", "finite".
llvm::StringRef inputKindName(InputKind kind);
std::optional<InputKind> inputKindFromName(llvm::StringRef name);

/// Inputs for `program` whose dynamic dims have the given extents, floats rounded to the storage
/// type. The same on every platform; each input has its own stream, by name. Params take their
/// defaults. Fails if an extent is missing or not positive.
llvm::Expected<EvalInputs> makeInputs(attn::ProgramOp program,
                                      const std::map<std::string, int64_t> &extents, uint64_t seed,
                                      InputKind kind = InputKind::Random);

/// The planted index of each stream dim, for tests that drop or double it.
llvm::Expected<std::map<std::string, int64_t>>
plantedIndices(attn::ProgramOp program, const std::map<std::string, int64_t> &extents,
               uint64_t seed);

} // namespace attnc::evaluator

#endif
