#ifndef ATTNC_ATTN_OPS_TD
#define ATTNC_ATTN_OPS_TD

include "dialects/Attn/AttnDialect.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The operations of a reduction. `mean` and `logsumexp` are sugar, which the desugar pass removes.
def Attn_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">,
    I32EnumAttrCase<"Mean", 6, "mean">, I32EnumAttrCase<"LogSumExp", 7, "logsumexp">]> {
  let cppNamespace = "::attnc::attn";
}

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;
class Attn_ArrayOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Pure], traits)> {
  let results = (outs Attn_ArrayType:$result);
}

def Attn_ProgramOp : Attn_Op<"program",
    [IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments, Symbol]> {
  let summary = "A spec: dims, inputs, the arrays computed from them, outputs";
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Attn_DimAttr, "dims">:$dims,
                       OptionalAttr<StrAttr>:$doc);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `dims` custom<ProgramDims>($dims) attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::llvm::ArrayRef<DimAttr>":$dims)>];
  let extraClassDeclaration = [{
    /// The dim of this name, or a null attribute.
    DimAttr lookupDim(::mlir::StringAttr name);
    /// Position of a dim in the program's list; computed arrays list their dims in this order.
    int64_t dimPosition(::mlir::StringAttr name);
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Attn_InputOp : Attn_Op<"input", [Attn_StoresResults]> {
  let summary = "A tensor that the caller passes; dims in storage order";
  let arguments = (ins StrAttr:$name);
  let results = (outs Attn_ArrayType:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Attn_ParamOp : Attn_Op<"param"> {
  let summary = "A scalar that the caller may pass at run time, with its checked range";
  let description = [{
    Bounds are inclusive unless the `open` flags say otherwise. A param without a default must be
    passed.
  }];
  let arguments = (ins StrAttr:$name, Optional<Attn_ArrayType>:$default_value,
                       OptionalAttr<F64Attr>:$lower, OptionalAttr<F64Attr>:$upper,
                       UnitAttr:$lower_open, UnitAttr:$upper_open);
  let results = (outs Attn_ArrayType:$result);
  let assemblyFormat = [{
    $name (`default` $default_value^ `:` type($default_value))? attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_SizeOp : Attn_ArrayOp<"size"> {
  let summary = "The extent of a dim, an i64 scalar";
  let arguments = (ins StrAttr:$dim);
  let assemblyFormat = "custom<DimName>($dim) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_IndexOp : Attn_ArrayOp<"index"> {
  let summary = "The index along a dim, as an array over that dim";
  let arguments = (ins StrAttr:$dim);
  let assemblyFormat = "custom<DimName>($dim) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_ReadOp : Attn_ArrayOp<"read"> {
  let summary = "An array read at one subscript for each of its dims";
  let description = [{
    A subscript is the name of a dim of the result (the index itself) or an i64 array. The result
    has the union of the subscripts' dims. Storage types convert to the compute type on the way
    (floats to f32, integers to i64). Where a subscript can fall outside the extent, `otherwise`
    gives the value that is read instead.
  }];
  let arguments = (ins Attn_ArrayType:$source, Variadic<Attn_ArrayType>:$indices,
                       StrArrayAttr:$subscripts, OptionalAttr<F64Attr>:$otherwise);
  let assemblyFormat = [{
    $source custom<Subscripts>($indices, $subscripts) (`else` $otherwise^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The i64 array that subscripts storage axis `axis`, or a null value if it is a plain dim.
    ::mlir::Value subscriptValue(unsigned axis);
    /// The plain dim that subscripts storage axis `axis`, or a null attribute.
    ::mlir::StringAttr subscriptDim(unsigned axis);
    /// True if every subscript is a plain dim.
    bool isPlain() { return getIndices().empty(); }
  }];
}

def Attn_MapOp : Attn_ArrayOp<"map", [SingleBlock, RecursiveMemoryEffects, IsolatedFromAbove]> {
  let summary = "A scalar function applied element by element, operands broadcast by name";
  let description = [{
    The region's block has one scalar argument for each operand; its ops are of the arith and math
    dialects, and attn.sub, attn.mod and attn.rand. The result has the union of the operands' dims.
  }];
  let arguments = (ins Variadic<Attn_ArrayType>:$operands_);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // Builds the region with `emit(builder, loc, scalar arguments) -> scalar result`.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::ValueRange":$operands,
      "::llvm::function_ref<::mlir::Value(::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange)>":$emit)>,
    // The caller fills the region afterwards.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::ValueRange":$operands)>];
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// The scalar that the region yields.
    ::mlir::Value getYielded();
  }];
}

def Attn_ReduceOp : Attn_ArrayOp<"reduce"> {
  let summary = "A reduction over dims, which disappear";
  let arguments = (ins Attn_ReduceKind:$kind, StrArrayAttr:$dims, Attn_ArrayType:$operand);
  let assemblyFormat = [{
    $kind `over` custom<DimNames>($dims) $operand attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_SoftmaxOp : Attn_ArrayOp<"softmax"> {
  let summary = "exp(x - max) / sum over the dims, which stay; 0 where the row is empty";
  let arguments = (ins StrArrayAttr:$dims, Attn_ArrayType:$operand);
  let assemblyFormat = [{
    `over` custom<DimNames>($dims) $operand attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_OutputOp : Attn_Op<"output"> {
  let summary = "An array that the caller receives, with its storage order and type";
  let arguments = (ins StrAttr:$name, Attn_ArrayType:$value, StrArrayAttr:$dims, TypeAttr:$type);
  let assemblyFormat = [{
    $name custom<DimNames>($dims) $value `as` $type attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Attn_RequireOp : Attn_Op<"require"> {
  let summary = "A fact about sizes: checked when shapes are bound, used in proofs";
  let arguments = (ins Attn_ArrayType:$condition, StrAttr:$text);
  let assemblyFormat = "$text $condition attr-dict `:` type($condition)";
}

def Attn_ExtentOp : Attn_Op<"extent"> {
  let summary = "The extent of a dim as a function of other sizes, known when shapes are bound";
  let description = [{
    The value is an i64 scalar of sizes; the sizes of dims whose own extent stands before this one
    count. An input that carries the dim, or a caller who says its extent, has to agree.

    Where the value has dims, it is the length within the extent for each of their indices. That is
    a note for tools: what is beyond a length is masked by the program itself.
  }];
  let arguments = (ins StrAttr:$dim, Attn_ArrayType:$value);
  let assemblyFormat = "custom<DimName>($dim) $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "The scalar that a map's region computes";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

// Scalars that arith has not: subtraction on the extended reals, the floor modulus, random numbers.
def Attn_SubOp : Attn_Op<"sub", [Pure, SameOperandsAndResultType]> {
  let summary = "x - y, and -inf whenever x is -inf";
  let description = [{
    The rule makes a row without keys well defined: with a maximum of -inf, exp(s - m) is 0 and
    not NaN. For every other x it is arith.subf.
  }];
  let arguments = (ins AnyFloat:$lhs, AnyFloat:$rhs);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Attn_ModOp : Attn_Op<"mod", [Pure, SameOperandsAndResultType]> {
  let summary = "x - y * floor(x / y): the modulus of floor division";
  let arguments = (ins AnyTypeOf<[I32, I64]>:$lhs, AnyTypeOf<[I32, I64]>:$rhs);
  let results = (outs AnyTypeOf<[I32, I64]>:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Attn_RandOp : Attn_Op<"rand", [Pure]> {
  let summary = "A uniform random number in [0, 1), a function of a seed and four indices";
  let description = [{
    A word of Philox 4x32-10 (Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3)
    under the key `seed`, low half first, at the counter (x, y, z, block), each modulo 2^32. Of the
    16 columns c from a multiple of 16 on, block c % 8 / 2 has word c % 2 + 2 * (c / 8). The number
    is the upper 24 bits of the word times 2^-24, which f32 holds exactly. See
    dialects/Attn/Random.h.
  }];
  let arguments = (ins I64:$seed, I64:$x, I64:$y, I64:$z, I64:$column);
  let results = (outs F32:$result);
  let assemblyFormat = "$seed `at` $x `,` $y `,` $z `,` $column attr-dict";
}

#endif
