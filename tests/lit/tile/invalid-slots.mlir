// Descriptions whose steps would wait for ever for a slot, and two that just have enough.
// RUN: attnc-opt %s --split-input-file --verify-diagnostics

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// Each waits for a slot that is free by then.
tile.kernel @enough("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, by_group, in_ring} : !map -> !tile
      %v = tile.fetch %k_map(%t) {stages = 2 : i64, by_group, in_ring, order = 1 : i64, stage = 1 : i64} : !map -> !tile
      tile.step "scores" {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
      tile.step "values" stage 1 order 1 {
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @another_order_with_slots("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 2 : i64, by_group, in_ring} : !map -> !tile
      %v = tile.fetch %k_map(%t) {stages = 2 : i64, by_group, in_ring, order = 1 : i64} : !map -> !tile
      tile.step "second" {
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
      tile.step "first" order 1 {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// One slot, and two tiles of it in one step.
tile.kernel @two_at_a_time("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 1 : i64, by_group, in_ring} : !map -> !tile
      // expected-error @+1 {{finds none of its 1 slots free, and step "use" waits for it or for what comes behind it}}
      %v = tile.fetch %k_map(%t) {stages = 1 : i64, by_group, in_ring, order = 1 : i64} : !map -> !tile
      tile.step "use" {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// The first tile of the ring is used last.
tile.kernel @used_in_another_order("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %k = tile.fetch %k_map(%t) {stages = 1 : i64, by_group, in_ring} : !map -> !tile
      // expected-error @+1 {{finds none of its 1 slots free, and step "second"}}
      %v = tile.fetch %k_map(%t) {stages = 1 : i64, by_group, in_ring, order = 1 : i64} : !map -> !tile
      tile.step "second" {
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
      tile.step "first" order 1 {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// Held for a tile more, while the step before needs the next.
tile.kernel @held_for_a_stage("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{finds none of its 1 slots free, and step "now"}}
      %k = tile.fetch %k_map(%t) {stages = 1 : i64} : !map -> !tile
      tile.step "now" {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
      tile.step "late" stage 1 order 1 {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// Parts that one step wants together.
tile.kernel @parts_together("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{finds none of its 2 slots free, and step "use"}}
      %k = tile.fetch %k_map(%t, %t) {stages = 2 : i64, parts = 3 : i64} : !map -> !tile
      tile.step "use" {
        %a = tile.part %k[0] : !tile
        %b = tile.part %k[1] : !tile
        %c = tile.part %k[2] : !tile
        tile.mma_start %s, %q, %a transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.mma_start %s, %q, %b transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.mma_start %s, %q, %c transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}

// -----

!map = !tile.tensor_map<[64, 64], f16>
!tile = !tile.shared<64, 64, f16, panels 64>
// One thread copies: what it fetches before has no slot.
tile.kernel @behind_another("works" = %works: i32, "k_map" = %k_map: !map) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %s = tile.registers : !tile.fragment<16, 64>
    %q = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{finds none of its 1 slots free, and step "early"}}
      %k = tile.fetch %k_map(%t) {stages = 1 : i64} : !map -> !tile
      %v = tile.fetch %k_map(%t) {stages = 2 : i64, order = 1 : i64} : !map -> !tile
      tile.step "early" {
        tile.mma_start %s, %q, %v transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
      tile.step "late" stage 1 order 1 {
        tile.mma_start %s, %q, %k transposed : !tile.fragment<16, 64>, !tile.operand<16, 64, f16>, !tile
        tile.yield
      }
    }
  }
}
