// What holds for the gradients of every spec.
#ifndef ATTNC_TESTS_PROGRAMS_GRADIENT_PROPERTY_H
#define ATTNC_TESTS_PROGRAMS_GRADIENT_PROPERTY_H

#include "compiler/frontend/frontend.h"
#include "tests/programs/property.h"

namespace attnc::programs {

/// Differentiates `spec` with respect to all its inputs and params of real numbers. The gradients
/// are those of the evaluator's reverse mode; passes keep the meaning of the forward and of the
/// backward program; code of both computes what they mean. Stages that pass are counted in
/// `outcome` ("gradients", "gradients_passes", "gradients_cpu", ...), and the first failure is
/// there. A spec without outputs of real numbers has no gradients.
void checkGradients(Spec &spec, const std::map<std::string, int64_t> &extents,
                    const GradientStages &stages, Outcome &outcome);

} // namespace attnc::programs

#endif
