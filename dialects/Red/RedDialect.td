#ifndef ATTNC_RED_DIALECT_TD
#define ATTNC_RED_DIALECT_TD

include "dialects/Attn/AttnDialect.td"
include "mlir/IR/EnumAttr.td"

def Red_Dialect : Dialect {
  let name = "red";
  let cppNamespace = "::attnc::red";
  let summary = "The unified reduction IR: nests of folds";
  let description = [{
    Every contraction and every reduction is a red.fold inside a red.nest. A nest gives each dim one
    role; an unfused nest holds one fold, a fused one several that share a pass over the stream
    dim. See docs/rationale/red.md.
  }];
  let dependentDialects = ["::attnc::attn::AttnDialect"];
}

def Red_FoldKind : I32EnumAttr<"FoldKind", "the operation of a fold", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::attnc::red";
}

#endif
