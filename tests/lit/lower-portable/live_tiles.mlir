// A mask with holes, a window beside the first keys: the lanes of a warp ask of 32 tiles at once which
// ones matter and which are full. What is known of the tiles on their way goes along with them, and no
// tile asks again whether it is full.
//   p = softmax(j, where(abs(i - j) <= 100 or j < 64, sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --pass-pipeline='builtin.module(attnc-pipeline{target=sm_80 override={"row_tile": 64, "stream_tile": 64, "warps": 4, "stages": 3}})' %s | FileCheck %s

// CHECK:       scf.while (%t = %end_tile, %{{.*}} = %end_tile, %full = %false, %{{.*}} = %false, %asked = %first_tile, %live = %c0_i32, %{{.*}} = %c0_i32, %slot = %{{.*}})
// CHECK:         tile.wait 1
// CHECK-NEXT:    tile.barrier
// CHECK-NEXT:    %[[REST:.*]] = tile.without_first_bit
// CHECK:         scf.while
// CHECK:           tile.ballot : i32, i32 {
// CHECK:             tile.yield {{.*}} : i1, i1
// CHECK:         tile.first_bit
// CHECK:         tile.has_bit
// CHECK:         tile.copy
// CHECK:         tile.commit
// CHECK:         %[[THERE:.*]] = arith.cmpi sge, %slot, %c0_i32
// CHECK:         scf.if %[[THERE]] {
// CHECK:           tile.mma
// CHECK:           scf.if %full {
// CHECK-NOT:     tile.ballot

attn.program @apart dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %0 = attn.index i : <[i], i64>
  %1 = attn.index j : <[j], i64>
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32>
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %3 = attn.reduce add over [d] %2 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %4 = attn.map (%arg0 = %0 : !attn.array<[i], i64>, %arg1 = %1 : !attn.array<[j], i64>, %arg2 = %3 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.subi %arg0, %arg1 : i64
    %7 = math.absi %6 : i64
    %c100_i64 = arith.constant 100 : i64
    %8 = arith.cmpi sle, %7, %c100_i64 : i64
    %c64_i64 = arith.constant 64 : i64
    %9 = arith.cmpi slt, %arg1, %c64_i64 : i64
    %10 = arith.ori %8, %9 : i1
    %cst = arith.constant 0xFF800000 : f32
    %11 = arith.select %10, %arg2, %cst : f32
    attn.yield %11 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32>
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
