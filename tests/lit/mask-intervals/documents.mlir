// Ids that have to be equal. Two nests find the extremes of the ids over parts of i and of j; a tile is
// live if the ranges of its ids meet, and full if they are one id.
//   s = sum(d, q * k)
//   lse = logsumexp(j, where(di[i] == dj[j], s, -inf))
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     attn.program @documents dims [j_tile, i_tile, i, d = 16, j]
// CHECK:     arith.floordivsi
// CHECK:     attn.extent i_tile
// CHECK:     attn.extent j_tile
// CHECK:     %[[DI:.*]]:2 = red.nest grid [i_tile] row [] stream [i] inner []
// CHECK:       red.fold max over [i]
// CHECK:       red.fold min over [i]
// CHECK:       red.bounds
// CHECK:     %[[DJ:.*]]:2 = red.nest grid [j_tile] row [] stream [j] inner []
// CHECK:     red.nest grid [] row [i] stream [j] inner [d]
// CHECK:       %[[IMIN:.*]] = red.extreme min of parts %[[DI]]#1 from[{{.*}}] to[{{.*}}] : <[i_tile], i64>
// CHECK:       %[[IMAX:.*]] = red.extreme max of parts %[[DI]]#0
// CHECK:       %[[JMIN:.*]] = red.extreme min of parts %[[DJ]]#1
// CHECK:       %[[JMAX:.*]] = red.extreme max of parts %[[DJ]]#0
// CHECK:       %[[A:.*]] = arith.subi %[[IMIN]], %[[JMAX]]
// CHECK:       %[[B:.*]] = arith.subi %[[IMAX]], %[[JMIN]]
// CHECK:       %[[C:.*]] = arith.subi %[[JMIN]], %[[IMAX]]
// CHECK:       %[[D:.*]] = arith.subi %[[JMAX]], %[[IMIN]]
// CHECK:       %[[CS:.*]] = arith.cmpi sge, %[[C]]
// CHECK:       %[[AS:.*]] = arith.cmpi sge, %[[A]]
// CHECK:       %[[FULL:.*]] = arith.andi %[[CS]], %[[AS]]
// CHECK:       %[[DS:.*]] = arith.cmpi sge, %[[D]]
// CHECK:       %[[BS:.*]] = arith.cmpi sge, %[[B]]
// CHECK:       %[[LIVE:.*]] = arith.andi %[[DS]], %[[BS]]
// CHECK:       red.bounds lo({{.*}}) hi({{.*}}) full %[[FULL]] live %[[LIVE]]

attn.program @documents dims [i, d = 16, j] {
  %q = attn.input "q" : <[i, d], f32> loc("q")
  %k = attn.input "k" : <[j, d], f32> loc("k")
  %di = attn.input "di" : <[i], i32> loc("di")
  %dj = attn.input "dj" : <[j], i32> loc("dj")
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %k_1 = attn.read %k [j, d] : (!attn.array<[j, d], f32>) -> !attn.array<[d, j], f32>
  %0 = attn.map (%q_4 = %q_0 : !attn.array<[i, d], f32>, %k_5 = %k_1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %2 = arith.mulf %q_4, %k_5 : f32
    attn.yield %2 : f32
  }
  %s = attn.reduce add over [d] %0 : <[i, d, j], f32> -> <[i, j], f32> loc("s")
  %di_2 = attn.read %di [i] : (!attn.array<[i], i32>) -> !attn.array<[i], i64>
  %dj_3 = attn.read %dj [j] : (!attn.array<[j], i32>) -> !attn.array<[j], i64>
  %1 = attn.map (%di_4 = %di_2 : !attn.array<[i], i64>, %dj_5 = %dj_3 : !attn.array<[j], i64>, %s_6 = %s : !attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> {
    %2 = arith.cmpi eq, %di_4, %dj_5 : i64
    %cst = arith.constant 0xFF800000 : f32
    %3 = arith.select %2, %s_6, %cst : f32
    attn.yield %3 : f32
  }
  %lse = attn.reduce logsumexp over [j] %1 : <[i, j], f32> -> <[i], f32> loc("lse")
  attn.output "lse" [i] %lse as f32 : <[i], f32>
}
