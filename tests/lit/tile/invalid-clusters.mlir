// RUN: attnc-opt %s --split-input-file --verify-diagnostics

!scores = !tile.fragment<16, 64>
tile.kernel @no_cluster("works" = %works: i32) grid [2] threads 384 smem 0 {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{needs a cluster of two blocks}}
        tile.send_partial %s : !scores
        tile.yield
      }
      tile.step "x" {
        tile.add_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @no_group("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{needs a tile.group, whose barriers it takes}}
        tile.send_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @never_added("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{needs one tile.add_partial of the fragment, in a later step of its stage}}
        tile.send_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @added_before("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        tile.add_partial %s : !scores
        tile.yield
      }
      tile.step "x" {
        // expected-error @+1 {{needs one tile.add_partial of the fragment, in a later step of its stage}}
        tile.send_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @added_in_another_stage("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{needs one tile.add_partial of the fragment, in a later step of its stage}}
        tile.send_partial %s : !scores
        tile.yield
      }
      tile.step "x" stage 1 {
        tile.add_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @added_twice("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{needs one tile.add_partial of the fragment, in a later step of its stage}}
        tile.send_partial %s : !scores
        tile.yield
      }
      tile.step "x" {
        tile.add_partial %s : !scores
        tile.yield
      }
      tile.step "x" {
        tile.add_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @never_sent("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  tile.row_tiles %works attributes {groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      tile.step "x" {
        // expected-error @+1 {{adds what no tile.send_partial has sent}}
        tile.add_partial %s : !scores
        tile.yield
      }
    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
tile.kernel @persistent("works" = %works: i32) grid [2] threads 384 smem 0 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  // expected-error @+1 {{is of a cluster, whose blocks take one row tile}}
  tile.row_tiles %works attributes {persistent, groups = 2 : i64, producer_registers = 40 : i64, consumer_registers = 232 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %group = tile.group
    tile.stream %turn to %works {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):

    }
  }
}

// -----

!scores = !tile.fragment<16, 64>
!small = !tile.shared<32, 64, f32>
tile.kernel @too_small("peer" = %peer: i32) grid [2] threads 128 smem 8208 attributes {cluster = 2 : i64} {
  %s = tile.registers : !scores
  %into = tile.shared at 0 : !small
  %arrived = tile.shared at 8192 : !tile.mbarriers<1>
  // expected-error @+1 {{needs f32 without panels, 16 x 64 for each of 4 warps}}
  tile.send_fragment %s to %into at %peer, %arrived[%peer] : !scores -> !small, !tile.mbarriers<1>
}
