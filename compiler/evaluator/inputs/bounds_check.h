// Which subscripts that come from data fall outside, for given inputs.
#ifndef ATTNC_COMPILER_EVALUATOR_INPUTS_BOUNDS_CHECK_H
#define ATTNC_COMPILER_EVALUATOR_INPUTS_BOUNDS_CHECK_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::evaluator {

/// The first read of a tensor that falls outside, or the first length or sequence of a dim that
/// does.
struct OutsideRead {
  enum Kind {
    Read,     ///< a subscript is not in 0..extent - 1
    Length,   ///< the length of `dim` is not in 0..extent
    Sequence, ///< rows `first` to `value` of the ragged `dim` are not in 0..extent - 1
  };
  Kind kind = Read;
  std::string place;     ///< "file:line:column" of the read; empty if it has none
  std::string tensor;    ///< an input's name, or the name of what is read
  std::string dim;       ///< the axis
  std::string subscript; ///< as it is written; empty in a program that was not made from a spec
  int64_t value = 0;     ///< of the subscript; the length; the last row
  int64_t first = 0;     ///< of the rows of a sequence
  int64_t extent = 0;    ///< of the axis
  /// Where: the dims that the subscript depends on, each with its index, outermost first.
  std::vector<std::pair<std::string, int64_t>> at;
  int64_t outside = 0, all = 0; ///< how many of those that count are outside, and of how many
  double otherwise = 0;         ///< what is read instead

  /// "spec.json:9:14: kp: the subscript `table[b, w]` of 'p' is 99 at b=1, w=3, ...".
  std::string text() const;
};

/// Evaluates the subscripts that come from data, and what they depend on, and finds for each tensor
/// the first read, in the program's order, that has one outside. A subscript at indices of which
/// one is beyond a length does not count: nothing is read there. One under a condition (a select)
/// does. Subscripts of indices, sizes and params alone are not looked at: their reads outside are
/// meant. The lengths themselves, and the rows of packed sequences, come first. Errors: as
/// evaluate.
llvm::Expected<std::vector<OutsideRead>> findOutsideReads(attn::ProgramOp program,
                                                          const EvalInputs &inputs,
                                                          const EvalOptions &options = {});

/// True if the value of `subscript` depends on the contents of tensors.
bool comesFromData(mlir::Value subscript);

} // namespace attnc::evaluator

#endif
