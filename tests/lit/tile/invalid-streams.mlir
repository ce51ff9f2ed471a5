// RUN: attnc-opt %s --split-input-file --verify-diagnostics

tile.kernel @two_row_tiles("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{is not the only one}}
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

tile.kernel @one_takes_turns("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{has one group that takes turns}}
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, ping_pong} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

tile.kernel @turns_without_group("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{has groups that take turns or ask for tiles, and no tile.group}}
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, ping_pong} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

tile.kernel @bits_without_group("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{has groups that take turns or ask for tiles, and no tile.group}}
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works entry_bits 2 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @entry_bits("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    // expected-error @+1 {{has 4 entry_bits for 1 groups; it can be 0, 1 or 2}}
    tile.stream %turn to %works entry_bits 4 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @list_without_ask("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{lists tiles and asks for none}}
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    }
  }
}

// -----

tile.kernel @words("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{asks without entry_bits, not of the tiles from a number on, or not for two words}}
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk : i32
    }
  }
}

// -----

tile.kernel @no_words("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{asks without entry_bits}}
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    } ask {
    ^bb0(%chunk: i32):
    }
  }
}

// -----

tile.kernel @list_and_own("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{has a list and own ranges}}
    tile.stream %turn to %works own %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @list_without_pipe("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.role "compute" warps 0 count 8 registers 24 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{has a list of its tiles without a pipe for it}}
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
    }
  }
  }
}

// -----

tile.kernel @no_queue("works" = %works: i32, "counter" = %counter: !tile.ptr<i32>) grid [1] threads 256 smem 0 {
  tile.role "load" warps 0 count 8 registers 24 {
  // expected-error @+1 {{draws row tiles in a role, without a queue}}
  tile.row_tiles %works drawn from %counter : !tile.ptr<i32> attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, persistent} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
  }
}

// -----

tile.kernel @done_by_nobody("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is done by no tile.step}}
      tile.warp_sync
    }
  }
}

// -----

tile.kernel @conditional_step("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is done by no tile.step}}
      scf.if %is_first {
        tile.step "never" {
          tile.yield
        }
      }
    }
  }
}

// -----

tile.kernel @nested_stream("works" = %works: i32) grid [1] threads 256 smem 0 {
  %yes = arith.constant true
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
    scf.if %yes {
      // expected-error @+1 {{belongs to the work of a row tile}}
      tile.stream %turn to %works {
      ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      }
    }
  }
}

// -----

tile.kernel @no_tile_of_several_row_tiles("works" = %works: i32) grid [1] threads 256 smem 0 {
  %yes = arith.constant true
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, persistent} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{may have no tile: that goes with one row tile, no list, and late fetches}}
    tile.stream %turn to %works if %yes {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

!tile_of_rows = !tile.shared<64, 64, f16, panels 64>
!map_of_rows = !tile.tensor_map<[64, 64], f16>

tile.kernel @no_tile_behind_rows("map" = %map: !map_of_rows, "works" = %works: i32) grid [1] threads 256 smem 0 {
  %yes = arith.constant true
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %q = tile.fetch %map(%work) {stages = 1 : i64} : !map_of_rows -> !tile_of_rows
    // expected-error @+1 {{may have no tile: that goes with one row tile, no list, and late fetches}}
    tile.stream %turn to %works if %yes {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}
