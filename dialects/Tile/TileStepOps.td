#ifndef ATTNC_TILE_STEP_OPS_TD
#define ATTNC_TILE_STEP_OPS_TD

// A row tile's work before it is divided among roles: what is done with each tile of the stream, in
// order of meaning, and when and by whom as attributes. Included by TileOps.td.

def Tile_RowTilesOp : Tile_Op<"row_tiles", [SingleBlock, NoTerminator, AttrSizedOperandSegments]> {
  let summary = "What a block does with each of the row tiles that it takes, of `count`";
  let description = [{
    A block takes the row tile of its own number. With `persistent` it goes on: with a counter in
    memory it draws the numbers of the others, else it takes every grid-size-th one, or from `first` on
    all up to `count`, where these differ from block to block. The block's arguments are the number of
    the row tile and how many the block took before (both i32).

    Numbers with one quotient by `run` are a run: what is fetched `of_run` stays while it goes on.

    Two roles share the work. The first, with `producer_registers`, starts the copies (tile.fetch): one
    thread, or one for each group where fetches are `by_group`. The other, `groups` warpgroups with
    `consumer_registers`, does everything else, each with rows of its own, or all with the same ones
    where fetches are `by_group`. With `ping_pong` the steps that say `turn` are done by one group after
    the other. Once roles are assigned, the numbers that one role draws reach the others through
    `queue`. With `adder_registers` a third role, one warpgroup, does the steps that say `adds`.

    The blocks of a kernel's cluster take each row tile together: the number is the cluster's.
  }];
  let arguments = (ins I32:$count, Optional<Tile_PtrType>:$counter,
                       Optional<Tile_PipeType>:$queue, Optional<I32>:$first, Optional<I32>:$run,
                       UnitAttr:$persistent, UnitAttr:$ping_pong, I64Attr:$groups, I64Attr:$producer_registers,
                       I64Attr:$consumer_registers,
                       DefaultValuedAttr<I64Attr, "0">:$adder_registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count (`drawn` `from` $counter^ `:` type($counter))? (`through` $queue^ `:` type($queue))?
    (`from` $first^ `in` `runs` `of` $run)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::mlir::BlockArgument getNumber() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getTurn() { return getBody().getArgument(1); }
  }];
}

def Tile_StreamOp : Tile_Op<"stream", [NoTerminator, AttrSizedOperandSegments]> {
  let summary = "The tiles `first` to `end` of the stream, at least one, in order";
  let description = [{
    The block's arguments: the tile's number, its number in the pipes (both i32), whether it is the
    first one, and whether it is the last one, which steps of stage 1 know (both i1). A group whose rows
    do not need all tiles says which it needs, `own_first` to `own_end`, at least one, and lets the
    others pass. In the body are tile.fetch, tile.step, and scalars of a tile. Where `any` is false
    there is no tile, and nothing is copied or awaited for the row tile, of which a block has one.

    Who copies fills slots in the order of fetches, those of stage 1 for the tile before, and goes on
    when a slot is free. So a step that awaits a tile finds all slots released that the tiles up to it
    need, or it would wait for ever.

    Where tiles between may matter to nobody, `ask` says of the 32 tiles from its argument on which do:
    words with a bit for each, two for each who asks: the tile matters, and it needs no mask. If the
    groups ask, each for its own rows, `entry_bits` is two for each of them, else 1. The role that
    copies makes a list of the tiles that matter, which reaches the others through `block_list`; a
    further argument of the block is whether the tile is full (i1). With `from_end` tiles are asked
    from the last 32 to the first.
  }];
  let arguments = (ins I32:$first, I32:$end, Optional<I1>:$any, Optional<I32>:$own_first,
                       Optional<I32>:$own_end, Optional<Tile_PipeType>:$block_list,
                       DefaultValuedAttr<I64Attr, "0">:$entry_bits, UnitAttr:$from_end);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$ask);
  let assemblyFormat = [{
    $first `to` $end (`if` $any^)? (`own` $own_first^ `to` $own_end)? (`through` $block_list^ `:` type($block_list))?
    (`entry_bits` $entry_bits^)? (`from_end` $from_end^)? attr-dict-with-keyword $body (`ask` $ask^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::mlir::BlockArgument getTile() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getNumber() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getIsFirst() { return getBody().getArgument(2); }
    /// True if only the tiles of a list are visited.
    bool isListed() { return getEntryBits() != 0; }
    ::mlir::BlockArgument getIsLast() { return getBody().getArgument(3); }
    ::mlir::BlockArgument getIsFull() { return getBody().getArgument(4); }
  }];
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$first, "::mlir::Value":$end), [{
    build($_builder, $_state, first, end, /*any=*/{}, /*own_first=*/{}, /*own_end=*/{}, /*list=*/{});
  }]>];
}

def Tile_StreamAheadOp : Tile_Op<"stream_ahead", [NoTerminator]> {
  let summary = "The tiles `first` to `end` of the stream, whose copies all threads start ahead of their use";
  let description = [{
    What a kernel without roles does with each tile of its stream, which may have none. The block's
    arguments are the tile's number and its number among the tiles that are copied (both i32). In the body
    are tile.step, in the order in which they run, and what they share.

    `copies` starts what a tile needs (tile.copy). Its arguments are the tile, which part of it, and the
    number of the part among all that are copied, whose slot it takes (all i32). A tile arrives whole, as
    part 0, before its first step. If steps are done in `parts`, they count the parts of the tile, and one
    arrives before each time. Copies run `ahead` tiles or parts ahead; the first ones start behind the ops
    before this one that fill shared memory, whose copies arrive with them.

    `ask` is as in tile.stream, of the block's rows: then a further argument of the body is whether the
    tile is full (i1), and copied tiles are numbered from 0, otherwise by their place in the stream.
  }];
  let arguments = (ins I32:$first, I32:$end, I64Attr:$ahead);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$copies, AnyRegion:$ask);
  let assemblyFormat = [{
    $first `to` $end `by` $ahead attr-dict-with-keyword $body `copies` $copies (`ask` $ask^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::mlir::BlockArgument getTile() { return getBody().getArgument(0); }
    ::mlir::BlockArgument getNumber() { return getBody().getArgument(1); }
    ::mlir::BlockArgument getIsFull() { return getBody().getArgument(2); }
    /// True if only tiles that matter are visited.
    bool isListed() { return !getAsk().empty(); }
    /// Parts that arrive one after the other for a tile; 0: it arrives whole.
    int64_t countParts();
  }];
}

def Tile_FetchOp : Tile_Op<"fetch"> {
  let summary = "A tile that a copy brings from global memory, for the steps that use it";
  let description = [{
    Coordinates as in tile.fill. `stages` tiles are in shared memory at a time. In a tile.stream it is
    fetched for each tile, as a step of this `stage` and `order` would be; outside, for each row tile. It may
    come in `parts` of the result's shape, one after the other, which tile.part names: the first at the
    coordinates, the others further `along` that coordinate. With `late`, what rows need comes behind
    what the first tile of the stream needs. What only ops behind the stream use comes behind all that its
    last tile needs. `of_run` it is fetched for the first row tile of each run alone, and released behind
    the last one.

    With `by_group` each group has its own, and a warp for each group copies. Those that are also `in_ring`
    take turns in the same slots, `stages` of the largest of them.

    With `rows` and `run`, which are as those of tile.copy_rows, rows may lie anywhere in a tensor: the
    coordinate is the first of them.
  }];
  let arguments = (ins AnyTypeOf<[Tile_TensorMapType, Tile_PtrType]>:$tensor,
                       Variadic<I32>:$coordinates, I64Attr:$stages,
                       DefaultValuedAttr<I64Attr, "0">:$stage, DefaultValuedAttr<I64Attr, "0">:$order,
                       DefaultValuedAttr<I64Attr, "1">:$parts,
                       DefaultValuedAttr<I64Attr, "0">:$along, UnitAttr:$late, UnitAttr:$by_group,
                       UnitAttr:$in_ring, UnitAttr:$of_run,
                       DefaultValuedAttr<I64Attr, "0">:$run);
  let results = (outs Tile_SharedType:$result);
  let regions = (region MaxSizedRegion<1>:$rows);
  let assemblyFormat = [{
    $tensor `(` $coordinates `)` attr-dict `:` type($tensor) `->` type($result) (`rows` $rows^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isByRows() { return !getRows().empty(); }
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$tensor,
                                 "::mlir::ValueRange":$coordinates, "int64_t":$stages), [{
    build($_builder, $_state, result, tensor, coordinates, stages, /*stage=*/0, /*order=*/0,
          /*parts=*/1, /*along=*/0, /*late=*/false, /*by_group=*/false, /*in_ring=*/false,
          /*of_run=*/false, /*run=*/0);
  }]>];
}

def Tile_ExchangeOp : Tile_Op<"exchange", [SameVariadicResultSize]> {
  let summary = "Tiles that each of two groups writes for each tile of the stream, and the other reads";
  let description = [{
    One step writes `mine`: whole tiles with panels, or vectors of f32. Steps of a later stage or order
    read what the other group has written, `theirs`, and may scale it in place. A group writes again
    when the other one's last step is done, so steps of a later stage run before the one that writes.
  }];
  let results = (outs Variadic<Tile_SharedType>:$mine, Variadic<Tile_SharedType>:$theirs);
  let assemblyFormat = "attr-dict `:` type($mine) `theirs` type($theirs)";
  let hasVerifier = 1;
}

def Tile_HandOverOp : Tile_Op<"hand_over"> {
  let summary = "A tile that the groups write for each tile of the stream, and the group that adds reads";
  let description = [{
    One step of the groups writes it, each warp its own 16 rows; steps that say `adds` read it. `stages` of
    them are in shared memory at a time.
  }];
  let arguments = (ins I64Attr:$stages);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$stages `stages` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SendPartialOp : Tile_Op<"send_partial"> {
  let summary = "Sends a fragment to the other block of the cluster, whose same warp adds it";
  let description = [{
    Of a tile of the stream, in a tile.step. Both blocks send what they have summed and add what the other
    sends (tile.add_partial), so that both have the same sums.
  }];
  let arguments = (ins Tile_FragmentType:$fragment);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Tile_AddPartialOp : Tile_Op<"add_partial"> {
  let summary = "Adds what the same warp of the other block has sent of a fragment";
  let description = "In a tile.step of the same stage as the tile.send_partial, behind it.";
  let arguments = (ins Tile_FragmentType:$fragment);
  let assemblyFormat = "$fragment attr-dict `:` type($fragment)";
  let hasVerifier = 1;
}

def Tile_PartOp : Tile_Op<"part", [Pure, SameOperandsAndResultType]> {
  let summary = "Part `number` of a tile that is fetched in parts";
  let arguments = (ins Tile_SharedType:$tile, I64Attr:$number);
  let results = (outs Tile_SharedType:$result);
  let assemblyFormat = "$tile `[` $number `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_StepOp : Tile_Op<"step", [SingleBlock]> {
  let summary = "A part of the work with a tile of the stream that is done at one time";
  let description = [{
    Steps follow each other in order of meaning. In the loop over tiles a step of stage s runs s tiles
    after the one that it is about, and steps of an iteration in the order of `order`. A step with
    products (tile.mma_start) starts them and goes on: who needs the results comes later. With `pending`,
    it waits until so many groups of products are unfinished, itself included, so that their tiles are
    free. What a step yields may be used by steps of the same or a later stage. What `adds` is done by the
    group that adds, whose steps are all of stage 0.

    In a tile.stream_ahead steps have no stage, and run in the order in which they stand. With `parts` one is
    done for each of so many parts of the tile, each when it has arrived. The block's arguments are then
    the number of the time, from 0, and that of the part among all that are copied (both i32).
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<I64Attr, "0">:$stage,
                       DefaultValuedAttr<I64Attr, "0">:$order, OptionalAttr<I64Attr>:$pending,
                       UnitAttr:$turn, OptionalAttr<I64Attr>:$parts, UnitAttr:$adds);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyTypeOf<[I1, F32]>>:$results);
  let assemblyFormat = [{
    $name (`parts` $parts^)? (`stage` $stage^)? (`order` $order^)? (`pending` $pending^)? (`turn` $turn^)?
    (`adds` $adds^)?
    (`->` type($results)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *getBodyBlock() { return &getBody().front(); }
    ::mlir::Operation *getYield() { return getBodyBlock()->getTerminator(); }
    /// Whether it is done before `other` in an iteration of the loop over tiles.
    bool isBeforeInLoop(StepOp other);
    /// Whether it is done behind `other` for a tile of the stream.
    bool runsAfter(StepOp other);
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::llvm::StringRef":$name,
                                 "int64_t":$stage), [{
    build($_builder, $_state, results, name, stage, /*order=*/0, /*pending=*/{}, /*turn=*/false,
          /*parts=*/{}, /*adds=*/false);
  }]>];
}

#endif
