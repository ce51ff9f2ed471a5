// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests --emit-cuda -o /dev/null | FileCheck %s

// One line or one loop for each op on tiles; the loop over the stream reads as what it does.
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

// CHECK: // schedule #tile.portable<
// CHECK-NEXT: #include "attnc/index.cuh"
// CHECK-NEXT: #include "attnc/copy.cuh"
// CHECK-NEXT: #include "attnc/mma.cuh"
// CHECK: extern "C" __global__ void __launch_bounds__(128, 1)
// CHECK:   const i32 i0 = (i_tiles - 1 - block % i_tiles) * 128;
// CHECK:   const i32 j_hi = max<i32>(min<i32>(min<i32>(i0 + 128, i_end), i32(size_j)), 0);
// CHECK:   const i32 end_tile = (j_hi + 63) / 64;
// CHECK:   const SharedTile<bf16, 128, 64> q_tile{base};
// CHECK-NEXT:   const SharedRing<SharedTile<bf16, 64, 64>, 2> k_ring{base + 16384};
// CHECK:   copyTile<128, 16>(q_tile, q + b * q_stride0 + h * q_stride1 + i64(i0) * q_stride2, q_stride2, i_end - i0);
// CHECK:   RowVector<32> m;
// CHECK-NEXT:   fill(m, -kInfinity);
// CHECK:   // o[b,h,i,e] = sum(j) w * v[b,h,j,e]
// CHECK-NEXT:   Accumulator<32, 64> acc;
// CHECK:   for (i32 t = 0; t < end_tile; ++t) {
// CHECK-NEXT:     waitCopies<0>();
// CHECK-NEXT:     __syncthreads();
// CHECK:       copyTile<128, 16>(k_ring[next], k + k_base + i64(j_next) * k_stride2, k_stride2, j_end - j_next);
// CHECK:     commitCopies();
// CHECK-NEXT:     const i32 j0 = t * 64;
// CHECK-NEXT:     // s[b,h,i,j] = scale * sum(d) q[b,h,i,d] * k[b,h,j,d]
// CHECK-NEXT:     Accumulator<32, 64> s;
// CHECK-NEXT:     fill(s, 0.0f);
// CHECK-NEXT:     mmaABt(s, q_tile.rows<32>(warp_row), k_ring[t]);
// CHECK-NEXT:     if (!(j0 + 64 <= j_end && j0 + 63 <= i0)) {
// CHECK-NEXT:       #pragma unroll
// CHECK-NEXT:       for (int n = 0; n < s.kSize; ++n) {
// CHECK-NEXT:         const i32 i = i_begin + s.row(n);
// CHECK-NEXT:         const i32 j = j0 + s.column(n);
// CHECK-NEXT:         s[n] = j < j_end ? (j <= i ? s[n] : -kInfinity) : -kInfinity;
// CHECK:     reduceRows<Max>(m_top, s);
// CHECK:     if (anyLane(exceeds)) {
// CHECK-NEXT:       reduceQuad<Max>(m_top);
// CHECK:       scaleRows(acc, rescale);
// CHECK:       s[n] = exp2(fmaf(s[n], scale_log2, -shift[s.rowSlot(n)]));
// CHECK:     reduceRows<Add>(z, s);
// CHECK-NEXT:     // o[b,h,i,e] = sum(j) w * v[b,h,j,e]
// CHECK-NEXT:     mmaAB(acc, toOperand<bf16>(s), v_ring[t]);
// CHECK-NEXT:   }
// Where the block works is computed again: kept across the loop it would take registers.
// CHECK-NEXT:   const i32 i_end_2 = i32(size_i);
// CHECK:   lse_2[r] = m[r] + logf(z[r]);
// CHECK:   storeRows(lse + b_2 * lse_stride0 + h_2 * lse_stride1, 1, lse_2, i_begin_2, i_end_2);
// CHECK:   storeTile<128, 16>(o + b_2 * o_stride0 + h_2 * o_stride1 + i64(i0_2) * o_stride2, o_stride2, o_tile, i_end_2 - i0_2);
