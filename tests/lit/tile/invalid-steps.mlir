// RUN: attnc-opt %s --split-input-file --verify-diagnostics

tile.kernel @no_stream("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{has one tile.stream, directly in its block}}
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
  }
}

// -----

tile.kernel @groups("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{has 5 groups that compute; it can be 1 to 4}}
  tile.row_tiles %works attributes {groups = 5 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
  }
}

// -----

tile.kernel @stage("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1):
      // expected-error @+1 {{is of stage 2; it can be 0 or 1}}
      tile.step "late" stage 2 {
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @arguments("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{has a block with the tile's number, that in the pipes, whether it is the first}}
    tile.stream %turn to %works {
    ^bb0(%t: i32):
    }
  }
}

// -----

tile.kernel @parts("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1):
      // expected-error @+1 {{has 2 stages and 0 parts}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, parts = 0 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    }
  }
}
