// A kernel without roles is described by the same steps, of one tile. All threads copy, so many tiles or
// parts of a tile ahead; there is no wait, no barrier and no loop yet.
//   p = softmax(j, where(j <= i, scale * sum(d, q * k), -inf))
//   o[h,i,e] = sum(j, p * v)
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_80 override={"row_tile": 64, "stream_tile": 64, "warps": 4, "stages": 3, "depth": 0, "head_dim_tile": 0}' | FileCheck %s
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_80 override={"row_tile": 64, "stream_tile": 64, "warps": 4, "stages": 2, "depth": 16, "head_dim_tile": 32}' | FileCheck %s --check-prefix=PARTS
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --attnc-pipeline='through=lower-nests target=sm_80 override={"row_tile": 32, "stream_tile": 64, "warps": 4, "stages": 3, "depth": 32, "head_dim_tile": 32, "column_warps": 2}' | FileCheck %s --check-prefix=SHARED

// CHECK:      tile.copy %q[{{.*}} to %q_tile
// CHECK-NOT:  tile.wait
// CHECK-NOT:  tile.commit
// CHECK-NOT:  tile.barrier
// CHECK:      tile.stream_ahead %{{.*}} to %end_tile{{.*}} by 2 {
// CHECK-NEXT: ^bb0(%t: i32, %number: i32):
// CHECK:        %k_tile = tile.stage %k_ring[%number]
// CHECK-NEXT:   %v_tile = tile.stage %v_ring[%number]
// CHECK:        tile.step "scores" {
// CHECK:          tile.mma %scores, %{{.*}}, %k_tile transposed
// CHECK:        tile.step "fold" {
// CHECK:        tile.step "weights" {
// CHECK:          tile.mma %{{.*}}, %{{.*}}, %v_tile
// CHECK:      } copies {
// CHECK-NEXT: ^bb0(%t: i32, %part: i32, %number: i32):
// CHECK:        tile.copy %k[
// CHECK:        tile.copy %v[
// CHECK:      tile.barrier
// CHECK:      tile.store_fragment

// Keys come in four parts, the values with the last of them.
// PARTS:      tile.stream_ahead %{{.*}} to %end_tile{{.*}} by 1 {
// PARTS:        tile.step "scores" parts 4 {
// PARTS-NEXT:   ^bb0(%part: i32, %[[NUMBER:.*]]: i32):
// PARTS:          tile.stage %k_ring[%[[NUMBER]]]
// PARTS:        tile.step "weights" {
// PARTS:      } copies {
// PARTS:        tile.stage %k_ring[%number]
// PARTS:        %[[THREE:.*]] = arith.constant 3 : i32
// PARTS-NEXT:   %[[LAST:.*]] = arith.cmpi eq, %part, %[[THREE]]
// PARTS-NEXT:   scf.if %[[LAST]] {
// PARTS:          tile.copy %v[

// Warps hand each other their weights: two parts of keys, then two of values.
// SHARED:      tile.stream_ahead %{{.*}} to %end_tile{{.*}} by 2 {
// SHARED:        tile.step "scores" parts 2 {
// SHARED:        tile.step "weights" {
// SHARED:          tile.store_fragment
// SHARED:        tile.step "values" parts 2 {
// SHARED:          tile.mma
// SHARED:      } copies {
// SHARED:        %[[IS_KEY:.*]] = arith.cmpi slt, %part,
// SHARED-NEXT:   scf.if %[[IS_KEY]] {
// SHARED:          tile.copy %k[
// SHARED:        %[[IS_VALUE:.*]] = arith.cmpi sge, %part,
// SHARED-NEXT:   scf.if %[[IS_VALUE]] {
// SHARED:          tile.copy %v[

attn.program @causal dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %6 = arith.mulf %q_3, %k_4 : f32
    attn.yield %6 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %6 : f32
  } loc("s")
  %2 = attn.index j : <[j], i64>
  %3 = attn.index i : <[i], i64>
  %4 = attn.map (%arg0 = %2 : !attn.array<[j], i64>, %arg1 = %3 : !attn.array<[i], i64>, %s_3 = %s : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %6 = arith.cmpi sle, %arg0, %arg1 : i64
    %cst = arith.constant 0xFF800000 : f32
    %7 = arith.select %6, %s_3, %cst : f32
    attn.yield %7 : f32
  }
  %p = attn.softmax over [j] %4 : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %5 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %6 = arith.mulf %p_3, %v_4 : f32
    attn.yield %6 : f32
  }
  %o = attn.reduce add over [j] %5 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
