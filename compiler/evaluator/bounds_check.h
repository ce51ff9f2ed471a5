// Which subscripts that come from data fall outside, for given inputs.
#ifndef ATTNC_COMPILER_EVALUATOR_BOUNDS_CHECK_H
#define ATTNC_COMPILER_EVALUATOR_BOUNDS_CHECK_H

#include "compiler/evaluator/evaluator.h"

namespace attnc::evaluator {

/// The first read of a tensor that falls outside.
struct OutsideRead {
  std::string place;     ///< "file:line:column" of the read; empty if it has none
  std::string tensor;    ///< an input's name, or the name of what is read
  std::string dim;       ///< the axis
  std::string subscript; ///< as it is written; empty in a program that was not made from a spec
  int64_t value = 0;     ///< of the subscript
  int64_t extent = 0;    ///< of the axis
  /// Where: the dims that the subscript depends on, each with its index, outermost first.
  std::vector<std::pair<std::string, int64_t>> at;
  int64_t outside = 0, all = 0; ///< how many of the subscript's values are outside, and of how many
  double otherwise = 0;         ///< what is read instead
  /// A length of `dim` that is outside 0..extent, rather than a read.
  bool isLength = false;

  /// "spec.json:9:14: kp: the subscript `table[b, w]` of 'p' is 99 at b=1, w=3, ...".
  std::string text() const;
};

/// Evaluates the subscripts that come from data, and what they depend on, and finds for each tensor
/// the first read, in the program's order, that has one outside. Subscripts of indices, sizes and
/// params alone are not looked at: their reads outside are meant. Errors: as evaluate.
llvm::Expected<std::vector<OutsideRead>> findOutsideReads(attn::ProgramOp program,
                                                          const EvalInputs &inputs,
                                                          const EvalOptions &options = {});

/// True if the value of `subscript` depends on the contents of tensors.
bool comesFromData(mlir::Value subscript);

} // namespace attnc::evaluator

#endif
