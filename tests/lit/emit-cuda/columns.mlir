// RUN: attnc-opt %s --emit-cuda -o /dev/null | FileCheck %s

// The first column of a thread is that of its element 0, counted from the map's first column; the
// distance to it is known when the loop over elements is unrolled.
tile.kernel @columns("o" = %o: !tile.ptr<f32>, "j0" = %j0: i32, "slope" = %slope: f32, "o_stride" = %stride: i64, "size_i" = %rows: i32) grid [1] threads 32 smem 0 {
  %zero = arith.constant 0 : i32
  %base = arith.constant 0 : i64
  %s = tile.registers all 0.0 : !tile.fragment<16, 32> loc("s")
  // CHECK:      #pragma unroll
  // CHECK-NEXT: for (int [[E:[a-z0-9_]+]] = 0; [[E]] < s.kSize; ++[[E]]) {
  // CHECK-NEXT:   const i32 row = s.row([[E]]);
  // CHECK-NEXT:   s[[[E]]] = slope * (f32(j0 + s.column(0) - row) + f32(s.columnDistance([[E]])));
  // CHECK-NEXT: }
  tile.map rows(%zero as %i) cols(%j0 as %j) ins(%x = %s : !tile.fragment<16, 32>) outs(%s : !tile.fragment<16, 32>) {
    %first = tile.first_column
    %difference = arith.subi %first, %i : i32
    %start = arith.sitofp %difference : i32 to f32
    %distance = tile.column_distance
    %up = arith.addf %start, %distance : f32
    %bias = arith.mulf %slope, %up : f32
    tile.yield %bias : f32
  }
  // Nothing is added where the map's columns begin at 0.
  // CHECK:      s[[[D:[a-z0-9_]+]]] += f32(s.column(0)) - f32(s.columnDistance([[D]]));
  tile.map rows(%zero as %i) cols(%zero as %j) ins(%x = %s : !tile.fragment<16, 32>) outs(%s : !tile.fragment<16, 32>) {
    %first = tile.first_column
    %start = arith.sitofp %first : i32 to f32
    %distance = tile.column_distance
    %down = arith.subf %start, %distance : f32
    %sum = arith.addf %x, %down : f32
    tile.yield %sum : f32
  }
  tile.store_fragment_rows %s from %zero to %rows, %o[%base] stride %stride : <16, 32> -> <f32>
}
