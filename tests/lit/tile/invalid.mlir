// RUN: attnc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{names 0 of its 1 arguments}}
"tile.kernel"() <{sym_name = "unnamed", arg_names = [], grid = [1], threads = 32 : i64, smem = 0 : i64}> ({
^bb0(%a: i64):
}) : () -> ()

// -----

// expected-error @+1 {{has a grid that is not one to three extents}}
tile.kernel @grid() grid [["minus", 1, 2]] threads 32 smem 0 {
}

// -----

// expected-error @+1 {{has 2048 threads in a block; there are 1 to 1024}}
tile.kernel @threads() grid [1] threads 2048 smem 0 {
}

// -----

tile.kernel @storage("x" = %x: !tile.ptr<bf16>) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i64
  // expected-error @+1 {{moves 'bf16' where the compute type of 'bf16' is 'f32'}}
  %y = tile.load %x[%zero] : !tile.ptr<bf16> -> bf16
}

// -----

tile.kernel @depth() grid [1] threads 32 smem 0 {
  %a = tile.shared at 0 : !tile.shared<16, 64, f16>
  %b = tile.shared at 2048 : !tile.shared<32, 48, f16>
  %c = tile.registers all 0.0 : !tile.fragment<16, 32>
  // expected-error @+1 {{multiplies 16x64 by 48x32 into 16x32}}
  tile.mma %c, %a, %b transposed : !tile.fragment<16, 32>, !tile.shared<16, 64, f16>, !tile.shared<32, 48, f16>
}

// -----

tile.kernel @halves() grid [1] threads 32 smem 0 {
  %a = tile.shared at 0 : !tile.shared<16, 16, f32>
  %b = tile.shared at 2048 : !tile.shared<16, 16, f32>
  %c = tile.registers all 0.0 : !tile.fragment<16, 16>
  // expected-error @+1 {{has halves of f32 only, a in registers and b not transposed}}
  tile.mma %c, %a, %b halves : !tile.fragment<16, 16>, !tile.shared<16, 16, f32>, !tile.shared<16, 16, f32>
}

// -----

tile.kernel @peek() grid [1] threads 32 smem 0 {
  %a = tile.shared at 0 : !tile.shared<16, 16, f32>
  %row = tile.warp
  // expected-error @+1 {{is scalar code of a map}}
  %x = tile.peek %a[%row, %row] : !tile.shared<16, 16, f32> -> f32
}

// -----

tile.kernel @peek_of_integers() grid [1] threads 32 smem 0 {
  %a = tile.shared at 0 : !tile.shared<1, 32, i32>
  %row = tile.warp
  %s = tile.registers : !tile.fragment<16, 32>
  tile.map rows(%row as %i) cols(%row as %j) ins(%y = %s : !tile.fragment<16, 32>) outs(%s : !tile.fragment<16, 32>) {
    // expected-error @+1 {{reads 'f32' from elements 'i32'}}
    %x = tile.peek %a[%row, %row] : !tile.shared<1, 32, i32> -> f32
    tile.yield %x : f32
  }
}

// -----

tile.kernel @outs() grid [1] threads 32 smem 0 {
  %row = tile.warp
  %m = tile.registers : !tile.rows<16>
  %s = tile.registers : !tile.fragment<16, 32>
  // expected-error @+1 {{reads a fragment where it writes row vectors}}
  tile.map rows(%row as %i) ins(%x = %s : !tile.fragment<16, 32>) outs(%m : !tile.rows<16>) {
    tile.yield %x : f32
  }
}

// -----

tile.kernel @stored_rows() grid [1] threads 32 smem 4096 {
  %x = tile.registers all 0.0 : !tile.fragment<32, 32>
  %t = tile.shared at 0 : !tile.shared<16, 32, f16>
  // expected-error @+1 {{not its rows and columns}}
  tile.store_fragment %x to %t : !tile.fragment<32, 32>, !tile.shared<16, 32, f16>
}

// -----

// The tile's padding makes no difference: 20 columns are written from 24 to 32.
tile.kernel @stored_columns() grid [1] threads 32 smem 4096 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 16>
  %y = tile.registers all 0.0 : !tile.fragment<16, 24>
  %z = tile.registers all 0.0 : !tile.fragment<16, 32>
  %t = tile.shared at 0 : !tile.shared<16, 20, f16>
  tile.store_fragment %y to %t : !tile.fragment<16, 24>, !tile.shared<16, 20, f16>
  tile.store_fragment %z to %t : !tile.fragment<16, 32>, !tile.shared<16, 20, f16>
  // expected-error @+1 {{not its rows and columns}}
  tile.store_fragment %x to %t : !tile.fragment<16, 16>, !tile.shared<16, 20, f16>
}

// -----

tile.kernel @stored_beyond() grid [1] threads 32 smem 4096 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 48>
  %t = tile.shared at 0 : !tile.shared<16, 32, f16>
  // expected-error @+1 {{not its rows and columns}}
  tile.store_fragment %x to %t : !tile.fragment<16, 48>, !tile.shared<16, 32, f16>
}

// -----

tile.kernel @stored_panels() grid [1] threads 32 smem 4096 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 64>
  %t = tile.shared at 0 : !tile.shared<16, 56, f16, panels 16>
  // expected-error @+1 {{not its rows and columns}}
  tile.store_fragment %x to %t : !tile.fragment<16, 64>, !tile.shared<16, 56, f16, panels 16>
}

// -----

tile.kernel @stored_type() grid [1] threads 32 smem 4096 {
  %x = tile.registers all 0.0 : !tile.fragment<16, 32>
  %t = tile.shared at 0 : !tile.shared<16, 32, i32>
  // expected-error @+1 {{rounds f32 to 'i32'}}
  tile.store_fragment %x to %t : !tile.fragment<16, 32>, !tile.shared<16, 32, i32>
}

// -----

tile.kernel @elements() grid [1] threads 32 smem 0 {
  %thread = tile.thread
  %all = tile.array shared : <[4, 8], f32>
  // expected-error @+1 {{has 1 indices for '!tile.array<[4, 8], f32>'}}
  %x = tile.get %all[%thread] : <[4, 8], f32> -> f32
}

// -----

tile.kernel @element_type() grid [1] threads 32 smem 0 {
  %thread = tile.thread
  %all = tile.array shared : <[32], f32>
  // expected-error @+1 {{is of an element of type 'i32' in '!tile.array<[32], f32>'}}
  tile.set %thread, %all[%thread] : i32 -> <[32], f32>
}

// -----

tile.kernel @vectors("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %zero = arith.constant 0 : i64
  %rows = arith.constant 16 : i32
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{moves 3 bytes at a time; it can be a power of 2 from 2 to 16}}
  tile.copy %x[%zero] stride %zero rows %rows to %tile vector 3 : !tile.ptr<f16> -> !tile.shared<16, 16, f16>
}

// -----

tile.kernel @rows_without_presence("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %first = arith.constant 0 : i32
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{yields an offset and whether there is such a row}}
  tile.copy_rows %x rows %first to %tile vector 2 : <f16> -> <16, 16, f16> {
  ^bb0(%row: i32):
    %offset = arith.extsi %row : i32 to i64
    tile.yield %offset : i64
  }
}

// -----

tile.kernel @rows_without_a_run("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %first = arith.constant 0 : i32
  %offset = arith.constant 0 : i64
  %there = arith.constant true
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{yields a place in a map, and has no run}}
  tile.copy_rows %x rows %first to %tile vector 2 : <f16> -> <16, 16, f16> {
  ^bb0(%row: i32):
    tile.yield %offset, %there, %row : i64, i1, i32
  }
}

// -----

tile.kernel @run_of_a_plain_tile("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %first = arith.constant 0 : i32
  %offset = arith.constant 0 : i64
  %there = arith.constant true
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{has a run of 16 rows; it divides a tile with panels of 16, into 32 parts at most, and is a multiple of 8}}
  tile.copy_rows %x rows %first to %tile vector 16 {run = 16 : i64} : <f16> -> <16, 16, f16> {
  ^bb0(%row: i32):
    tile.yield %offset, %there, %row : i64, i1, i32
  }
}

// -----

tile.kernel @rows_of_columns("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %first = arith.constant 0 : i32
  %offset = arith.constant 0 : i64
  %there = arith.constant true
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{has a block with a row}}
  tile.copy_rows %x rows %first to %tile vector 2 : <f16> -> <16, 16, f16> {
  ^bb0(%row: i32, %column: i32):
    tile.yield %offset, %there : i64, i1
  }
}

// -----

tile.kernel @row_vectors("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %first = arith.constant 0 : i32
  %offset = arith.constant 0 : i64
  %there = arith.constant true
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{moves 32 bytes at a time; it can be a power of 2 from 2 to 16}}
  tile.copy_rows %x rows %first to %tile vector 32 : <f16> -> <16, 16, f16> {
  ^bb0(%row: i32):
    tile.yield %offset, %there : i64, i1
  }
}

// -----

tile.kernel @store_vectors("x" = %x: !tile.ptr<f16>) grid [1] threads 32 smem 1024 {
  %zero = arith.constant 0 : i64
  %rows = arith.constant 16 : i32
  %tile = tile.shared at 0 : !tile.shared<16, 16, f16>
  // expected-error @+1 {{moves 64 bytes at a time; it can be a power of 2 from 2 to 16}}
  tile.store_tile %tile to %x[%zero] stride %zero rows %rows vector 64 : !tile.shared<16, 16, f16> -> !tile.ptr<f16>
}

// -----

tile.kernel @mixed_product() grid [1] threads 32 smem 2048 {
  %a = tile.shared at 0 : !tile.shared<16, 16, f16>
  %b = tile.shared at 1024 : !tile.shared<16, 16, bf16>
  %c = tile.registers all 0.0 : !tile.fragment<16, 16>
  // expected-error @+1 {{multiplies 'f16' by 'bf16'}}
  tile.mma %c, %a, %b : <16, 16>, !tile.shared<16, 16, f16>, <16, 16, bf16>
}

// -----

tile.kernel @empty_array() grid [1] threads 32 smem 0 {
  // expected-error @+1 {{has an extent that is not positive}}
  %all = tile.array shared : <[0], f32>
}

// -----

tile.kernel @folded() grid [1] threads 32 smem 0 {
  %thread = tile.thread
  // expected-error @+1 {{has a result of another type}}
  %x = tile.fold_lanes max %thread : i32 -> f32
}

// -----

// expected-error @+1 {{'i16' is no type of elements in memory}}
tile.kernel @stored("a" = %a: !tile.ptr<i16>) grid [1] threads 32 smem 0 {
}

// -----

tile.kernel @shared() grid [1] threads 32 smem 1024 {
  // expected-error @+1 {{'f8E4M3FN' is no type of elements in memory}}
  %tile = tile.shared at 0 : !tile.shared<8, 32, f8E4M3FN>
}
