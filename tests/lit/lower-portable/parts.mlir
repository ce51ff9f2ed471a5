// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// Blocks share the columns of a result (columns = 32 of 64), and a score is a sum of two parts (depth = 32):
// q is a ring of parts, k arrives part after part, v with the last one into a single tile.
#s = loc("s"(fused<"s[b,h,i,j] = scale * sum(d) q[b,h,i,d] * k[b,h,j,d]">["causal.json":7:5]))
#w = loc("w"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#m = loc("m"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#z = loc("z"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#a = loc("acc"(fused<"o[b,h,i,e] = sum(j) w * v[b,h,j,e]">["causal.json":9:5]))
#o = loc("o"(fused<"o[b,h,i,e] = sum(j) w * v[b,h,j,e]">["causal.json":9:5]))
#lse = loc("lse"(fused<"lse[b,h,i] = logsumexp(j) s">["causal.json":10:5]))
attn.program @causal dims [b, h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : !attn.array<[b, h, i, d], bf16>
  %k = attn.input "k" : !attn.array<[b, h, j, d], bf16>
  %v = attn.input "v" : !attn.array<[b, h, j, e], bf16>
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> !attn.array<[], f32>
  %o, %l = red.nest grid [b, h] row [i] stream [j] inner [d, e] schedule(#tile.portable<row_tile = 128, stream_tile = 32, warps = 4, stages = 2, head_dim_tile = 32, depth = 32>) : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
    %qr = attn.read %q[b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
    %kr = attn.read %k[b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
    %vr = attn.read %v[b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
    %s0 = red.fold add over [d] (%qr, %kr) : (!attn.array<[b, h, i, d], f32>, !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, j], f32> loc(#s)
    %i = attn.index i : !attn.array<[i], i64>
    %j = attn.index j : !attn.array<[j], i64>
    %s = attn.map (%x = %s0 : !attn.array<[b, h, i, j], f32>, %c = %scale : !attn.array<[], f32>, %ii = %i : !attn.array<[i], i64>, %jj = %j : !attn.array<[j], i64>) -> !attn.array<[b, h, i, j], f32> {
      %y = arith.mulf %x, %c : f32 loc(#s)
      %ok = arith.cmpi sle, %jj, %ii : i64 loc(#w)
      %inf = arith.constant 0xFF800000 : f32
      %r = arith.select %ok, %y, %inf {red.full = true} : f32 loc(#w)
      attn.yield %r : f32
    } loc(#s)
    %m = red.fold max over [j] (%s) : (!attn.array<[b, h, i, j], f32>) -> !attn.array<[b, h, i], f32> loc(#m)
    %z = red.fold add over [j] () exp(%s - %m) : (!attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32> loc(#z)
    %acc = red.fold add over [j] (%vr) exp(%s - %m) : (!attn.array<[b, h, j, e], f32>, !attn.array<[b, h, i, j], f32>, !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i, e], f32> loc(#a)
    %of = attn.map (%zz = %z : !attn.array<[b, h, i], f32>, %aa = %acc : !attn.array<[b, h, i, e], f32>) -> !attn.array<[b, h, i, e], f32> {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %empty = arith.cmpf oeq, %zz, %zero : f32 loc(#o)
      %inv = arith.divf %one, %zz : f32 loc(#o)
      %n = arith.select %empty, %zero, %inv : f32 loc(#o)
      %r = arith.mulf %n, %aa : f32 loc(#o)
      attn.yield %r : f32
    } loc(#o)
    %lse = attn.map (%mm = %m : !attn.array<[b, h, i], f32>, %zz = %z : !attn.array<[b, h, i], f32>) -> !attn.array<[b, h, i], f32> {
      %lg = math.log %zz : f32 loc(#lse)
      %r = arith.addf %mm, %lg : f32 loc(#lse)
      attn.yield %r : f32
    } loc(#lse)
    red.yield %of, %lse : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32>
  } domain {
  ^bb0(%b: i64, %h: i64, %i0: i64, %i1: i64, %j0: i64, %j1: i64):
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %hi = arith.addi %i1, %one : i64
    %full = arith.cmpi sle, %j1, %i0 : i64
    red.bounds lo(%zero) hi(%hi) full %full
  }
  attn.output "o" [b, h, i, e] %o as bf16 : !attn.array<[b, h, i, e], f32>
  attn.output "lse" [b, h, i] %l as f32 : !attn.array<[b, h, i], f32>
}

// CHECK: tile.kernel @causal_o_lse
// CHECK-SAME: grid {{\[\[}}"mul", 2, ["mul", ["mul", ["ceildiv", ["size", "i"], 128], ["size", "b"]], ["size", "h"]]]] threads 128 smem 22528
// CHECK: %[[BLOCK:.*]] = tile.block
// CHECK: %[[CELL:.*]] = arith.divsi %[[BLOCK]]
// CHECK: arith.remsi %[[CELL]], %c2_i32
// CHECK: %[[Q:.*]] = tile.shared at 0 : !tile.ring<2, <128, 32, bf16>>
// CHECK: %[[K:.*]] = tile.shared at 16384 : !tile.ring<2, <32, 32, bf16>>
// CHECK: %[[V:.*]] = tile.shared at 20480 : !tile.ring<1, <32, 32, bf16>>
// CHECK: tile.copy {{.*}} -> <128, 32, bf16>
// CHECK: tile.copy {{.*}} -> <128, 32, bf16>
// CHECK: %[[O:.*]] = tile.registers all 0.0{{.*}} : !tile.fragment<32, 32>
// CHECK: scf.for
// CHECK: %[[S:.*]] = tile.registers all 0.0{{.*}} : !tile.fragment<32, 32>
// CHECK: scf.for %[[PART:.*]] = %c0_i32 to %c2_i32
// CHECK: tile.wait 0
// CHECK: tile.barrier
// CHECK: tile.stage %[[K]]
// CHECK: arith.cmpi eq, %{{.*}}, %c1_i32
// CHECK: tile.stage %[[V]]
// CHECK: tile.commit
// CHECK: tile.stage %[[Q]][%[[PART]]]
// CHECK: tile.mma %[[S]], {{.*}} transposed
// CHECK: tile.mma %[[O]]
// Both blocks of a row have its maximum and normaliser; the first stores what follows from them.
// CHECK: %[[PART2:.*]] = arith.remsi %{{.*}}, %c2_i32
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[PART2]], %c0_i32
// CHECK: scf.if %[[FIRST]] {
// CHECK: tile.store_rows
// CHECK: }
// CHECK: %[[BEGIN:.*]] = arith.muli %[[PART2]], %c32_i32
// CHECK: tile.store_tile {{.*}} <128, 32, bf16>
