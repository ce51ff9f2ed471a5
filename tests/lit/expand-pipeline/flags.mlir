// A step that only hands on a scalar of its tile stays, for the steps that use it.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --attnc-pipeline='from=assign-roles through=synchronise' %s | FileCheck %s

// A kernel whose roles are not assigned is left as it is.
// RUN: attnc-opt --attnc-pipeline='from=expand-pipeline through=expand-pipeline' %s | FileCheck %s --check-prefix=WHOLE
// WHOLE: tile.stream

// CHECK:      tile.role "compute"
// CHECK:        %true = arith.constant true
// CHECK:        scf.for %t = {{.*}} iter_args(%moved = %true)
// CHECK:          %[[NOW:.*]] = arith.constant false
// CHECK:          scf.if %moved
// CHECK:          scf.yield %[[NOW]]

tile.kernel @flags("tiles" = %tiles: i32, "works" = %works: i32) grid [1] threads 256 smem 0 {
  %c0 = arith.constant 0 : i32
  tile.row_tiles %works attributes {groups = 1 : i64, producer_registers = 24 : i64, consumer_registers = 240 : i64} {
  ^bb0(%work: i32, %turn: i32):
    %m = tile.registers all 0.0 : !tile.rows<16>
    tile.stream %c0 to %tiles {
    ^bb0(%t: i32, %n: i32, %is_first: i1, %is_last: i1):
      %flag = tile.step "flag" -> i1 {
        tile.yield %is_first : i1
      }
      tile.step "late" stage 1 order 1 {
        scf.if %flag {
          tile.reduce_quad max %m : !tile.rows<16>
        }
        tile.yield
      }
    }
  }
}
