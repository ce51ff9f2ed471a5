// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// The roles become tiles: q resident, k and v in rings of two stages, scores and sums in fragments,
// maxima and normalisers in row vectors. Copies of the next tile start before the products of this one.
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
  %o, %l = red.nest grid [b, h] row [i] stream [j] inner [d, e] schedule(#tile.portable<row_tile = 128, stream_tile = 64, warps = 4, stages = 2>) : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
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
// CHECK-SAME: grid {{\[\[}}"mul", ["mul", ["ceildiv", ["size", "i"], 128], ["size", "b"]], ["size", "h"]]] threads 128 smem 49152
// CHECK: %[[QTILE:.*]] = tile.shared at 0 : !tile.shared<128, 64, bf16>
// CHECK: %[[KRING:.*]] = tile.shared at 16384 : !tile.ring<2, <64, 64, bf16>>
// CHECK: %[[VRING:.*]] = tile.shared at 32768 : !tile.ring<2, <64, 64, bf16>>
// CHECK: tile.copy {{.*}} to %[[QTILE]] vector 16
// CHECK: scf.if
// CHECK: tile.stage %[[KRING]]
// CHECK: tile.stage %[[VRING]]
// CHECK: tile.commit
// The scale is positive: it joins the exponent and the maximum is taken of the bare products.
// CHECK: %[[PERSCORE:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: %[[M:.*]] = tile.registers all 0xFF800000 : !tile.rows<32>
// CHECK: %[[TOP:.*]] = tile.registers all 0xFF800000 : !tile.rows<32>
// CHECK: %[[ANCHOR:.*]] = tile.registers all 0.000000e+00 : !tile.rows<32>
// CHECK: %[[FOLLOWED:.*]] = tile.registers all 0xFF800000 : !tile.rows<32>
// CHECK: %[[Z:.*]] = tile.registers all 0.000000e+00 : !tile.rows<32>
// CHECK: %[[ACC:.*]] = tile.registers all 0.000000e+00 : !tile.fragment<32, 64>
// CHECK: scf.for
// CHECK-NEXT: tile.wait 0
// CHECK-NEXT: tile.barrier
// CHECK: tile.commit
// CHECK: %[[S:.*]] = tile.registers all 0.000000e+00 : !tile.fragment<32, 64>
// CHECK: %[[STRIP:.*]] = tile.strip %[[QTILE]]
// CHECK: tile.mma %[[S]], %[[STRIP]], %{{.*}} transposed
// CHECK: %[[FULL:.*]] = arith.andi
// CHECK: scf.if %[[FULL]] {
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.map rows(%{{.*}} as %[[I:.*]]) cols(%{{.*}} as %[[J:.*]]) ins(%[[X:.*]] = %[[S]] : !tile.fragment<32, 64>) outs(%[[S]] : !tile.fragment<32, 64>)
// CHECK: %[[SEEN:.*]] = arith.cmpi sle, %[[J]], %[[I]] : i32
// CHECK: %[[MASKED:.*]] = arith.select %[[SEEN]], %[[X]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[J]]
// CHECK: arith.select %[[INSIDE]], %[[MASKED]]
// CHECK: tile.reduce_rows max %[[S]] into %[[TOP]]
// CHECK: %[[MOVES:.*]] = tile.any(%[[TOP]], %[[FOLLOWED]])
// CHECK: scf.if %[[MOVES]]
// CHECK: tile.reduce_quad max %[[TOP]]
// CHECK: outs(%{{.*}} : !tile.rows<32>, %[[M]] : !tile.rows<32>)
// CHECK: outs(%[[Z]] : !tile.rows<32>)
// CHECK: tile.scale_rows %[[ACC]]
// CHECK: tile.map {{.*}} ins(%[[SCORE:.*]] = %[[S]] : !tile.fragment<32, 64>, %[[SHIFT:.*]] = %{{.*}} : !tile.rows<32>) outs(%[[S]]
// CHECK: %[[NEG:.*]] = arith.negf %[[SHIFT]]
// CHECK: %[[EXPONENT:.*]] = math.fma %[[SCORE]], %[[PERSCORE]], %[[NEG]]
// CHECK: math.exp2 %[[EXPONENT]] fastmath<afn>
// CHECK: tile.reduce_rows add %[[S]] into %[[Z]]
// CHECK: %[[P:.*]] = tile.to_operand %[[S]] : <32, 64> -> <32, 64, bf16>
// CHECK: tile.mma %[[ACC]], %[[P]], %{{[a-z0-9]+}} :
// After the stream the shares of a row are added, the maximum is made exact and gets its scale back.
// CHECK: tile.reduce_quad add %[[Z]]
// CHECK: tile.reduce_quad max %[[TOP]]
// CHECK: tile.scale_rows %[[ACC]]
// CHECK: tile.map {{.*}} outs(%[[M]] : !tile.rows<32>)
// CHECK: tile.store_rows
// CHECK: tile.store_fragment %[[ACC]]
// CHECK: tile.store_tile {{.*}} vector 16
