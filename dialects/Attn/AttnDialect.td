#ifndef ATTNC_ATTN_DIALECT_TD
#define ATTNC_ATTN_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

// Results lie in memory, and have the order of their axes there.
def Attn_StoresResults : NativeOpTrait<"StoresResults"> { let cppNamespace = "::attnc::attn"; }

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attnc::attn";
  let summary = "What the user wrote: arrays over named dims.";
  let description = [{
    A program of the attn dialect is a graph of arrays. An array is a function from the indices of
    its named dims to scalars; broadcasting is by name, and a dim that is reduced disappears.
    Nothing here says how a value is computed. See docs/rationale/attn.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Attn_ArrayType : TypeDef<Attn_Dialect, "Array"> {
  let mnemonic = "array";
  let summary = "A function from the indices of named dims to scalars";
  let description = [{
    `!attn.array<[b, h, i, j], f32>`. The element type is a storage type (f16, bf16, f32, f64,
    integers) for the inputs of a program, and a compute type (f32, i64, i1) for everything else.
    The dims of a computed array follow the order of the program's list of dims; the dims of an
    input are in storage order.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool hasDim(::mlir::StringAttr dim) const { return ::llvm::is_contained(getDims(), dim); }
    bool isScalar() const { return getDims().empty(); }
  }];
}

def Attn_DimAttr : AttrDef<Attn_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "A named dim of a program, with its extent if it is static";
  // extent is ShapedType::kDynamic when it is known only when the inputs are bound.
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$extent);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isStatic() const { return !::mlir::ShapedType::isDynamic(getExtent()); }
  }];
}

#endif
