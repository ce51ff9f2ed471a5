// What the lanes of a warp answer, and the bits of the words.
// RUN: attnc-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK:      %[[WORDS:.*]]:2 = tile.ballot : i32, i32 {
// CHECK-NEXT: ^bb0(%[[LANE:.*]]: i32):
// CHECK:        tile.yield %{{.*}}, %{{.*}} : i1, i1
// CHECK:      %[[BIT:.*]] = tile.first_bit %[[WORDS]]#0
// CHECK-NEXT: tile.has_bit %[[WORDS]]#1[%[[BIT]]]
// CHECK-NEXT: tile.without_first_bit %[[WORDS]]#0
tile.kernel @vote("n" = %n: i32) grid [1] threads 32 smem 0 {
  %live, %full = tile.ballot : i32, i32 {
  ^bb0(%lane: i32):
    %below = arith.cmpi slt, %lane, %n : i32
    %equal = arith.cmpi eq, %lane, %n : i32
    tile.yield %below, %equal : i1, i1
  }
  %bit = tile.first_bit %live
  %has = tile.has_bit %full[%bit]
  %rest = tile.without_first_bit %live
}

// -----

tile.kernel @single("n" = %n: i32) grid [1] threads 32 smem 0 {
  tile.single {
    // expected-error @+1 {{is for whole warps and stands in a tile.single}}
    %live = tile.ballot : i32 {
    ^bb0(%lane: i32):
      %below = arith.cmpi slt, %lane, %n : i32
      tile.yield %below : i1
    }
  }
}

// -----

tile.kernel @answers("n" = %n: i32) grid [1] threads 32 smem 0 {
  // expected-error @+1 {{yields one i1 for each of its words}}
  %live = tile.ballot : i32 {
  ^bb0(%lane: i32):
    tile.yield %lane : i32
  }
}
