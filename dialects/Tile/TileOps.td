#ifndef ATTNC_TILE_OPS_TD
#define ATTNC_TILE_OPS_TD

include "dialects/Tile/TileSchedules.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// How elements combine in a reduction over the columns of a fragment.
def Tile_Combine : I32EnumAttr<"Combine", "how elements are combined", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Mul", 1, "mul">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">]> {
  let cppNamespace = "::attnc::tile";
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "What one launch runs";
  let description = [{
    The block arguments are the launch's arguments, named by `arg_names` (C identifiers). `grid` has
    one to three extents over the sizes of dims, each an integer or an array that starts with an
    operation: `["ceildiv", ["size", "i"], 128]`, `["mul", ["size", "b"], ["size", "h"]]`. `threads`
    is the size of a block, `smem` its shared memory in bytes, `min_blocks` how many blocks have to fit
    on a multiprocessor, which limits registers, `cluster` how many consecutive blocks run together
    and see each other's shared memory. `["multiprocessors"]` is an extent too, and `["param", "p"]`;
    operations are those of integers in a manifest.
    `schedule` is that of the nest that the kernel computes. A kernel that is a `companion` is launched
    before the next one that is none, for that one alone; with `only_if` after it, and does nothing where
    the i32 that this argument points to is 0. Kernels with the same `chain` are not launched: the kernel
    behind the last of them calls them one after the other.

    A kernel begins when the launch before it has ended. One that `lets_next` says, once it has begun,
    that the next may. One `beside` the launch before does not wait for it to begin, reads nothing that
    it stores, and ends no earlier: whoever waits for this one finds the results of both.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names, ArrayAttr:$grid,
                       I64Attr:$threads, I64Attr:$smem, OptionalAttr<I64Attr>:$min_blocks,
                       OptionalAttr<I64Attr>:$cluster, OptionalAttr<Red_Schedule>:$schedule,
                       UnitAttr:$companion, OptionalAttr<I64Attr>:$only_if,
                       OptionalAttr<I64Attr>:$chain, UnitAttr:$lets_next, UnitAttr:$beside);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
    "::llvm::ArrayRef<std::pair<std::string, ::mlir::Type>>":$args, "::mlir::ArrayAttr":$grid,
    "int64_t":$threads, "int64_t":$smem)>];
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// True if it is launched for the kernels of a chain, which it calls.
    bool callsOthers();
  }];
}

def Tile_CallOp : Tile_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Does what a block of another kernel does, with these arguments";
  let description = [{
    The block has the number, the threads and the shared memory of the kernel that calls. All its threads
    call. A tile.barrier orders what two calls do.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)";
}

def Tile_PointOp : Tile_Op<"point", [Pure]> {
  let summary = "The number of this thread in a launch of one dimension";
  let description = [{
    Block number times `threads` plus the thread's number in its block. A target without threads
    runs the kernel's body once for each value.
  }];
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Single elements of global memory
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load"> {
  let summary = "An element of global memory, converted to its compute type";
  let arguments = (ins Arg<Tile_PtrType, "", [MemRead]>:$pointer, I64:$offset);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer `[` $offset `]` attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store"> {
  let summary = "Stores a scalar, rounded to the storage type, to nearest even";
  let arguments = (ins AnyType:$value, Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset);
  let assemblyFormat = [{
    $value `,` $pointer `[` $offset `]` attr-dict `:` type($value) `->` type($pointer)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The block and its threads
//===----------------------------------------------------------------------===//

def Tile_BlockOp : Tile_Op<"block", [Pure]> {
  let summary = "The number of this block in a launch of one dimension";
  let description = [{
    Each op reads the number anew, so what is derived from it after a loop does not take registers
    during the loop. The same holds for tile.warp.
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_WarpOp : Tile_Op<"warp", [Pure]> {
  let summary = "The number of this warp in its block";
  let description = [{
    Read anew at each op. With `uniform`, where all threads of the warp come along, the compiler sees that
    it is the same in all of them: what is computed from it needs no registers of threads.
  }];
  let arguments = (ins UnitAttr:$uniform);
  let results = (outs I32:$result);
  let assemblyFormat = "(`uniform` $uniform^)? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, $_builder.getI32Type(), false); }]>];
}

def Tile_GridSizeOp : Tile_Op<"grid_size", [Pure]> {
  let summary = "The number of blocks of the launch: the stride of a persistent block's work";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "All threads of the block meet; shared memory written before is seen after";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

def Tile_SharedOp : Tile_Op<"shared", [Pure]> {
  let summary = "A tile, or a ring of tiles, at a byte offset of the block's shared memory";
  let description = [{
    In a kernel that calls others also an array there, which these read and write as they do one in global
    memory.
  }];
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyTypeOf<[Tile_SharedType, Tile_RingType, Tile_BarriersType,
                                 Tile_PtrType]>:$result);
  let assemblyFormat = "`at` $offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_StageOp : Tile_Op<"stage", [Pure]> {
  let summary = "The tile of a ring or pipe that holds tile number `index` of the stream";
  let arguments = (ins AnyTypeOf<[Tile_RingType, Tile_PipeType]>:$ring, I32:$index);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StripOp : Tile_Op<"strip", [Pure]> {
  let summary = "The rows of a tile from `first` on: what one warp works on";
  let arguments = (ins Tile_SharedType:$tile, I32:$first);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$tile `[` $first `]` attr-dict `:` type($tile) `->` type($result)";
}

def Tile_CopyOp : Tile_Op<"copy"> {
  let summary = "All threads start the copy of a tile from global to shared memory, or from an array there";
  let description = [{
    Row r comes from `offset + r * stride`; rows from `rows` on, and with `cols` columns from that on,
    are zero and not read. Every row start, and where `cols` of a row end, is aligned to `vector_bytes`.
    With `tiles` the columns go on in as many tiles that follow `tile`, each without padding.
    The copy belongs to the group that the next tile.commit closes.
  }];
  let arguments = (ins Tile_PtrType:$pointer, I64:$offset, I64:$stride, I32:$rows,
                       Optional<I32>:$cols, Tile_SharedType:$tile, I64Attr:$vector_bytes,
                       DefaultValuedAttr<I64Attr, "1">:$tiles);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $pointer `[` $offset `]` `stride` $stride `rows` $rows (`cols` $cols^)? `to` $tile `vector`
    $vector_bytes attr-dict `:` type($pointer) `->` type($tile)
  }];
  let extraClassDeclaration = [{
    /// True of one whole row without padding, of which only `cols` says how much there is.
    bool isRow() {
      return getTile().getType().getRows() == 1 && getCols() && getTiles() == 1 &&
             getTile().getType().getCols() == getTile().getType().getWidth();
    }
  }];
}

def Tile_CopyRowsOp : Tile_Op<"copy_rows", [SingleBlock]> {
  let summary = "All threads of the block, or of a role, copy a tile of rows from anywhere in a tensor";
  let description = [{
    The block's argument is the row, counted from `first` (i32). It yields the offset at which that row
    begins (i64), and whether there is such a row (i1): else it is zero and not read. Every row start is
    aligned to `vector_bytes`. The copy belongs to the group that the next tile.commit closes.

    Each warp copies rows that follow each other, in turns of at most 32: a lane finds where one lies.
    Lanes beyond them find rows, too, that nobody copies.

    With `run` the block also yields a tensor map with boxes of `run` rows, and the row's coordinates in
    it but for the column, which is 0. Of `run` rows of the tile from a multiple of that on, all lie
    behind each other if the first and the last one exist. Where that is so of the whole tile, a slot of
    a pipe, boxes bring it.
  }];
  let arguments = (ins Tile_PtrType:$pointer, I32:$first, Tile_SharedType:$tile,
                       I64Attr:$vector_bytes, DefaultValuedAttr<I64Attr, "0">:$run);
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $pointer `rows` $first `to` $tile `vector` $vector_bytes attr-dict `:` type($pointer) `->`
    type($tile) $body
  }];
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// The first of the warps that copy, and their number.
    std::pair<int64_t, int64_t> warps();
    /// The turns of each warp, and the rows of one.
    std::pair<int64_t, int64_t> turns();
  }];
}

def Tile_CommitOp : Tile_Op<"commit"> {
  let summary = "Closes the group of copies started since the last one";
  let assemblyFormat = "attr-dict";
}

def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "Waits until at most `pending` groups of this thread's copies are unfinished";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Registers of a warp
//===----------------------------------------------------------------------===//

def Tile_RegistersOp : Tile_Op<"registers"> {
  let summary = "Registers for a fragment, a row vector or an operand";
  let description = "Every element is set to `value`, if there is one.";
  let arguments = (ins OptionalAttr<F32Attr>:$value);
  let results = (outs AnyTypeOf<[Tile_FragmentType, Tile_RowsType, Tile_ColumnsType,
                                 Tile_OperandType]>:$result);
  let assemblyFormat = "(`all` $value^)? attr-dict `:` type($result)";
}

def Tile_MmaOp : Tile_Op<"mma"> {
  let summary = "c += a b on the tensor cores";
  let description = [{
    With `transposed`, b is stored with one row for each column of the product: c(i, j) += sum_k
    a(i, k) b(j, k). 16-bit operands use mma.m16n8k16; f32 operands the split product of three tf32
    ones, or with `halves`, where a is in registers, that of three bf16 ones: an f32 as the sum of two.
  }];
  let arguments = (ins Tile_FragmentType:$c, AnyTypeOf<[Tile_SharedType, Tile_OperandType]>:$a,
                       Tile_SharedType:$b, UnitAttr:$transposed, UnitAttr:$halves);
  let assemblyFormat = [{
    $c `,` $a `,` $b (`transposed` $transposed^)? (`halves` $halves^)? attr-dict `:` type($c) `,` type($a) `,` type($b)
  }];
  let hasVerifier = 1;
}

def Tile_ToOperandOp : Tile_Op<"to_operand"> {
  let summary = "A fragment as the A operand of a product, one of `halves` if it says so";
  let arguments = (ins Tile_FragmentType:$fragment, UnitAttr:$halves);
  let results = (outs Tile_OperandType:$result);
  let assemblyFormat = "$fragment (`halves` $halves^)? attr-dict `:` type($fragment) `->` type($result)";
}

def Tile_MapOp : Tile_Op<"map", [SingleBlock, AttrSizedOperandSegments]> {
  let summary = "Scalar code for each element of fragments, or of row vectors";
  let description = [{
    Writes the `outs`, all of one type. The block's arguments are the element's row, counted from
    `rows`, for fragments its column, counted from `cols` (both i32), and one f32 for each of the
    `ins`: the element at the same place, or for a row or column vector the one of the same row or
    column. A place can be both read and written. Of an operand in registers, 16 rows, the element is
    the rounded one. Of a shared tile with panels, the warp's strip, it is the one at the place that
    the element has in the fragment.
  }];
  let arguments = (ins I32:$rows, Optional<I32>:$cols,
                       Variadic<AnyTypeOf<[Tile_FragmentType, Tile_RowsType, Tile_ColumnsType,
                                           Tile_OperandType, Tile_SharedType]>>:$ins,
                       Variadic<AnyTypeOf<[Tile_FragmentType, Tile_RowsType]>>:$outs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    /// True if the outs are row vectors.
    bool isOverRows() { return !getCols(); }
    ::mlir::BlockArgument rowIndex() { return getBodyBlock()->getArgument(0); }
    ::mlir::BlockArgument columnIndex() { return getBodyBlock()->getArgument(1); }
    ::mlir::BlockArgument element(unsigned i) {
      return getBodyBlock()->getArgument(i + (isOverRows() ? 1 : 2));
    }
  }];
}

def Tile_TabulateOp : Tile_Op<"tabulate", [SingleBlock]> {
  let summary = "Threads write the elements of a shared tile, computed by scalar code";
  let description = [{
    The block's arguments are the element's row, counted from `rows`, and its column (both i32); it
    yields an f32, which is rounded to the tile's element type. What fills the tile's rows up to whole
    chunks is zero. Like tile.copy of something that is in no tensor: the tile is seen by other warps
    after a barrier. All threads of the block take part, or with `by_group` those of a warpgroup, each
    of which has a tile of its own.
  }];
  let arguments = (ins Tile_SharedType:$tile, I32:$rows, UnitAttr:$by_group);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$tile `rows` $rows (`by_group` $by_group^)? attr-dict `:` type($tile) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Tile_PeekOp : Tile_Op<"peek"> {
  let summary = "In a map: an element of a shared tile without panels, at a row and column of the tile";
  let description = [{
    For elements that do not lie in the tile as they do in the fragment: turned, say, with a row for each
    column of the fragment. Integers come as i64, as from memory.
  }];
  let arguments = (ins Arg<Tile_SharedType, "", [MemRead]>:$tile, I32:$row, I32:$col);
  let results = (outs AnyTypeOf<[F32, I64]>:$result);
  let assemblyFormat = "$tile `[` $row `,` $col `]` attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_FirstColumnOp : Tile_Op<"first_column", [Pure, HasParent<"MapOp">]> {
  let summary = "In a map: the column of the first element of this lane in the element's row";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ColumnDistanceOp : Tile_Op<"column_distance", [Pure, HasParent<"MapOp">]> {
  let summary = "In a map: the element's column minus tile.first_column, a constant for each element";
  let results = (outs F32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_AnyOp : Tile_Op<"any", [SingleBlock]> {
  let summary = "True in the whole warp if the region yields true for some row";
  let arguments = (ins Variadic<Tile_RowsType>:$ins);
  let results = (outs I1:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $ins `)` attr-dict `:` type($ins) $body";
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Tile_BallotOp : Tile_Op<"ballot", [SingleBlock]> {
  let summary = "What each of the 32 lanes of the warp answers, as bits: lane n's are bit n";
  let description = [{
    The region is computed by every lane with its own number (i32, 0 to 31), and yields an i1 for each
    result. It is for whole warps: all lanes come here, and all see the results. It writes nothing.
  }];
  let results = (outs Variadic<I32>:$words);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict `:` type($words) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Tile_FirstBitOp : Tile_Op<"first_bit", [Pure]> {
  let summary = "The number of the lowest bit that is set in `word`, which is not 0";
  let arguments = (ins I32:$word);
  let results = (outs I32:$result);
  let assemblyFormat = "$word attr-dict";
}

def Tile_WithoutFirstBitOp : Tile_Op<"without_first_bit", [Pure]> {
  let summary = "`word` without the lowest bit that is set in it";
  let arguments = (ins I32:$word);
  let results = (outs I32:$result);
  let assemblyFormat = "$word attr-dict";
}

def Tile_HasBitOp : Tile_Op<"has_bit", [Pure]> {
  let summary = "True if bit `number`, from 0 to 31, is set in `word`";
  let arguments = (ins I32:$word, I32:$number);
  let results = (outs I1:$result);
  let assemblyFormat = "$word `[` $number `]` attr-dict";
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator]> {
  let summary = "The scalars that a region computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^)? attr-dict (`:` type($values)^)?";
}

def Tile_ReduceRowsOp : Tile_Op<"reduce_rows"> {
  let summary = "Folds each lane's elements of a row into a row vector";
  let arguments = (ins Tile_Combine:$kind, Tile_FragmentType:$fragment, Tile_RowsType:$into);
  let assemblyFormat = "$kind $fragment `into` $into attr-dict `:` type($fragment) `,` type($into)";
}

def Tile_ReduceQuadOp : Tile_Op<"reduce_quad"> {
  let summary = "Combines the shares of the four lanes that hold a row; all receive the result";
  let arguments = (ins Tile_Combine:$kind, Tile_RowsType:$rows);
  let assemblyFormat = "$kind $rows attr-dict `:` type($rows)";
}

def Tile_ScaleRowsOp : Tile_Op<"scale_rows"> {
  let summary = "Multiplies each row of a fragment by an element of a row vector";
  let arguments = (ins Tile_FragmentType:$fragment, Tile_RowsType:$by);
  let assemblyFormat = "$fragment `by` $by attr-dict `:` type($fragment) `,` type($by)";
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

def Tile_StoreFragmentOp : Tile_Op<"store_fragment"> {
  let summary = "Writes a fragment to shared memory, rounded to the tile's element type";
  let description = [{
    Tiles with panels are written by stmatrix; the tile is then the 16 rows of the warp. tile.publish
    shows what was written to products and copies. A tile without panels may have up to 15 columns less
    than the fragment, whose width is padded: they are left out, or fall into the tile's padding.
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$tile);
  let assemblyFormat = "$fragment `to` $tile attr-dict `:` type($fragment) `,` type($tile)";
  let hasVerifier = 1;
}

def Tile_StoreTileOp : Tile_Op<"store_tile"> {
  let summary = "All threads write the rows < `rows` of a shared tile to global memory";
  let description = "With `cols` of each row the columns < `cols`; alignment as of tile.copy.";
  let arguments = (ins Tile_SharedType:$tile, Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset,
                       I64:$stride, I32:$rows, Optional<I32>:$cols, I64Attr:$vector_bytes);
  let assemblyFormat = [{
    $tile `to` $pointer `[` $offset `]` `stride` $stride `rows` $rows (`cols` $cols^)? `vector`
    $vector_bytes attr-dict `:` type($tile) `->` type($pointer)
  }];
  let hasVerifier = 1;
}

def Tile_StoreRowsOp : Tile_Op<"store_rows"> {
  let summary = "Writes the elements of a row vector whose row, counted from `first`, is < `end`";
  let description = "Row r goes to `offset + r * stride`, rounded to the storage type.";
  let arguments = (ins Tile_RowsType:$rows, I32:$first, I32:$end,
                       Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset, I64:$stride);
  let assemblyFormat = [{
    $rows `from` $first `to` $end `,` $pointer `[` $offset `]` `stride` $stride attr-dict `:`
    type($rows) `->` type($pointer)
  }];
}

def Tile_StoreFragmentRowsOp : Tile_Op<"store_fragment_rows"> {
  let summary = "Writes the rows of a fragment whose number, counted from `first`, is < `end`";
  let description = [{
    Row r goes to `offset + r * stride`, rounded to the storage type, with `cols` the columns < `cols`
    of it. Lanes exchange what they hold, so that each stores 16 bytes; `offset`, `stride` and `cols`
    are multiples of that.
  }];
  let arguments = (ins Tile_FragmentType:$fragment, I32:$first, I32:$end,
                       Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset, I64:$stride,
                       Optional<I32>:$cols);
  let assemblyFormat = [{
    $fragment `from` $first `to` $end `,` $pointer `[` $offset `]` `stride` $stride (`cols` $cols^)?
    attr-dict `:` type($fragment) `->` type($pointer)
  }];
}

include "dialects/Tile/TileAsyncOps.td"
include "dialects/Tile/TileStepOps.td"
include "dialects/Tile/TileThreadOps.td"

#endif
