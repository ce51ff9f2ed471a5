#ifndef ATTNC_TILE_THREAD_OPS_TD
#define ATTNC_TILE_THREAD_OPS_TD

// Ops of kernels whose threads are written one by one: each computes scalars of its own, and the
// threads of a block hand each other what they computed through arrays in shared memory, between
// barriers that all of them reach. Such a kernel has no tiles and no warps with roles. Included by
// TileOps.td.

def Tile_ThreadOp : Tile_Op<"thread", [Pure]> {
  let summary = "The number of this thread in its block";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ArrayOp : Tile_Op<"array"> {
  let summary = "Room for scalars: of each thread, or `shared` by the threads of the block";
  let description = [{
    An array of a thread is in registers where every index is known once loops with `tile.unroll` are
    unrolled. What a thread writes into a shared one, others see after a tile.barrier.
  }];
  let arguments = (ins UnitAttr:$shared);
  let results = (outs Tile_ArrayType:$result);
  let assemblyFormat = "(`shared` $shared^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_GetOp : Tile_Op<"get"> {
  let summary = "An element of an array";
  let arguments = (ins Arg<Tile_ArrayType, "", [MemRead]>:$array, Variadic<I32>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$array `[` $indices `]` attr-dict `:` type($array) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SetOp : Tile_Op<"set"> {
  let summary = "Writes an element of an array";
  let arguments = (ins AnyType:$value, Arg<Tile_ArrayType, "", [MemWrite]>:$array,
                       Variadic<I32>:$indices);
  let assemblyFormat = "$value `,` $array `[` $indices `]` attr-dict `:` type($value) `->` type($array)";
  let hasVerifier = 1;
}

def Tile_FoldLanesOp : Tile_Op<"fold_lanes"> {
  let summary = "The values of the 32 lanes of a warp, combined; all receive the result";
  let description = "All lanes of the warp come here together. Pairs at distance 16, 8, 4, 2, 1.";
  let arguments = (ins Tile_Combine:$kind, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

#endif
