// RUN: attnc-opt %s --choose-schedules=target=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: attnc-opt %s --choose-schedules=target=sm_89 | FileCheck %s --check-prefix=SM89
// RUN: not attnc-opt %s '--choose-schedules=target=sm_80 override={{"row_tile":64,"stream_tile":128}}' 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not attnc-opt %s '--choose-schedules=target=sm_80 override={{"row_tile":96}}' 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not attnc-opt %s '--choose-schedules=target=sm_80 override={{"row_tiles":64}}' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not attnc-opt %s --choose-schedules=target=sm_10 2>&1 | FileCheck %s --check-prefix=TARGET

// The choice is the first of the table that fits shared memory and registers; what does not fit is
// refused with the numbers and with what would.
// SM80: schedule(#tile.portable<row_tile = 64, stream_tile = 32, {{.*}}min_blocks = 1
// SM89: schedule(#tile.portable<row_tile = 64, stream_tile = 16, {{.*}}min_blocks = 1
// LARGE: schedule: f32 operands of width 192 with row_tile 64, stream_tile 128, 2 stages needs 432 KB of shared memory, sm_80 has 163: stream_tile 32 fits
// SHAPE: schedule: row_tile is 96; with 4 warps it is a multiple of 64
// KEY: schedule: unknown key 'row_tiles'; the portable form has row_tile, stream_tile, warps, stages, rescale_threshold, min_blocks
// TARGET: unknown target 'sm_10'
#s = loc("s"(fused<"s[b,h,i,j] = scale * sum(d) q[b,h,i,d] * k[b,h,j,d]">["causal.json":7:5]))
#w = loc("w"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#m = loc("m"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#z = loc("z"(fused<"w = softmax(j) where(j <= i, s, -inf)">["causal.json":8:5]))
#a = loc("acc"(fused<"o[b,h,i,e] = sum(j) w * v[b,h,j,e]">["causal.json":9:5]))
#o = loc("o"(fused<"o[b,h,i,e] = sum(j) w * v[b,h,j,e]">["causal.json":9:5]))
#lse = loc("lse"(fused<"lse[b,h,i] = logsumexp(j) s">["causal.json":10:5]))
attn.program @causal dims [b, h, i, d = 192, j, e = 192] {
  %q = attn.input "q" : !attn.array<[b, h, i, d], f32>
  %k = attn.input "k" : !attn.array<[b, h, j, d], f32>
  %v = attn.input "v" : !attn.array<[b, h, j, e], f32>
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> !attn.array<[], f32>
  %o, %l = red.nest grid [b, h] row [i] stream [j] inner [d, e] : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
    %qr = attn.read %q[b, h, i, d] : (!attn.array<[b, h, i, d], f32>) -> !attn.array<[b, h, i, d], f32>
    %kr = attn.read %k[b, h, j, d] : (!attn.array<[b, h, j, d], f32>) -> !attn.array<[b, h, d, j], f32>
    %vr = attn.read %v[b, h, j, e] : (!attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, j, e], f32>
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
  attn.output "o" [b, h, i, e] %o as f32 : !attn.array<[b, h, i, e], f32>
  attn.output "lse" [b, h, i] %l as f32 : !attn.array<[b, h, i], f32>
}
