// Every op of the dialect, printed and parsed again.
// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// CHECK: attn.program @ops dims [b, i, d = 16, j] attributes {doc = "all of them"} {
attn.program @ops dims [b, i, d = 16, j] attributes {doc = "all of them"} {
  // CHECK: %[[Q:.*]] = attn.input "q" : <[b, i, d], bf16>
  %q = attn.input "q" : <[b, i, d], bf16>
  %t = attn.input "table" : <[b, j], i32>
  // CHECK: %[[C:.*]] = attn.map () -> !attn.array<[], f32> {
  %c = attn.map () -> !attn.array<[], f32> {
    %half = arith.constant 0.5 : f32
    attn.yield %half : f32
  }
  // CHECK: %[[SCALE:.*]] = attn.param "scale" default %[[C]] : !attn.array<[], f32> {lower = 0.000000e+00 : f64, lower_open} -> <[], f32>
  %scale = attn.param "scale" default %c : !attn.array<[], f32> {lower = 0.0 : f64, lower_open} -> <[], f32>
  // CHECK: attn.param "count" {upper = 8.000000e+00 : f64} -> <[], i64>
  %count = attn.param "count" {upper = 8.0 : f64} -> <[], i64>
  // CHECK: attn.size i : <[], i64>
  %n = attn.size i : <[], i64>
  // CHECK: attn.index j : <[j], i64>
  %j = attn.index j : <[j], i64>
  // CHECK: %[[A:.*]] = attn.read %[[Q]] [b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
  %a = attn.read %q [b, i, d] : (!attn.array<[b, i, d], bf16>) -> !attn.array<[b, i, d], f32>
  // A table of integers as subscript, with the value that is read outside.
  %at = attn.read %t [b, j] : (!attn.array<[b, j], i32>) -> !attn.array<[b, j], i64>
  // CHECK: attn.read %[[Q]] [b, %{{.*}}, d] else 0.000000e+00 : (!attn.array<[b, i, d], bf16>, !attn.array<[b, j], i64>) -> !attn.array<[b, d, j], f32>
  %g = attn.read %q [b, %at, d] else 0.0 : (!attn.array<[b, i, d], bf16>, !attn.array<[b, j], i64>) -> !attn.array<[b, d, j], f32>
  // CHECK: %[[P:.*]] = attn.map (%[[X:.*]] = %[[A]] : !attn.array<[b, i, d], f32>, %[[Y:.*]] = %{{.*}} : !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, d, j], f32> {
  // CHECK-NEXT: %[[Z:.*]] = attn.sub %[[X]], %[[Y]] : f32
  // CHECK-NEXT: attn.yield %[[Z]] : f32
  %p = attn.map (%x = %a : !attn.array<[b, i, d], f32>, %y = %g : !attn.array<[b, d, j], f32>) -> !attn.array<[b, i, d, j], f32> {
    %z = attn.sub %x, %y : f32
    attn.yield %z : f32
  }
  // CHECK: %[[S:.*]] = attn.reduce add over [d] %[[P]] : <[b, i, d, j], f32> -> <[b, i, j], f32>
  %s = attn.reduce add over [d] %p : <[b, i, d, j], f32> -> <[b, i, j], f32>
  // CHECK: attn.softmax over [j] %[[S]] : <[b, i, j], f32> -> <[b, i, j], f32>
  %w = attn.softmax over [j] %s : <[b, i, j], f32> -> <[b, i, j], f32>
  // CHECK: attn.reduce logsumexp over [i, j] %[[S]] : <[b, i, j], f32> -> <[b], f32>
  %l = attn.reduce logsumexp over [i, j] %s : <[b, i, j], f32> -> <[b], f32>
  %even = attn.map (%x = %n : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %two = arith.constant 2 : i64
    // CHECK: attn.mod %{{.*}}, %{{.*}} : i64
    %r = attn.mod %x, %two : i64
    %zero = arith.constant 0 : i64
    %e = arith.cmpi eq, %r, %zero : i64
    attn.yield %e : i1
  }
  %kept = attn.map (%seed = %n : !attn.array<[], i64>, %column = %j : !attn.array<[j], i64>) -> !attn.array<[j], f32> {
    %none = arith.constant 0 : i64
    // CHECK: attn.rand %[[SEED:.*]] at %[[NONE:.*]], %[[NONE]], %[[SEED]], %{{.*}}
    %u = attn.rand %seed at %none, %none, %seed, %column
    attn.yield %u : f32
  }
  // CHECK: attn.require "size(i) % 2 == 0" %{{.*}} : <[], i1>
  attn.require "size(i) % 2 == 0" %even : <[], i1>
  // An output has a storage order and a storage type of its own.
  // CHECK: attn.output "w" [j, b, i] %{{.*}} as f16 : <[b, i, j], f32>
  attn.output "w" [j, b, i] %w as f16 : <[b, i, j], f32>
  attn.output "l" [b] %l as f32 : <[b], f32>
}

// Names that are not bare words are quoted.
// CHECK: attn.program @greek dims ["\CE\B1" = 3, "size of"] {
attn.program @greek dims ["α" = 3, "size of"] {
  // CHECK: attn.index "\CE\B1" : <["\CE\B1"], i64>
  %i = attn.index "α" : <["α"], i64>
  // CHECK: attn.output "i" ["\CE\B1"]
  attn.output "i" ["α"] %i as i64 : <["α"], i64>
}

// An extent that follows from other sizes, and a length for each batch.
// CHECK: attn.program @extents dims [b, n, m, j] {
attn.program @extents dims [b, n, m, j] {
  %n = attn.size n : <[], i64>
  // CHECK: attn.extent m %{{.*}} : <[], i64>
  attn.extent m %n : <[], i64>
  %b = attn.index b : <[b], i64>
  // CHECK: attn.extent j %{{.*}} : <[b], i64>
  attn.extent j %b : <[b], i64>
}
