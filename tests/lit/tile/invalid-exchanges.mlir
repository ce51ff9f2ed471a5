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

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @never_read("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{hands over a tile that no step reads}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @read_before("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is read by step "read", which does not run after the one that writes, "write"}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "read" {
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "write" order 1 {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @read_with_writes("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is read by step "write", which does not run after}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @read_a_stage_before("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is read by step "read", which does not run after}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "read" {
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "write" stage 1 {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @read_behind_the_next_write("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is read by step "read" of the tile before when "write" has to write the next one; order it before}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "read" stage 1 order 1 {
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @read_of_own("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has tiles of the group's own that tile.read_vector uses}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "read" order 1 {
        tile.read_vector %m from %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @written_to_theirs("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has tiles of the other group that tile.write_vector uses; they are read, or scaled in place}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "read" order 1 {
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.write_vector %m to %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!tile = !tile.shared<64, 64, f16, panels 64>
!strip = !tile.shared<16, 64, f16, panels 64>
tile.kernel @operand_to_theirs("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %w = tile.registers : !tile.operand<16, 64, f16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{has tiles of the other group that tile.store_operand uses}}
      %mine, %theirs = tile.exchange : !tile theirs !tile
      tile.step "write" {
        %rows = tile.strip %mine[%n] : !tile -> !strip
        tile.store_operand %w to %rows : !tile.operand<16, 64, f16>, !strip
        tile.yield
      }
      tile.step "read" order 1 {
        %rows = tile.strip %theirs[%n] : !tile -> !strip
        tile.store_operand %w to %rows : !tile.operand<16, 64, f16>, !strip
        tile.yield
      }
    }
  }
}

// -----

!tile = !tile.shared<64, 64, f16, panels 64>
!strip = !tile.shared<16, 64, f16, panels 64>
tile.kernel @only_scaled("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %w = tile.registers : !tile.operand<16, 64, f16>
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{hands over a tile that no step reads}}
      %mine, %theirs = tile.exchange : !tile theirs !tile
      tile.step "write" {
        %rows = tile.strip %mine[%n] : !tile -> !strip
        tile.store_operand %w to %rows : !tile.operand<16, 64, f16>, !strip
        tile.yield
      }
      tile.step "scale" order 1 {
        %rows = tile.strip %theirs[%n] : !tile -> !strip
        tile.scale_packed %rows by %m : !strip, !tile.rows<16>
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @one_of_two_is_written("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is written by one tile.step, which writes each tile}}
      %mine:2, %theirs:2 = tile.exchange : !vector, !vector theirs !vector, !vector
      tile.step "write" {
        tile.write_vector %m to %mine#0[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "read" order 1 {
        tile.read_vector %m from %theirs#0[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @two_writers("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is written by one tile.step, which writes each tile}}
      %mine, %theirs = tile.exchange : !vector theirs !vector
      tile.step "write" {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "again" order 1 {
        tile.write_vector %m to %mine[%n] : !tile.rows<16>, !vector
        tile.yield
      }
      tile.step "read" order 2 {
        tile.read_vector %m from %theirs[%n] : !tile.rows<16>, !vector
        tile.yield
      }
    }
  }
}

// -----

!strip = !tile.shared<16, 64, f16, panels 64>
tile.kernel @strips("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{neither a whole tile with panels nor a vector}}
      %mine, %theirs = tile.exchange : !strip theirs !strip
    }
  }
}

// -----

!tile = !tile.shared<64, 64, f16, panels 64>
tile.kernel @nobody_takes_what_is_handed_over("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, adder_registers = 72 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{is written by one step of the groups, and read by those that add}}
      %handed = tile.hand_over 2 stages : !tile
    }
  }
}

// -----

!vector = !tile.shared<1, 64, f32>
tile.kernel @a_vector_is_handed_over("works" = %works: i32) grid [1] threads 384 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64, adder_registers = 72 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{no tiles with panels that fit in a block}}
      %handed = tile.hand_over 2 stages : !vector
    }
  }
}

// -----

tile.kernel @nobody_adds("works" = %works: i32) grid [1] threads 256 smem 0 {
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      // expected-error @+1 {{adds, and is of stage 1, or there are no adder_registers}}
      tile.step "add" adds {
        tile.yield
      }
    }
  }
}
