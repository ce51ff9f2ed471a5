#ifndef ATTNC_TILE_ASYNC_OPS_TD
#define ATTNC_TILE_ASYNC_OPS_TD

// Ops of kernels whose warps have different roles: copies by the tensor memory accelerator, products
// by warpgroups, and the barriers between them. Included by TileOps.td.

//===----------------------------------------------------------------------===//
// Roles of warps
//===----------------------------------------------------------------------===//

def Tile_RoleOp : Tile_Op<"role", [SingleBlock, NoTerminator]> {
  let summary = "What the warps `first` to `first + count` of the block do";
  let description = [{
    Warpgroups of four warps; the roles of a kernel follow each other and divide its warps. Each warp
    has `registers` registers for a thread, a multiple of 8, instead of an equal share. Together they
    take no more than the equal shares, each rounded down to a multiple of 8.
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$first, I64Attr:$count, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` $first `count` $count `registers` $registers attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Tile_SingleOp : Tile_Op<"single", [SingleBlock, NoTerminator]> {
  let summary = "What one thread of the role does; the other threads pass";
  let description = [{
    The first thread of the role; outside of roles, of the block. With `each_warp`, the first thread of
    each warp that comes here, after its threads have met: it sees what they have written.
  }];
  let arguments = (ins UnitAttr:$each_warp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`each_warp` $each_warp^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
  }];
}

def Tile_GroupOp : Tile_Op<"group", [Pure]> {
  let summary = "The number of this thread's warpgroup in its role";
  let description = "The same value in a whole warp, known to be so by the compiler.";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

def Tile_PipeOp : Tile_Op<"pipe", [Pure]> {
  let summary = "A pipe at a byte offset of the block's shared memory";
  let description = [{
    The barriers, 16 bytes for each slot, lie at `barriers`. Each tile is released by `users` warps.
    With `writers`, that many warps write a tile and complete it; without, asynchronous copies do. The
    writers of a `copied` tile copy it: it has arrived when their copies have. Two
    pipes at the same place with the same barriers are one: tiles of two kinds take turns in its slots,
    and it is started once. Before they have their places, the second is `in` the first.
  }];
  let arguments = (ins I64Attr:$offset, I64Attr:$barriers, I64Attr:$users,
                       DefaultValuedAttr<I64Attr, "0">:$writers, UnitAttr:$copied,
                       Optional<Tile_PipeType>:$ring);
  let results = (outs Tile_PipeType:$result);
  let assemblyFormat = [{
    `at` $offset `barriers` $barriers `users` $users (`writers` $writers^)? (`copied` $copied^)?
    (`in` $ring^ `:` type($ring))? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Of the barriers: for each slot one that says full and one that says free.
    int64_t barrierBytes() { return 16 * getType().getStages(); }
  }];
}

def Tile_StartPipesOp : Tile_Op<"start_pipes"> {
  let summary = "Initialises the barriers of pipes, fetches tensor maps; all threads of the block meet";
  let arguments = (ins Variadic<Tile_PipeType>:$pipes);
  let assemblyFormat = "$pipes attr-dict `:` type($pipes)";
  let hasVerifier = 1;
}

class Tile_PipeNumberOp<string mnemonic> : Tile_Op<mnemonic> {
  let arguments = (ins Tile_PipeType:$pipe, I32:$number);
  let assemblyFormat = "$pipe `[` $number `]` attr-dict `:` type($pipe)";
}

def Tile_AcquireOp : Tile_PipeNumberOp<"acquire"> {
  let summary = "Waits until the slot of tile `number` is free: its last tile was released by all users";
}

def Tile_FillOp : Tile_Op<"fill"> {
  let summary = "Starts the asynchronous copy of tile `number` of a pipe";
  let description = [{
    One thread, after tile.acquire of the same number. The box of the map at `coordinates`, one for
    each axis, the last axis of the tensor first; without the first of them, from column 0 on. A box
    has the columns of one panel: the op copies panel after panel. The slot's "full" barrier completes
    when all bytes have arrived; until then neither the map nor the slot may change.
  }];
  let arguments = (ins Tile_PipeType:$pipe, I32:$number, Tile_TensorMapType:$map,
                       Variadic<I32>:$coordinates);
  let assemblyFormat = [{
    $pipe `[` $number `]` `from` $map `(` $coordinates `)` attr-dict `:` type($pipe) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Tile_FillRowOp : Tile_Op<"fill_row"> {
  let summary = "Starts the asynchronous copy of tile `number`, one row, from contiguous elements";
  let description = "As tile.fill; pointer and offset are aligned to 16 bytes.";
  let arguments = (ins Tile_PipeType:$pipe, I32:$number, Arg<Tile_PtrType, "", [MemRead]>:$pointer,
                       I64:$offset);
  let assemblyFormat = [{
    $pipe `[` $number `]` `from` $pointer `[` $offset `]` attr-dict `:` type($pipe) `,`
    type($pointer)
  }];
  let hasVerifier = 1;
}

def Tile_CompleteOp : Tile_PipeNumberOp<"complete"> {
  let summary = "This warp has written its part of tile `number`";
  let description = [{
    The tile has arrived when all writers have. After tile.acquire of the same number, and after
    tile.publish where a product or a copy reads the tile. Of a `copied` tile: when the copies that
    they have started before have ended; who awaits it publishes it.
  }];
  let hasVerifier = 1;
}

def Tile_AwaitOp : Tile_PipeNumberOp<"await"> {
  let summary = "Waits until tile `number` has arrived";
}

def Tile_ReleaseOp : Tile_PipeNumberOp<"release"> {
  let summary = "This warp does not use tile `number` any more";
}

def Tile_PutOp : Tile_Op<"put"> {
  let summary = "One thread writes a number to slot `number` of a pipe and completes it";
  let description = [{
    After tile.acquire of the same number. The pipe's tiles are of one i32, and it has one writer: what
    one role decides, such as the work to do next, reaches the warps of the others.
  }];
  let arguments = (ins Tile_PipeType:$pipe, I32:$number, I32:$value);
  let assemblyFormat = "$pipe `[` $number `]` `,` $value attr-dict `:` type($pipe)";
  let hasVerifier = 1;
}

def Tile_TakeOp : Tile_Op<"take"> {
  let summary = "The number that tile.put has written to slot `number`";
  let description = [{
    All threads of a warp, after tile.await of the same number. They meet, so a tile.release may
    follow. The same value in a whole warp, known to be so by the compiler.
  }];
  let arguments = (ins Tile_PipeType:$pipe, I32:$number);
  let results = (outs I32:$result);
  let assemblyFormat = "$pipe `[` $number `]` attr-dict `:` type($pipe)";
  let hasVerifier = 1;
}

def Tile_SlotNumberOp : Tile_Op<"slot_number", [Pure]> {
  let summary = "The number `round` * `stages` + `slot`, of a tile whose slot is known";
  let arguments = (ins I32:$round, I64Attr:$slot, I64Attr:$stages);
  let results = (outs I32:$result);
  let assemblyFormat = "$round `[` $slot `]` `of` $stages attr-dict";
  let hasVerifier = 1;
}

def Tile_ChooseOp : Tile_Op<"choose", [Pure]> {
  let summary = "Place number `number` of several of one type";
  let description = "The same number in the whole warp: what a group works on.";
  let arguments = (ins I32:$number, Variadic<AnyTypeOf<[Tile_PipeType, Tile_SharedType,
                                                        Tile_BarriersType]>>:$places);
  let results = (outs AnyTypeOf<[Tile_PipeType, Tile_SharedType, Tile_BarriersType]>:$result);
  let assemblyFormat = "$number `of` `(` $places `)` attr-dict `:` type($places) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ColumnsOp : Tile_Op<"columns", [Pure]> {
  let summary = "The columns of a tile with panels, or of an operand, from `first` on";
  let description = [{
    `first` is a multiple of a panel's columns. For the first factor of a product it may be one of 16
    inside of a panel; of an operand in registers it is a constant.
  }];
  let arguments = (ins AnyTypeOf<[Tile_SharedType, Tile_OperandType]>:$tile, I32:$first);
  let results = (outs AnyTypeOf<[Tile_SharedType, Tile_OperandType]>:$result);
  let assemblyFormat = "$tile `[` $first `]` attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Asynchronous products
//===----------------------------------------------------------------------===//

def Tile_MmaStartOp : Tile_Op<"mma_start"> {
  let summary = "Starts c += a b on the tensor cores, or c = a b with `fresh`";
  let description = [{
    wgmma: the four warps of a warpgroup together, 64 rows; each warp's fragment has 16 of them. More
    than 256 columns, of b without `transposed`, are products of 256 columns and one of the rest. a is a
    strip of 64 rows in shared memory, or each warp's 16 rows in registers. With `transposed`, b has
    one row for each column of the product; with `a_transposed`, a is in shared memory and has one row
    for each index of the sum and 64 columns. Neither a nor b nor c may be touched before a
    tile.mma_wait says that the product is complete, except that products into the same c follow each
    other. Shared memory that threads have written is published to products by tile.publish and a
    barrier before.
  }];
  let arguments = (ins Tile_FragmentType:$c, AnyTypeOf<[Tile_SharedType, Tile_OperandType]>:$a,
                       Tile_SharedType:$b, UnitAttr:$transposed, UnitAttr:$fresh,
                       UnitAttr:$a_transposed);
  let assemblyFormat = [{
    $c `,` $a `,` $b (`transposed` $transposed^)? (`fresh` $fresh^)?
    (`a_transposed` $a_transposed^)? attr-dict `:` type($c) `,` type($a) `,` type($b)
  }];
  let hasVerifier = 1;
}

def Tile_MmaFenceOp : Tile_Op<"mma_fence"> {
  let summary = "Before products that use registers which other instructions have written";
  let assemblyFormat = "attr-dict";
}

def Tile_MmaCommitOp : Tile_Op<"mma_commit"> {
  let summary = "Closes the group of products started since the last one";
  let assemblyFormat = "attr-dict";
}

def Tile_MmaWaitOp : Tile_Op<"mma_wait"> {
  let summary = "Waits until at most `pending` groups of products are unfinished";
  let description = "`settled` are the fragments that these groups have written: they may be read after.";
  let arguments = (ins I64Attr:$pending, Variadic<Tile_FragmentType>:$settled);
  let assemblyFormat = "$pending (`for` $settled^ `:` type($settled))? attr-dict";
  let hasVerifier = 1;
}

def Tile_ConvertOp : Tile_Op<"convert"> {
  let summary = "Writes a fragment, rounded, to the A operand of a product";
  let arguments = (ins Tile_FragmentType:$fragment, Tile_OperandType:$operand);
  let assemblyFormat = "$fragment `to` $operand attr-dict `:` type($fragment) `->` type($operand)";
  let hasVerifier = 1;
}

def Tile_MoveOp : Tile_Op<"move", [SameTypeOperands]> {
  let summary = "Copies an operand in registers to another one";
  let description = [{
    Weights of the next tile are converted to registers of their own while products still read this
    tile's; once these are complete, the new ones take their place.
  }];
  let arguments = (ins Tile_OperandType:$from, Tile_OperandType:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($to)";
}

def Tile_StoreOperandOp : Tile_Op<"store_operand"> {
  let summary = "Writes an operand in registers to the warp's 16 rows of a tile with panels";
  let description = "As tile.store_fragment, without rounding again.";
  let arguments = (ins Tile_OperandType:$operand, Tile_SharedType:$tile);
  let assemblyFormat = "$operand `to` $tile attr-dict `:` type($operand) `,` type($tile)";
  let hasVerifier = 1;
}

def Tile_ScalePackedOp : Tile_Op<"scale_packed"> {
  let summary = "Multiplies each row of rounded weights, and rounds again";
  let description = "An operand in registers, or the warp's 16 rows of a tile with panels.";
  let arguments = (ins AnyTypeOf<[Tile_SharedType, Tile_OperandType]>:$place, Tile_RowsType:$by);
  let assemblyFormat = "$place `by` $by attr-dict `:` type($place) `,` type($by)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Vectors in shared memory
//===----------------------------------------------------------------------===//

def Tile_ReadVectorOp : Tile_Op<"read_vector"> {
  let summary = "Reads the rows' or columns' elements of a vector in shared memory from `first` on";
  let description = "The vector is a tile of one row of f32.";
  let arguments = (ins AnyTypeOf<[Tile_RowsType, Tile_ColumnsType]>:$vector, Tile_SharedType:$tile,
                       I32:$first);
  let assemblyFormat = "$vector `from` $tile `[` $first `]` attr-dict `:` type($vector) `,` type($tile)";
  let hasVerifier = 1;
}

def Tile_WriteVectorOp : Tile_Op<"write_vector"> {
  let summary = "Writes a row vector to a vector in shared memory from `first` on";
  let description = "After tile.reduce_quad: one lane of each quad writes.";
  let arguments = (ins Tile_RowsType:$vector, Tile_SharedType:$tile, I32:$first);
  let assemblyFormat = "$vector `to` $tile `[` $first `]` attr-dict `:` type($vector) `,` type($tile)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Meeting places
//===----------------------------------------------------------------------===//

def Tile_BarrierSyncOp : Tile_Op<"barrier_sync"> {
  let summary = "Waits at the numbered barrier until `threads` threads have met or signalled there";
  let description = [{
    Barriers 1 to 15. With an operand, the result is true if it is for some thread that meets.
  }];
  let arguments = (ins I32:$barrier, I64Attr:$threads, Optional<I1>:$any);
  let results = (outs Optional<I1>:$result);
  let assemblyFormat = "$barrier `threads` $threads (`any` $any^)? attr-dict (`:` type($result)^)?";
  let hasVerifier = 1;
}

def Tile_BarrierArriveOp : Tile_Op<"barrier_arrive"> {
  let summary = "Counts this thread at the numbered barrier and goes on";
  let arguments = (ins I32:$barrier, I64Attr:$threads);
  let assemblyFormat = "$barrier `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def Tile_WarpSyncOp : Tile_Op<"warp_sync"> {
  let summary = "The threads of a warp meet; shared memory written before is seen after";
  let description = "After a tile.single each_warp that waits for something on behalf of its warp.";
  let assemblyFormat = "attr-dict";
}

def Tile_PublishOp : Tile_Op<"publish"> {
  let summary = "Shared memory that this thread has written is seen by later asynchronous ops";
  let assemblyFormat = "attr-dict";
}

def Tile_MbarrierInitOp : Tile_Op<"mbarrier_init"> {
  let summary = "One thread: a phase of each barrier completes with `arrivals` arrivals";
  let description = [{
    In a tile.single. All threads of the block, or of the cluster if other blocks arrive, meet before
    the first use. Phases are numbered from 0; the parity of phase n is n mod 2.
  }];
  let arguments = (ins Tile_BarriersType:$barriers, I64Attr:$arrivals);
  let assemblyFormat = "$barriers `arrivals` $arrivals attr-dict `:` type($barriers)";
}

def Tile_MbarrierArriveOp : Tile_Op<"mbarrier_arrive"> {
  let summary = "This thread arrives at a barrier, here or in the block `peer` of the cluster";
  let description = [{
    With `bytes` the phase then also waits for that many bytes of tile.send and tile.send_fragment. What
    the thread wrote to shared memory before is seen by the block's threads that pass the barrier.
  }];
  let arguments = (ins Tile_BarriersType:$barriers, I32:$number, OptionalAttr<I64Attr>:$bytes,
                       Optional<I32>:$peer);
  let assemblyFormat = [{
    $barriers `[` $number `]` (`bytes` $bytes^)? (`at` $peer^)? attr-dict `:` type($barriers)
  }];
}

def Tile_MbarrierWaitOp : Tile_Op<"mbarrier_wait"> {
  let summary = "Waits until the barrier's phase of the given parity has completed";
  let arguments = (ins Tile_BarriersType:$barriers, I32:$number, I32:$parity);
  let assemblyFormat = "$barriers `[` $number `]` `parity` $parity attr-dict `:` type($barriers)";
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

def Tile_ClusterRankOp : Tile_Op<"cluster_rank", [Pure]> {
  let summary = "The number of this block in its cluster";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ClusterSyncOp : Tile_Op<"cluster_sync"> {
  let summary = "All threads of the cluster meet; what they have written to shared memory is seen";
  let assemblyFormat = "attr-dict";
}

def Tile_SendOp : Tile_Op<"send"> {
  let summary = "One thread starts a copy of a shared tile to the same place of the block `peer`";
  let description = [{
    `into` names the tile there; barrier `number` there counts the bytes. The tile's writers have
    published it (tile.publish) and then met this thread; it may be written again when the peer says
    that it has received it. The peer's block has started: a tile.cluster_sync came before.
  }];
  let arguments = (ins Tile_SharedType:$tile, Tile_SharedType:$into, I32:$peer,
                       Tile_BarriersType:$barriers, I32:$number);
  let assemblyFormat = [{
    $tile `to` $into `at` $peer `,` $barriers `[` $number `]` attr-dict `:` type($tile) `->`
    type($into) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Tile_SendFragmentOp : Tile_Op<"send_fragment"> {
  let summary = "Each thread writes its part of a fragment to the block `peer`, for the same thread there";
  let description = [{
    `into` is f32 without panels, with the fragment's rows for each warp of the role, or of the block
    outside of roles, in any order: barrier `number` there counts the bytes. The threads with the same
    numbers read them there by tile.receive_fragment, after tile.mbarrier_wait, and then arrive at a
    barrier of this block before the place is sent to again. Blocks meet (tile.cluster_sync) before one
    ends that others still send to.
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$into, I32:$peer,
                       Tile_BarriersType:$barriers, I32:$number);
  let assemblyFormat = [{
    $fragment `to` $into `at` $peer `,` $barriers `[` $number `]` attr-dict `:` type($fragment) `->`
    type($into) `,` type($barriers)
  }];
  let hasVerifier = 1;
}

def Tile_ReceiveFragmentOp : Tile_Op<"receive_fragment"> {
  let summary = "Adds the part of a fragment that another block has sent to this thread";
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$from);
  let assemblyFormat = "$fragment `from` $from attr-dict `:` type($fragment) `,` type($from)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

def Tile_StoreBoxOp : Tile_Op<"store_box"> {
  let summary = "One thread starts the copy of a shared tile with panels to global memory";
  let description = [{
    Of the writers of the tile, each has published it (tile.publish) and then met this thread. The copy
    joins the group of stores that the next tile.store_commit of the thread closes; until a
    tile.store_wait of the thread the tile may not be written. Coordinates as in tile.fill. With `adds`
    the elements, f32, are added to those in memory; the order of additions is not fixed.
  }];
  let arguments = (ins Tile_SharedType:$tile, Tile_TensorMapType:$map, Variadic<I32>:$coordinates,
                       UnitAttr:$adds);
  let assemblyFormat = [{
    $tile (`added` $adds^)? `to` $map `(` $coordinates `)` attr-dict `:` type($tile) `->` type($map)
  }];
  let hasVerifier = 1;
}

def Tile_AddBulkOp : Tile_Op<"add_bulk"> {
  let summary = "One thread starts adding a contiguous f32 tile to global memory";
  let description = [{
    As tile.store_box. The tile has one row; pointer and offset are aligned to 16 bytes. The order of
    additions from different blocks is not fixed.
  }];
  let arguments = (ins Tile_SharedType:$tile, Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset);
  let assemblyFormat = "$tile `to` $pointer `[` $offset `]` attr-dict `:` type($tile) `->` type($pointer)";
  let hasVerifier = 1;
}

def Tile_StoreCommitOp : Tile_Op<"store_commit"> {
  let summary = "Closes the group of bulk stores that this thread has started";
  let assemblyFormat = "attr-dict";
}

def Tile_StoreWaitOp : Tile_Op<"store_wait"> {
  let summary = "Waits until at most `pending` groups of this thread's bulk stores are unfinished";
  let description = "With `read`, until their shared memory may be written again.";
  let arguments = (ins I64Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
}

def Tile_StoreLanesOp : Tile_Op<"store_lanes"> {
  let summary = "Writes a warp's f32 fragment to a row of shared memory in the order of lanes";
  let description = [{
    Elements 4p to 4p + 3 of lane l at 16-byte piece 32 p + l: the order of tile.save and tile.restore,
    which is what a bulk copy can move between them.
  }];
  let arguments = (ins Tile_FragmentType:$fragment, Tile_SharedType:$tile);
  let assemblyFormat = "$fragment `to` $tile attr-dict `:` type($fragment) `,` type($tile)";
  let hasVerifier = 1;
  let hasVerifier = 1;
}

class Tile_LanesOp<string mnemonic, string way, MemoryEffect effect> : Tile_Op<mnemonic> {
  let arguments = (ins AnyTypeOf<[Tile_FragmentType, Tile_RowsType]>:$place,
                       Arg<Tile_PtrType, "", [effect]>:$pointer, I64:$offset);
  let assemblyFormat = "$place `" # way #
                       "` $pointer `[` $offset `]` attr-dict `:` type($place) `,` type($pointer)";
}

def Tile_SaveOp : Tile_LanesOp<"save", "to", MemWrite> {
  let summary = "Writes a warp's fragment or row vector to f32 global memory in the order of lanes";
  let description = [{
    A fragment takes rows times columns elements from `offset` on, a multiple of 4; a row vector 4 times
    its rows. A warp that holds the same place reads it by tile.restore.
  }];
}

def Tile_RestoreOp : Tile_LanesOp<"restore", "from", MemRead> {
  let summary = "Reads what tile.save has written";
}

def Tile_TicketOp : Tile_Op<"ticket"> {
  let summary = "One thread: how many blocks have come here before";
  let description = [{
    Adds 1 to an i32 in global memory; what this thread saw written before is seen by whoever draws a
    later ticket; with `relaxed` nothing is, which costs no fence. The count starts again at 0 after
    `count` tickets.
  }];
  let arguments = (ins Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset, I32:$count,
                       UnitAttr:$relaxed);
  let results = (outs I32:$result);
  let assemblyFormat = [{
    $pointer `[` $offset `]` `of` $count (`relaxed` $relaxed^)? attr-dict `:` type($pointer)
  }];
  let hasVerifier = 1;
}

def Tile_LastBlockOp : Tile_Op<"last_block"> {
  let summary = "True in the last of `count` blocks that come here, for all threads that meet";
  let description = [{
    The role's `threads` threads meet at the numbered barrier and one draws a ticket. What the threads
    of the other blocks wrote to global memory before is seen by those of the last one after.
  }];
  let arguments = (ins Arg<Tile_PtrType, "", [MemWrite]>:$pointer, I64:$offset, I32:$count,
                       I32:$barrier, I64Attr:$threads);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $pointer `[` $offset `]` `of` $count `barrier` $barrier `threads` $threads attr-dict `:`
    type($pointer)
  }];
  let hasVerifier = 1;
}

#endif
