#ifndef ATTNC_RED_OPS_TD
#define ATTNC_RED_OPS_TD

include "dialects/Red/RedDialect.td"
include "dialects/Red/Schedule.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Red_Op<string mnemonic, list<Trait> traits = []> : Op<Red_Dialect, mnemonic, traits>;

def Red_NestOp : Red_Op<"nest", [SingleBlock, RecursiveMemoryEffects,
                                 Attn_StoresResults]> {
  let summary = "A loop nest over named dims with one role each";
  let description = [{
    The body is a graph of arrays (attn.read, attn.index, attn.map, red.fold) that ends with
    red.yield. Read as a graph of whole arrays it says what the nest computes; the roles say how it
    is walked:

    - `grid`: independent cells, one block of threads (or more) each;
    - `row`: tiled inside a block;
    - `stream`: folded tile by tile, in one pass;
    - `inner`: whole inside a tile.

    A sum over a row dim, of products of a state's terms and a tensor, is a result as it is: each tile of
    rows adds what it gives to memory that is 0 before (join-sums).

    Folds over a stream dim are the nest's states. What an op computes before them (from reads,
    indices and folds over inner dims) belongs to the step, what depends on them to the epilogue. The
    only way for the step to use a state is as the reference of a fold's exponent: that is what
    makes one pass possible. Captured values are inputs, params and scalars of the program, and
    results of earlier nests.

    A result has the dims of the array that red.yield names for it, in the order in which its axes lie
    in memory, the last one contiguous: its layout. f32 may be stored as a type of 16 bits, to which
    it is rounded then.

    The optional `domain` region computes, for a tile of rows, which part of the stream matters. Its
    block arguments, all i64, are: the index of each grid dim; the first and the last index of each
    row dim; the first and the last index of each stream dim. It ends with red.bounds.
  }];
  let arguments = (ins StrArrayAttr:$grid, StrArrayAttr:$row, StrArrayAttr:$stream,
                       StrArrayAttr:$inner, OptionalAttr<Red_Schedule>:$schedule);
  let results = (outs Variadic<Attn_ArrayType>:$results_);
  let regions = (region SizedRegion<1>:$body, VariadicRegion<SizedRegion<1>>:$domain);
  let assemblyFormat = [{
    `grid` custom<DimNames>($grid) `row` custom<DimNames>($row) `stream` custom<DimNames>($stream)
    `inner` custom<DimNames>($inner) (`schedule` `(` $schedule^ `)`)? `:` type($results_) $body
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
    /// True if `value`, defined in the body, depends on a state (it belongs to the epilogue).
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

    An `add` fold may be a moment: each term is further multiplied by (base - centre)^k, where k is
    the number of `lower` folds: the moments of degree 0 to k - 1, the same sums but for the power.
    The centre may depend on states. While the fold runs, it may be any finite running value: when it
    moves by delta = old - new, the moments of degree up to k move together,
    c_k + sum over i < k of binomial(k, i) * delta^(k - i) * c_i.

    The exponent is taken relative to the reference, the base relative to the centre: these are the
    fold's *frames*. All of the above that a code generator has to know is written down by
    derive-updates, in regions of scalar ops that end with red.return:

    - `empty ()`: the state of no element, the identity of merge;
    - `lift (factors.., by..)`: the state of one element; `by` are its distances, one for each frame;
    - `merge (x, y)`: the state of two sets of elements, relative to the same values;
    - and for each frame:
      - `distance (x, y)`: how far x, a coordinate of an element or an old value of the reference,
        is from y, the value to which something is taken relative;
      - `rescale (state, lower.., by)`: the state relative to a new value, `by` the distance of the
        old one from it. `lower` are the moments below, relative to the old value; the frame of an
        exponent needs none and has no such arguments;
      - `follow (old, next)`: where the running value goes when the states so far make it `next`.

    What readers see is the state relative to the final values of reference and centre: a last
    rescale. Before derive-updates all of these regions are empty. See docs/rationale/red.md.
  }];
  let arguments = (ins Red_FoldKind:$kind, StrArrayAttr:$dims, Variadic<Attn_ArrayType>:$factors,
                       Optional<Attn_ArrayType>:$exponent, Optional<Attn_ArrayType>:$reference,
                       Optional<Attn_ArrayType>:$base, Optional<Attn_ArrayType>:$centre,
                       Variadic<Attn_ArrayType>:$lower);
  let results = (outs Attn_ArrayType:$result);
  let regions = (region AnyRegion:$empty, AnyRegion:$lift, AnyRegion:$merge,
                        AnyRegion:$weight, AnyRegion:$rescale, AnyRegion:$follow,
                        AnyRegion:$difference, AnyRegion:$shift, AnyRegion:$followCentre);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "FoldKind":$kind, "::mlir::ArrayAttr":$dims,
    "::mlir::ValueRange":$factors, "::mlir::Value":$exponent, "::mlir::Value":$reference), [{
      build($_builder, $_state, result, kind, dims, factors, exponent, reference, ::mlir::Value(),
            ::mlir::Value(), ::mlir::ValueRange());
    }]>];
  let assemblyFormat = [{
    $kind `over` custom<DimNames>($dims) `(` $factors `)`
    (`exp` `(` $exponent^ `-` $reference `)`)?
    (`moment` `(` $base^ `-` $centre `)` `above` `(` $lower `)`)? attr-dict
    `:` functional-type(operands, results)
    custom<Update>($empty, $lift, $merge, $weight, $rescale, $follow, $difference, $shift,
                   $followCentre)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What elements and states are relative to.
    struct Frame {
      ::mlir::Value element;   ///< the coordinate of an element
      ::mlir::Value reference; ///< what it is relative to; depends on states, or is one
      ::mlir::Region *distance, *rescale, *follow;
      bool takesLower;         ///< rescale has the lower moments as arguments
    };
    /// That of the exponent, then that of the base; those that the fold has.
    ::llvm::SmallVector<Frame, 2> frames();
    /// True if the regions have been derived.
    bool hasUpdate() { return !getMerge().empty(); }
    /// A region that the fold has by its operands, and the types of its arguments.
    struct Part {
      ::llvm::StringRef name;
      ::mlir::Region *region;
      ::llvm::SmallVector<::mlir::Type> arguments;
    };
    ::llvm::SmallVector<Part> updateParts();
    /// The power of (base - centre) in each term: 0 of a plain fold.
    unsigned degree() { return getLower().size(); }
    /// What a term is made of: the factors, the exponent and the base, not what it is relative to.
    ::llvm::SmallVector<::mlir::Value> termOperands();
  }];
}

def Red_ReturnOp : Red_Op<"return", [Pure, Terminator, HasParent<"FoldOp">]> {
  let summary = "The scalar that a region of a fold's update computes";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
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

def Red_PackOp : Red_Op<"pack", [Pure, Attn_StoresResults]> {
  let summary = "Rows of sequences behind each other, from where each has an index of its own";
  let description = [{
    Sequence b has `count`[b] rows from row `start`[b] on, which are its first ones of `padded` along
    `dim`: packed[start[b] + i] = padded[b, i] for 0 <= i < count[b]. Rows of no sequence are 0. The
    sequences do not overlap, `start` does not decrease, and all lies within the rows. `padded` is the
    result of a nest and has no memory of its own: the nest's kernel stores each row where it
    belongs, and nothing else.
  }];
  let arguments = (ins Attn_ArrayType:$padded, Attn_ArrayType:$start, Attn_ArrayType:$count,
                       StrAttr:$dim);
  let results = (outs Attn_ArrayType:$packed);
  let assemblyFormat = [{
    $padded `along` $dim `from` $start `count` $count attr-dict
    `:` type($padded) `,` type($start) `,` type($count) `->` type($packed)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The dim that counts the sequences.
    ::mlir::StringAttr over() { return getStart().getType().getDims().front(); }
    /// The dim of the rows of all sequences.
    ::mlir::StringAttr rows();
  }];
}

def Red_TopsOp : Red_Op<"tops", [Pure, Attn_StoresResults]> {
  let summary = "The largest finite magnitudes of the columns of an f32 tensor, part by part of its rows";
  let description = [{
    The rows lie along `axis`, the columns along the last axis. The result has the dims of the tensor
    without the rows, and before the columns the dim of the parts: each has as many rows as the first,
    those at the end have what is left.
  }];
  let arguments = (ins Attn_ArrayType:$tensor, I64Attr:$axis);
  let results = (outs Attn_ArrayType:$tops);
  let assemblyFormat = "$tensor `axis` $axis attr-dict `:` type($tensor) `->` type($tops)";
}

def Red_LostOp : Red_Op<"lost", [Pure, Attn_StoresResults]> {
  let summary = "Whether the encodings of a nest lose what they should keep: 0 or 1";
  let description = [{
    Whoever encodes sets it to 1 where elements are so small beside others of their scale, or not
    finite, that the bound of red.encode says nothing of them. The nest is then computed once more, by
    a kernel with `schedule`, which reads the tensors themselves.
  }];
  let arguments = (ins Red_Schedule:$schedule);
  let results = (outs Attn_ArrayType:$lost);
  let assemblyFormat = "attr-dict `:` type($lost) `by` $schedule";
}

def Red_EncodeOp : Red_Op<"encode", [Pure, Attn_StoresResults]> {
  let summary = "A tensor of f32 as the sum of two of f16, times powers of two";
  let description = [{
    tensor = (high + low) * scale. `scale` has the dims of the tensor without the columns: one power of
    two for `rows` rows that follow each other along the axis `axis`, from multiples of it on, or for 0
    each row. It takes the largest finite magnitude of these to 2^14 or above.

    With `columns`, tensor = (high + low) * scale * columns. These have the dims of the tensor without
    the rows: the powers of two in the smallest of its `tops` that are not 0, which a few large elements
    do not move. With `tops` alone, those are of a tensor that this one is
    multiplied with, and tensor * columns of that one = (high + low) * scale: in the product of both
    the columns cancel.

    Each element, divided by its column, is off by at most 2^-23 of itself or 2^-39 of the largest that
    shares its scale. What is not finite is `high`, with a `low` of 0. Nests read the tensor itself. Kernels whose schedules
    multiply f32 as halves take these in its place.
  }];
  let arguments = (ins Attn_ArrayType:$tensor, Optional<Attn_ArrayType>:$tops, I64Attr:$axis,
                       I64Attr:$rows);
  let results = (outs Attn_ArrayType:$high, Attn_ArrayType:$low, Attn_ArrayType:$scale,
                      Optional<Attn_ArrayType>:$columns);
  let assemblyFormat = [{
    $tensor (`tops` $tops^)? `axis` $axis `rows` $rows attr-dict `:` type($tensor)
    (`,` type($tops)^)? `->` type($high) `,` type($low) `,` type($scale) (`,` type($columns)^)?
  }];
  let hasVerifier = 1;
}

def Red_AtMostOp : Red_Op<"at_most"> {
  let summary = "A fact: no element of an array is above that of another, NaN aside";
  let description = [{
    Says of a maximum that comes from outside what would be seen if it were computed here: the
    exponential of `value - bound` is at most 1. It stands at the level of the program and goes when
    that is divided into nests.
  }];
  let arguments = (ins Attn_ArrayType:$value, Attn_ArrayType:$bound);
  let assemblyFormat = "$value `,` $bound attr-dict `:` type($value) `,` type($bound)";
}

def Red_ExtremeOp : Red_Op<"extreme", [Pure, HasParent<"NestOp">, SameVariadicOperandSize]> {
  let summary = "The largest or the smallest element of a box of an array of integers";
  let description = [{
    For the arithmetic of a domain: the max or the min over the elements whose index along each axis
    (in the order of the array type's dims) is from `first` to `last`, both included. Indices outside
    of the array's extents are left out; of no element it is the identity of the fold. It should read
    few elements, since whoever asks for bounds reads them all.

    With `of_parts` the elements are extremes of parts of a tensor: which part an index belongs to
    says nothing about what is decided for several indices together.
  }];
  let arguments = (ins Red_FoldKind:$kind, Attn_ArrayType:$array, Variadic<I64>:$first,
                       Variadic<I64>:$last, UnitAttr:$of_parts);
  let results = (outs I64:$result);
  let assemblyFormat = [{
    $kind `of` (`parts` $of_parts^)? $array `from` `[` $first `]` `to` `[` $last `]` attr-dict `:`
    type($array)
  }];
  let hasVerifier = 1;
}

def Red_BoundsOp : Red_Op<"bounds", [Pure, Terminator, HasParent<"NestOp">,
                                     AttrSizedOperandSegments]> {
  let summary = "The part of the stream that matters to a tile of rows";
  let description = [{
    Outside lo <= index < hi (for each stream dim, within its extent) every state stays at its
    identity for every row of the tile, or no result of the tile's rows is made of states; lo and hi
    do not depend on the stream's arguments, and hi <= lo means that nothing matters. Where `live`
    does not hold for a tile of the stream, the same is so for every element of the tile: it can be
    skipped. Without `live` every tile between lo and hi may matter. Where `full` holds for a tile of
    the stream, every arith.select of the step that carries the attribute `red.full` takes the side
    that the attribute names (true or false) for every element of the tile.
  }];
  let arguments = (ins Variadic<I64>:$lo, Variadic<I64>:$hi, I1:$full, Optional<I1>:$live);
  let assemblyFormat = [{
    `lo` `(` $lo `)` `hi` `(` $hi `)` `full` $full (`live` $live^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif
