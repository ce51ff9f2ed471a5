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
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
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

tile.kernel @stages("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has 1099511627776 stages of '!tile.shared<64, 64, f16, panels 64>', none or more than the 232448 bytes of a block}}
      %k = tile.fetch %k_map(%t) {stages = 1099511627776 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    }
  }
}

// -----

tile.kernel @parts("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has 0 parts; it can be 1 to 64}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, parts = 0 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    }
  }
}

// -----

tile.kernel @unused("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{brings a tile or a part that no step uses, so that none releases it}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    }
  }
}

// -----

tile.kernel @unused_part("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{brings a tile or a part that no step uses}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, parts = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
      tile.step "second" {
        %p = tile.part %k[1] : !tile.shared<64, 64, f16, panels 64>
        %s = tile.registers : !tile.fragment<16, 64>
        tile.mma_start %s, %p, %p transposed fresh : !tile.fragment<16, 64>, !tile.shared<64, 64, f16, panels 64>, !tile.shared<64, 64, f16, panels 64>
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @part_of_a_whole("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
      tile.step "part" {
        // expected-error @+1 {{is not one of the parts of a tile.fetch}}
        %p = tile.part %k[0] : !tile.shared<64, 64, f16, panels 64>
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @parts_of_a_row_tile("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{is for a row tile; it has no stage and no parts}}
    %q = tile.fetch %k_map(%turn) {stages = 1 : i64, stage = 1 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

tile.kernel @late_in_stream("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is late or of a run, and not for a row tile}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, late} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
      tile.step "use" {
        %s = tile.registers : !tile.fragment<16, 64>
        tile.mma_start %s, %k, %k transposed fresh : !tile.fragment<16, 64>, !tile.shared<64, 64, f16, panels 64>, !tile.shared<64, 64, f16, panels 64>
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @fetch_in_step("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "fetch" {
        // expected-error @+1 {{belongs to the work of a row tile that has no role yet}}
        %k = tile.fetch %k_map(%t) {stages = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @fetch_of_full("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
      %full = arith.extui %is_full : i1 to i32
      // expected-error @+1 {{depends on whether a tile is full, which only steps of stage 0 know}}
      %k = tile.fetch %k_map(%full) {stages = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
      tile.step "use" {
        %s = tile.registers : !tile.fragment<16, 64>
        tile.mma_start %s, %k, %k transposed fresh : !tile.fragment<16, 64>, !tile.shared<64, 64, f16, panels 64>, !tile.shared<64, 64, f16, panels 64>
        tile.yield
      }
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @late_first("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is of stage 1, where nobody knows whether the tile is the first}}
      tile.step "late" stage 1 {
        scf.if %is_first {
          tile.warp_sync
        }
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @late_listed("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
      %even = arith.cmpi eq, %t, %turn : i32
      // expected-error @+1 {{is of stage 1, where the number of a listed tile is no longer known}}
      tile.step "late" stage 1 {
        scf.if %even {
          tile.warp_sync
        }
        tile.yield
      }
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @late_full("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works entry_bits 1 {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
      // expected-error @+1 {{depends on whether a tile is full, which only steps of stage 0 know}}
      tile.step "late" stage 1 {
        scf.if %is_full {
          tile.warp_sync
        }
        tile.yield
      }
    } ask {
    ^bb0(%chunk: i32):
      tile.yield %chunk, %chunk : i32, i32
    }
  }
}

// -----

tile.kernel @used_before("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{yields what is used outside of the steps that run after it}}
      %flag = tile.step "flag" order 1 -> i1 {
        %yes = arith.constant true
        tile.yield %yes : i1
      }
      tile.step "before" {
        scf.if %flag {
          tile.warp_sync
        }
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @used_a_stage_before("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{yields what is used outside of the steps that run after it}}
      %flag = tile.step "flag" stage 1 -> i1 {
        %yes = arith.constant true
        tile.yield %yes : i1
      }
      tile.step "before" order 1 {
        scf.if %flag {
          tile.warp_sync
        }
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @used_by_scalars("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{yields what is used outside of the steps that run after it}}
      %flag = tile.step "flag" -> i1 {
        %yes = arith.constant true
        tile.yield %yes : i1
      }
      %not = arith.xori %flag, %is_first : i1
      tile.step "after" order 1 {
        scf.if %not {
          tile.warp_sync
        }
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @shared_registers("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %m = tile.registers all 0.0 : !tile.rows<16>
      // expected-error @+1 {{shares registers of a tile with a step of another stage}}
      tile.step "now" {
        tile.reduce_quad max %m : !tile.rows<16>
        tile.yield
      }
      tile.step "late" stage 1 {
        tile.reduce_quad max %m : !tile.rows<16>
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @turn_of_none("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is done in turn by groups that take none}}
      tile.step "turn" turn {
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @pending("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{waits until less than no group is unfinished}}
      tile.step "wait" pending -1 {
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @step_in_step("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "outer" {
        // expected-error @+1 {{is not directly in the tile.stream}}
        tile.step "inner" {
          tile.yield
        }
        tile.yield
      }
    }
  }
}

// -----

tile.kernel @step_behind_stream("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
    // expected-error @+1 {{is not directly in the tile.stream}}
    tile.step "behind" {
      tile.yield
    }
  }
}

// -----

tile.kernel @step_of_nobody("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{belongs to a role or to the work of a row tile}}
  tile.step "alone" {
    tile.yield
  }
}

// -----

tile.kernel @pointer("works" = %works: i32, "k" = %k: !tile.ptr<f16>, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{takes boxes of a tensor map, or with `rows` those of a pointer}}
      %tile = tile.fetch %k(%t) {stages = 2 : i64} : !tile.ptr<f16> -> !tile.shared<64, 64, f16, panels 64>
    }
  }
}

// -----

tile.kernel @rows_of_a_map("works" = %works: i32, "k" = %k: !tile.ptr<f16>, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{takes boxes of a tensor map, or with `rows` those of a pointer}}
      %tile = tile.fetch %k_map(%t) {stages = 2 : i64} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64> rows {
      ^bb0(%row: i32):
        %at = arith.constant 0 : i64
        tile.yield %at, %is_first : i64, i1
      }
    }
  }
}

// -----

tile.kernel @two_coordinates("works" = %works: i32, "k" = %k: !tile.ptr<f16>, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has `rows` with one i32, counted from its one coordinate}}
      %tile = tile.fetch %k(%t, %t) {stages = 2 : i64} : !tile.ptr<f16> -> !tile.shared<64, 64, f16, panels 64> rows {
      ^bb0(%row: i32):
        %at = arith.constant 0 : i64
        tile.yield %at, %is_first : i64, i1
      }
    }
  }
}

// -----

tile.kernel @no_offset("works" = %works: i32, "k" = %k: !tile.ptr<f16>, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{yields an offset and whether there is such a row}}
      %tile = tile.fetch %k(%t) {stages = 2 : i64} : !tile.ptr<f16> -> !tile.shared<64, 64, f16, panels 64> rows {
      ^bb0(%row: i32):
        %at = arith.constant 0 : i64
        tile.yield %is_first : i1
      }
    }
  }
}

// -----

tile.kernel @rows_in_parts("works" = %works: i32, "k" = %k: !tile.ptr<f16>, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has `rows`, and comes in parts or by_group}}
      %tile = tile.fetch %k(%t) {stages = 2 : i64, parts = 2 : i64} : !tile.ptr<f16> -> !tile.shared<64, 64, f16, panels 64> rows {
      ^bb0(%row: i32):
        %at = arith.constant 0 : i64
        tile.yield %at, %is_first : i64, i1
      }
    }
  }
}

// -----

tile.kernel @of_run("works" = %works: i32, "k_map" = %k_map: !tile.tensor_map<[64, 64], f16>) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    // expected-error @+1 {{is of a run; it has one stage and users in steps, and row tiles are in runs}}
    %k = tile.fetch %k_map(%work) {stages = 1 : i64, of_run} : !tile.tensor_map<[64, 64], f16> -> !tile.shared<64, 64, f16, panels 64>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}

// -----

tile.kernel @own_row_tiles("works" = %works: i32) grid [1] threads 256 smem 0 {
  // expected-error @+1 {{gives each block row tiles of its own; blocks stay, and draw none}}
  tile.row_tiles %works from %works in runs of %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
    }
  }
}
