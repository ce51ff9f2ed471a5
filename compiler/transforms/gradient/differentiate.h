// Reverse mode over a program of the attn dialect.
#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_DIFFERENTIATE_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_DIFFERENTIATE_H

#include "attnc/result.h"
#include "dialects/Attn/Attn.h"
#include <string>
#include <vector>

namespace attnc {

/// Of the interface of a program with gradients: `grad_q` is the gradient of `q`, an output if q is
/// an input or a param, an input if q is an output. Where a program is differentiated that is one
/// of gradients already, those are of a higher order: `grad2_q`, and `grad2_grad_q` beside the
/// output grad_q.
std::string gradientName(llvm::StringRef name, unsigned order = 1);

/// How many times the program was differentiated.
unsigned gradientOrder(attn::ProgramOp program);

struct Differentiation {
  /// The result will be differentiated: gradients of products over dims then visit all pairs of
  /// elements, for the quotients that stand for that elsewhere have no derivative at 0.
  bool forMore = false;
  /// Exponentials stay as they are written, out of range where they are: see stable_weights.h.
  bool asWritten = false;
};

/// Adds to a program, as the frontend makes it, the gradients of inputs and params: for each output
/// `o` of real numbers an input `grad_o` of its dims and type, and for each of `wanted` an output
/// `grad_x` of the dims and type of x, the gradient of the sum of all o * grad_o. The outputs stay.
/// Softmax, logsumexp and mean are differentiated as what they are, so this runs before desugar.
///
/// Returns those of `wanted` on which no output depends: their gradients are 0. Errors: Spec for an
/// op without a derivative, InvalidArgument for what is no input or param of real numbers, is there
/// twice, and for names that are taken.
Result<std::vector<std::string>> differentiate(attn::ProgramOp program,
                                               llvm::ArrayRef<std::string> wanted,
                                               Differentiation how = {});

/// Removes the outputs that are no gradients, and what they alone need.
void keepGradientsOnly(attn::ProgramOp program, llvm::ArrayRef<std::string> wanted);

} // namespace attnc

#endif
