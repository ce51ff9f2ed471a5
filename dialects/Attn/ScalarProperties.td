#ifndef ATTNC_SCALAR_PROPERTIES_TD
#define ATTNC_SCALAR_PROPERTIES_TD

include "mlir/IR/OpBase.td"

def Attn_ScalarProperties : OpInterface<"ScalarProperties"> {
  let description = [{
    What the online rewrite has to know of a scalar op with one result. An op that declares nothing
    is opaque: what it is applied to and what it makes are unrelated. An op of another dialect gets
    fused by declaring what holds of it; ops of arith and math do so by external models.
  }];
  let cppNamespace = "::attnc::attn";
  let methods = [
    InterfaceMethod<[{
      The op's place in the field of reals. That says what is its identity (0 of a sum, 1 of a
      product), its inverse (the difference, the quotient), and what distributes over what: a product
      over sums, a sum over max and min, a choice over everything.
    }], "::attnc::attn::ScalarForm", "getForm", (ins), "",
      "return ::attnc::attn::ScalarForm::Other;">,
    InterfaceMethod<[{
      The b of an op that is b^x, with b > 1, or 0: it takes sums to products, and a logarithm to base
      b is its inverse.
    }], "double", "getExponentialBase", (ins), "", "return 0;">,
    InterfaceMethod<[{
      The n of an op that is x^n of its first operand, a constant or another operand, or null. It
      distributes over products and quotients of what is not negative, (x y)^n = x^n y^n, and takes
      b^a to b^(n a); where n is a whole number, over those of any sign.
    }], "::mlir::OpFoldResult", "getPower", (ins), "", "return {};">,
    InterfaceMethod<[{
      How the result moves with an operand while the others, whose signs are given, stay.
    }], "::attnc::attn::Growth", "growth",
      (ins "unsigned":$operand, "::llvm::ArrayRef<::attnc::attn::Sign>":$signs), "",
      "return ::attnc::attn::Growth::Unknown;">,
    InterfaceMethod<"The sign of the result, given those of the operands; NaN aside.",
      "::attnc::attn::Sign", "sign", (ins "::llvm::ArrayRef<::attnc::attn::Sign>":$signs), "",
      "return ::attnc::attn::Sign::Unknown;">,
    InterfaceMethod<[{
      True if the op distributes over factors that are not negative: f(c x, c y) = c f(x, y) for every
      c >= 0, as the absolute value does.
    }], "bool", "isPositivelyHomogeneous", (ins), "", "return false;">,
    InterfaceMethod<"True if the result is always one of the operands, as that of a maximum is.",
      "bool", "isOneOfOperands", (ins), "", "return false;">,
    InterfaceMethod<"True if the result is at most a constant, whatever the operands are.",
      "bool", "isBoundedAbove", (ins), "", "return false;">,
    InterfaceMethod<[{
      What an operand's gradient is, given that of the result: `grad` times the partial derivative,
      built at `b` from the op's own operands and result. A null value where no gradient passes: an
      operand that is no real number, a function that is constant between its steps. Nothing where no
      derivative is declared. Where `grad` is 0 the result is, also where the partial derivative is
      infinite or NaN. See docs/gradients.md for what holds at corners.
    }], "std::optional<::mlir::Value>", "buildDerivative",
      (ins "::mlir::ImplicitLocOpBuilder &":$b, "unsigned":$operand, "::mlir::Value":$grad), "",
      "return std::nullopt;">,
  ];
}

#endif
