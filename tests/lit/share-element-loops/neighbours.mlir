// A sum in the epilogue, over neighbours of a row: all elements of the result take the same turns, and
// nothing else is in registers by then. The loop goes around the map, with a fragment for what it
// carries, also in a block that takes one row tile after the other. Of 256 columns that would be more
// registers than there are; there the loop stays with each element, and is not unrolled.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --pass-pipeline='builtin.module(attnc-pipeline{target=sm_80})' | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: attnc-opt --mlir-use-nameloc-as-prefix %s --pass-pipeline='builtin.module(attnc-pipeline{target=sm_90a})' | FileCheck %s --check-prefixes=CHECK,SM90

// CHECK-LABEL: tile.kernel @narrow_o(
// SM90:        scf.for %work =
// CHECK:       scf.for %t =
// CHECK:       %[[SUM:near[a-z0-9_]*]] = tile.registers all 0.000000e+00 : !tile.fragment<{{[0-9]+}}, 16>
// CHECK-NEXT:  scf.for %w = %{{.*}} to %c9_i64
// CHECK-NEXT:    tile.map rows({{.*}}) cols({{.*}}) ins(%[[S:[a-z0-9_]+]] = %[[SUM]] : {{.*}}) outs(%[[SUM]] :
// CHECK-NOT:       scf.for
// CHECK:           %[[NEXT:[a-z0-9_]+]] = math.fma {{.*}}, %[[S]] : f32
// CHECK-NEXT:      tile.yield %[[NEXT]]
// CHECK:       tile.map rows({{.*}}) cols({{.*}}) ins({{.*}}%[[ALL:[a-z0-9_]+]] = %[[SUM]] : {{.*}})
// CHECK:         %[[O:[a-z0-9_]+]] = arith.addf %{{.*}}, %[[ALL]]
// CHECK-NEXT:    tile.yield %[[O]]

// CHECK-LABEL: tile.kernel @wide_o(
// SM80:        scf.for %t =
// SM80:        tile.map rows({{.*}}) cols({{.*}}) ins({{.*}})
// SM80:          scf.for %w = {{.*}} iter_args(%[[S:[a-z0-9_]+]] =
// SM80:            %[[NEXT:[a-z0-9_]+]] = math.fma {{.*}}, %[[S]] : f32
// SM80-NEXT:       scf.yield %[[NEXT]]
// SM80-NEXT:     } {tile.unroll = 2 : i64}

attn.program @narrow dims [b, h, i, d = 16, j, e = 16, w = 9] {
  %q = attn.input "q" : <[b, h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[b, h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[b, h, j, e], bf16> loc("v")
  %c = attn.input "c" : <[h, w], f32> loc("c")
  %qr = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
  %kr = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %qk = attn.map (%x = %qr : !attn.array<[b, h, i, d], f32>, %y = %kr : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %s = attn.reduce add over [d] %qk : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32> loc("s")
  %p = attn.softmax over [j] %s : <[b, h, i, j], f32> -> <[b, h, i, j], f32> loc("p")
  %vr = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
  %pv = attn.map (%x = %p : !attn.array<[b, h, i, j], f32>, %y = %vr : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %far = attn.reduce add over [j] %pv : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32> loc("far")
  %cr = attn.read %c [h, w] : (!attn.array<[h, w], f32>) -> !attn.array<[h, w], f32>
  %i = attn.index i : <[i], i64>
  %w = attn.index w : <[w], i64>
  %at = attn.map (%x = %i : !attn.array<[i], i64>, %y = %w : !attn.array<[w], i64>) -> !attn.array<[i, w], i64> {
    %xy = arith.addi %x, %y : i64
    %half = arith.constant 4 : i64
    %n = arith.subi %xy, %half : i64
    attn.yield %n : i64
  }
  %vn = attn.read %v [b, h, %at, e] else 0.000000e+00 : (!attn.array<[b, h, j, e], bf16>, !attn.array<[i, w], i64>) -> !attn.array<[b, h, i, e, w], f32>
  %cv = attn.map (%x = %cr : !attn.array<[h, w], f32>, %y = %vn : !attn.array<[b, h, i, e, w], f32>) -> !attn.array<[b, h, i, e, w], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %near = attn.reduce add over [w] %cv : <[b, h, i, e, w], f32> -> <[b, h, i, e], f32> loc("near")
  %o = attn.map (%x = %far : !attn.array<[b, h, i, e], f32>, %y = %near : !attn.array<[b, h, i, e], f32>) -> !attn.array<[b, h, i, e], f32> {
    %sum = arith.addf %x, %y : f32
    attn.yield %sum : f32
  } loc("o")
  attn.output "o" [b, h, i, e] %o as bf16 : <[b, h, i, e], f32>
}

attn.program @wide dims [b, h, i, d = 16, j, e = 256, w = 9] {
  %q = attn.input "q" : <[b, h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[b, h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[b, h, j, e], bf16> loc("v")
  %c = attn.input "c" : <[h, w], f32> loc("c")
  %qr = attn.read %q [b, h, i, d] : (!attn.array<[b, h, i, d], bf16>) -> !attn.array<[b, h, i, d], f32>
  %kr = attn.read %k [b, h, j, d] : (!attn.array<[b, h, j, d], bf16>) -> !attn.array<[b, h, d, j], f32>
  %qk = attn.map (%x = %qr : !attn.array<[b, h, i, d], f32>, %y = %kr : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %s = attn.reduce add over [d] %qk : <[b, h, i, d, j], f32> -> <[b, h, i, j], f32> loc("s")
  %p = attn.softmax over [j] %s : <[b, h, i, j], f32> -> <[b, h, i, j], f32> loc("p")
  %vr = attn.read %v [b, h, j, e] : (!attn.array<[b, h, j, e], bf16>) -> !attn.array<[b, h, j, e], f32>
  %pv = attn.map (%x = %p : !attn.array<[b, h, i, j], f32>, %y = %vr : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %far = attn.reduce add over [j] %pv : <[b, h, i, j, e], f32> -> <[b, h, i, e], f32> loc("far")
  %cr = attn.read %c [h, w] : (!attn.array<[h, w], f32>) -> !attn.array<[h, w], f32>
  %i = attn.index i : <[i], i64>
  %w = attn.index w : <[w], i64>
  %at = attn.map (%x = %i : !attn.array<[i], i64>, %y = %w : !attn.array<[w], i64>) -> !attn.array<[i, w], i64> {
    %xy = arith.addi %x, %y : i64
    %half = arith.constant 4 : i64
    %n = arith.subi %xy, %half : i64
    attn.yield %n : i64
  }
  %vn = attn.read %v [b, h, %at, e] else 0.000000e+00 : (!attn.array<[b, h, j, e], bf16>, !attn.array<[i, w], i64>) -> !attn.array<[b, h, i, e, w], f32>
  %cv = attn.map (%x = %cr : !attn.array<[h, w], f32>, %y = %vn : !attn.array<[b, h, i, e, w], f32>) -> !attn.array<[b, h, i, e, w], f32> {
    %xy = arith.mulf %x, %y : f32
    attn.yield %xy : f32
  }
  %near = attn.reduce add over [w] %cv : <[b, h, i, e, w], f32> -> <[b, h, i, e], f32> loc("near")
  %o = attn.map (%x = %far : !attn.array<[b, h, i, e], f32>, %y = %near : !attn.array<[b, h, i, e], f32>) -> !attn.array<[b, h, i, e], f32> {
    %sum = arith.addf %x, %y : f32
    attn.yield %sum : f32
  } loc("o")
  attn.output "o" [b, h, i, e] %o as bf16 : <[b, h, i, e], f32>
}
