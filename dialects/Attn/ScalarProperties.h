// Properties that scalar ops declare, and what follows from them.
#ifndef ATTNC_DIALECTS_ATTN_SCALARPROPERTIES_H
#define ATTNC_DIALECTS_ATTN_SCALARPROPERTIES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace attnc::attn {

/// On a scalar op, or a red.fold, whose result is compared with that of the same op of another
/// kernel: neither may be approximated or contracted with others, and both take terms in one order.
inline constexpr llvm::StringLiteral kExactAttr = "attn.exact";

/// On attn.sub: the first operand is never -inf, so it is the difference of numbers.
inline constexpr llvm::StringLiteral kPlainAttr = "attn.plain";

/// On attn.sub: only an exponential reads it.
inline constexpr llvm::StringLiteral kExponentAttr = "attn.exponent";

enum class ScalarForm { Other, Sum, Difference, Negation, Product, Quotient, Logarithm, Choice };

enum class Growth { Unknown, Grows, Falls };

/// Of all values of an expression, NaN aside. Those from Zero on are not negative.
enum class Sign { Unknown, Negative, Zero, NotNegative, Positive };

bool isNotNegative(Sign sign);
Sign negated(Sign sign);
Sign signOfProduct(Sign x, Sign y);
Sign signOfSum(Sign x, Sign y);
/// Of a value that is one or the other.
Sign signOfEither(Sign x, Sign y);
Sign signOfLarger(Sign x, Sign y);
Sign signOfConstant(double value);
/// Of a product, with the other factor.
Growth growthWithFactor(Sign factor);

/// Attaches the properties of arith, math and attn ops. Those dialects have to be loaded.
void attachScalarProperties(mlir::MLIRContext &context);

} // namespace attnc::attn

#include "dialects/Attn/ScalarProperties.h.inc"

#endif
