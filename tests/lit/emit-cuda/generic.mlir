// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests --emit-cuda -o /dev/null | FileCheck %s

// The text is written to be read: names and statements of the spec, expressions where they are used.
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
  %o, %l = red.nest grid [b, h] row [i] stream [j] inner [d, e] : !attn.array<[b, h, i, e], f32>, !attn.array<[b, h, i], f32> {
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

// CHECK: #include "attnc/index.cuh"
// CHECK: extern "C" __global__ void __launch_bounds__(128)
// CHECK-NEXT: causal_o_lse(const bf16 *__restrict__ q, i64 q_stride0
// CHECK: bf16 *__restrict__ o,
// CHECK:   const i64 point = launchPoint();
// CHECK-NEXT:   if (point < size_b * size_h * size_i * 64) {
// CHECK-NEXT:     const i64 e = point % 64;
// CHECK-NEXT:     const i64 rest = point / 64;
// CHECK-NEXT:     const i64 i = rest % size_i;
// CHECK:     const i64 b = rest_2 / size_h;
// CHECK-NEXT:     const i64 [[Q:.*]] = b * q_stride0 + h * q_stride1 + i * q_stride2;
// CHECK-NEXT:     const i64 [[K:.*]] = b * k_stride0 + h * k_stride1;
// CHECK-NEXT:     const i64 [[V:.*]] = b * v_stride0 + h * v_stride1;
// CHECK-NEXT:     // w = softmax(j) where(j <= i, s, -inf)
// CHECK-NEXT:     f32 m = -kInfinity;
// CHECK-NEXT:     f32 z = 0.0f;
// CHECK-NEXT:     f32 acc = 0.0f;
// CHECK-NEXT:     for (i64 j = 0; j < min<i64>(i + 1, size_j); ++j) {
// CHECK-NEXT:       const i64 [[KJ:.*]] = [[K]] + j * k_stride2;
// CHECK-NEXT:       // s[b,h,i,j] = scale * sum(d) q[b,h,i,d] * k[b,h,j,d]
// CHECK-NEXT:       f32 s = 0.0f;
// CHECK-NEXT:       for (i64 d = 0; d < 64; ++d) {
// CHECK-NEXT:         s = fmaf(toF32(q[[[Q]] + d]), toF32(k[[[KJ]] + d]), s);
// CHECK-NEXT:       }
// CHECK-NEXT:       const f32 s_2 = j <= i ? s * scale : -kInfinity;
// CHECK-NEXT:       // w = softmax(j) where(j <= i, s, -inf)
// CHECK-NEXT:       const f32 m_next = max(m, s_2);
// CHECK-NEXT:       const f32 weight = expf(minus(s_2, m_next));
// CHECK-NEXT:       const f32 rescale = expf(minus(m, m_next));
// CHECK-NEXT:       m = m_next;
// CHECK-NEXT:       z = z * rescale + weight;
// CHECK-NEXT:       // o[b,h,i,e] = sum(j) w * v[b,h,j,e]
// CHECK-NEXT:       acc = fmaf(weight, toF32(v[[[V]] + j * v_stride2 + e]), acc * rescale);
// CHECK-NEXT:     }
// CHECK-NEXT:     o[b * o_stride0 + h * o_stride1 + i * o_stride2 + e] = fromF32<bf16>((z == 0.0f ? 0.0f : 1.0f / z) * acc);
// CHECK:     if (e == 0) {
