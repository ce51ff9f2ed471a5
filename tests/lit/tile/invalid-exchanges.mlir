// RUN: attnc-opt %s --split-input-file --verify-diagnostics

!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @one_group("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{belongs to a tile of a stream of two groups}}
      %mine, %theirs = tile.exchange : !tile theirs !tile
    }
  }
}

// -----

!tile = !tile.shared<64, 64, f16, panels 64>
!other = !tile.shared<64, 128, f16, panels 64>
tile.kernel @unlike("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{hands over some tiles, of the same types both ways}}
      %mine, %theirs = tile.exchange : !tile theirs !other
    }
  }
}

// -----

!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @nobody_writes("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is written by one tile.step}}
      %mine, %theirs = tile.exchange : !tile theirs !tile
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @ring_for_all("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is in a ring, and not by_group for each tile of a stream}}
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, in_ring} : !map -> !tile
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @along("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has no coordinate 2 that its parts lie along}}
      %k = tile.fetch %k_map(%t, %t) {stages = 2 : i64, parts = 2 : i64, along = 2 : i64} : !map -> !tile
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @last_is_unknown("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %s = tile.registers : !tile.fragment<16, 64>
    %w = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is of stage 0, where nobody knows whether the tile is the last}}
      tile.step "early" {
        scf.if %is_last {
          tile.convert %s to %w : !tile.fragment<16, 64> -> !tile.operand<16, 64, f16>
        }
        tile.yield
      }
    }
  }
}

// -----

// expected-error @+1 {{has slots of 4096 bytes for tiles of 8192}}
!pipe = !tile.pipe<2, <64, 64, f16, panels 64>, slots 4096>

// -----

!pipe = !tile.pipe<3, <64, 64, f16, panels 64>>
tile.kernel @slot("round" = %round: i32) grid [1] threads 128 smem 24624 {
  %pipe = tile.pipe at 0 barriers 24576 users 4 : !pipe
  tile.start_pipes %pipe : !pipe
  // expected-error @+1 {{is the number of a tile of another pipe than one of 2 slots}}
  %number = tile.slot_number %round[1] of 2
  tile.await %pipe[%number] : !pipe
}

// -----

tile.kernel @beyond("round" = %round: i32) grid [1] threads 128 smem 0 {
  // expected-error @+1 {{has slot 3 of 3}}
  %number = tile.slot_number %round[3] of 3
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @no_group("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  // expected-error @+1 {{has fetches by_group or exchanges, which need a tile.group}}
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, by_group} : !map -> !tile
      tile.step "scores" {
        tile.mma_start %s, %q, %k transposed fresh : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @unlike_slots("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, by_group, in_ring} : !map -> !tile
      // expected-error @+1 {{is in a ring of 2 slots, and has 3 stages}}
      %v = tile.fetch %k_map(%t) {stages = 3 : i64, by_group, in_ring, order = 1 : i64} : !map -> !tile
      tile.step "scores" {
        tile.mma_start %s, %q, %k transposed fresh : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}
