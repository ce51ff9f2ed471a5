// What is asked of the rows alone is asked once for all tiles, also of row tiles that are drawn.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=assign-roles through=expand-pipeline' %s | FileCheck %s

// CHECK:      tile.role "load"
// CHECK:        scf.while
// CHECK:          %[[ROW:.*]] = arith.muli %work,
// CHECK:          scf.for %chunk =
// CHECK-NOT:        arith.muli %work,
// CHECK:            tile.ballot
// CHECK-NEXT:       ^bb0(%lane: i32):
// CHECK-NEXT:         arith.addi %{{.*}}, %lane
// CHECK-NEXT:         arith.cmpi sle, %{{.*}}, %[[ROW]]
// CHECK:      tile.role "compute"

tile.kernel @drawn("tiles" = %tiles: i32, "works" = %works: i32, "counter" = %counter: !tile.ptr<i32>) grid [1] threads 256 smem 0 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  tile.row_tiles %works drawn from %counter : !tile.ptr<i32> attributes {persistent, groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %c0 to %tiles entry_bits 1 from_end {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1, %is_full: i1):
      tile.step "fold" {
        tile.reduce_quad max %m : !tile.rows<16>
        tile.yield
      }
    } ask {
    ^bb0(%chunk: i32):
      %live, %full = tile.ballot : i32, i32 {
      ^bb0(%lane: i32 loc("lane")):
        %row = arith.muli %work, %c64 : i32
        %tile = arith.addi %chunk, %lane : i32
        %is = arith.cmpi sle, %tile, %row : i32
        tile.yield %is, %is : i1, i1
      }
      tile.yield %live, %full : i32, i32
    }
  }
}
