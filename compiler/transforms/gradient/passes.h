// The passes of this folder, for the pass driver of the tests. The compiler calls them from
// compiler/driver/gradient.cpp, since they make two programs of one.
#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_PASSES_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_PASSES_H

namespace attnc {

/// Registers `--differentiate=of=q,k` and `--halve`. The second makes of each program with
/// gradients the two programs, of which the backward one is called NAME_grad.
void registerGradientPasses();

} // namespace attnc

#endif
