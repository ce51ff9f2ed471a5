#ifndef ATTNC_RED_OPS_TD
#define ATTNC_RED_OPS_TD

include "dialects/Red/RedDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Red_Op<string mnemonic, list<Trait> traits = []> : Op<Red_Dialect, mnemonic, traits>;

def Red_NestOp : Red_Op<"nest", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "A loop nest over named dims with one role each";
  let description = [{
    The body is a graph of arrays (attn.read, attn.index, attn.map, red.fold) that ends with
    red.yield. Read as a graph of whole arrays it says what the nest computes; the roles say how it
    is walked:

    - `grid`: independent cells, one block of threads (or more) each;
    - `row`: tiled inside a block;
    - `stream`: folded tile by tile, in one pass;
    - `inner`: whole inside a tile.

    Folds over a stream dim are the nest's states. What an op computes before them (from reads,
    indices and folds over inner dims) belongs to the step, what depends on them to the finish. The
    only way for the step to use a state is as the reference of a fold's exponent: that is what
    makes one pass possible. Captured values are inputs, params and scalars of the program, and
    results of earlier nests.

    The optional `domain` region computes, for a tile of rows, which part of the stream matters. Its
    block arguments, all i64, are: the index of each grid dim; the first and the last index of each
    row dim; the first and the last index of each stream dim. It ends with red.bounds.
  }];
  let arguments = (ins StrArrayAttr:$grid, StrArrayAttr:$row, StrArrayAttr:$stream,
                       StrArrayAttr:$inner, OptionalAttr<DictionaryAttr>:$schedule);
  let results = (outs Variadic<Attn_ArrayType>:$results_);
  let regions = (region SizedRegion<1>:$body, VariadicRegion<SizedRegion<1>>:$domain);
  let assemblyFormat = [{
    `grid` custom<DimNames>($grid) `row` custom<DimNames>($row) `stream` custom<DimNames>($stream)
    `inner` custom<DimNames>($inner) (`schedule` $schedule^)? `:` type($results_) $body
    (`domain` $domain^)? attr-dict
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::llvm::ArrayRef<::mlir::StringAttr>":$grid,
    "::llvm::ArrayRef<::mlir::StringAttr>":$row, "::llvm::ArrayRef<::mlir::StringAttr>":$stream,
    "::llvm::ArrayRef<::mlir::StringAttr>":$inner,
    CArg<"std::unique_ptr<::mlir::Region>", "nullptr">:$domain)>];
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// The block of the domain region, or null.
    ::mlir::Block *getDomainBlock() {
      return getDomain().empty() ? nullptr : &getDomain().front().front();
    }
    bool isStreamDim(::mlir::StringAttr dim) { return ::llvm::is_contained(getStream(), dim); }
    /// The folds over stream dims, in order: the nest's states.
    ::llvm::SmallVector<FoldOp> states();
    /// True if `value`, defined in the body, depends on a state (it belongs to the finish).
    bool dependsOnState(::mlir::Value value);
    /// The arrays (and scalars) from outside that the body uses, in order of first use.
    ::llvm::SetVector<::mlir::Value> captures();
  }];
}

def Red_FoldOp : Red_Op<"fold", [Pure, AttrSizedOperandSegments]> {
  let summary = "sum of factors * exp(exponent - reference), or max, min, prod, and, or of a value";
  let description = [{
    An `add` fold sums, over `dims`, the product of its factors (1 if there are none) times
    exp(exponent - reference) if it has an exponent. The reference is a max fold of the same
    exponent over the same dims, so nothing overflows; while the fold runs, the reference may be any
    running value that keeps the exponent in range, and the state is rescaled when it moves. Other
    kinds have exactly one factor and no exponent. The subtraction is attn.sub's: -inf absorbs.
  }];
  let arguments = (ins Red_FoldKind:$kind, StrArrayAttr:$dims, Variadic<Attn_ArrayType>:$factors,
                       Optional<Attn_ArrayType>:$exponent, Optional<Attn_ArrayType>:$reference);
  let results = (outs Attn_ArrayType:$result);
  let assemblyFormat = [{
    $kind `over` custom<DimNames>($dims) `(` $factors `)`
    (`exp` `(` $exponent^ `-` $reference `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Red_YieldOp : Red_Op<"yield", [Pure, Terminator, HasParent<"NestOp">]> {
  let summary = "The arrays that a nest stores";
  let arguments = (ins Variadic<Attn_ArrayType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Red_ScalarOp : Red_Op<"scalar", [Pure, HasParent<"NestOp">]> {
  let summary = "The value of a 0-d array, for the arithmetic of a domain";
  let arguments = (ins Attn_ArrayType:$array);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$array attr-dict `:` type($array) `->` type($result)";
}

def Red_BoundsOp : Red_Op<"bounds", [Pure, Terminator, HasParent<"NestOp">, SameVariadicOperandSize]> {
  let summary = "The part of the stream that matters to a tile of rows";
  let description = [{
    Outside lo <= index < hi (for each stream dim, within its extent) every state stays at its
    identity for every row of the tile; lo and hi do not depend on the stream's arguments, and
    hi <= lo means that nothing matters. Where `full` holds for a tile of the stream, every
    arith.select of the step that carries the attribute `red.full` takes the side that the attribute
    names (true or false) for every element of the tile.
  }];
  let arguments = (ins Variadic<I64>:$lo, Variadic<I64>:$hi, I1:$full);
  let assemblyFormat = "`lo` `(` $lo `)` `hi` `(` $hi `)` `full` $full attr-dict";
  let hasVerifier = 1;
}

#endif
