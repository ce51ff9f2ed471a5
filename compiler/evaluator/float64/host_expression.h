#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_HOST_EXPRESSION_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_HOST_EXPRESSION_H

#include "attnc/result.h"
#include "dialects/Attn/Attn.h"
#include "runtime/program/expr.h"

namespace attnc {

/// A 0-d integer or float array (a let, a default, a requirement, an extent) as an expression for
/// the host. Error (InvalidArgument): it cannot be evaluated when shapes are bound.
Result<Expr> hostExpression(mlir::Value scalar);

} // namespace attnc

#endif
