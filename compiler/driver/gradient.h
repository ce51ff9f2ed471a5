// A spec with its gradients, as one program and as two.
#ifndef ATTNC_COMPILER_DRIVER_GRADIENT_H
#define ATTNC_COMPILER_DRIVER_GRADIENT_H

#include "attnc/result.h"
#include "compiler/frontend/frontend.h"
#include "compiler/transforms/gradient/halve.h"
#include "compiler/transforms/gradient/recomputed_values.h"

namespace attnc::driver {

/// The inputs and params that a list of names stands for: `all` is each input of real numbers.
std::vector<std::string> gradientInputs(const Spec &spec, const std::vector<std::string> &names);

/// A spec and its gradients. Each of the programs has the spec's inputs and params; `grad_o` is the
/// gradient of an output o, an input, and `grad_q` that of an input q, an output.
struct GradientSpecs {
  /// All at once, from the spec's inputs and the gradients of its outputs: what the two mean.
  Spec whole;
  /// The spec's outputs, and what is saved.
  Spec forward;
  /// The gradients, from the inputs, what is saved, and the gradients of the outputs. Named
  /// NAME_grad. Inputs of the spec that no gradient needs are left out; the gradient of each output
  /// of real numbers is an input, whether one of them needs it or not.
  Spec backward;
  /// What is no larger than the tensors and costs more to compute again: states of folds. Nothing
  /// where the spec says so; then the backward program begins with the forward's passes.
  std::vector<SavedValue> saved;
  /// What the backward program computes of the forward one once more.
  std::vector<RecomputedValue> recomputed;
  /// The inputs of the backward program that are gradients: "grad_o".
  std::set<std::string> cotangents;
};

/// GradientSpecs::whole alone, which takes no passes. `constant`, unless null, gets those of
/// spec.grad with which no output changes, or only in steps: their gradients are 0. Errors: those
/// of attnc::differentiate.
Result<Spec> wholeGradients(const Spec &spec, std::vector<std::string> *constant = nullptr);

/// The same, to be differentiated again.
Result<Spec> differentiableGradients(const Spec &spec,
                                     std::vector<std::string> *constant = nullptr);

/// Differentiates `spec` with respect to spec.grad. Errors: those of attnc::differentiate, and of
/// the passes. The programs have no text that they could be parsed from again, and no `grad`.
Result<GradientSpecs> differentiateSpec(const Spec &spec);

} // namespace attnc::driver

#endif
