// Keys projected from latent vectors, or the query projected instead: both are of degree 2, and the
// spec's reference shape decides. Without one, every dim has 256 elements.
//   s[i,j] = sum(d, q[i,d] * sum(c, z[j,c] * w[c,d]))
// RUN: %through-reassociate %s | FileCheck %s

// CHECK-LABEL: attn.program @many_queries
// CHECK:         red.fold add over [c]({{.*}} -> !attn.array<[d, j], f32>
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, j], f32>
attn.program @many_queries dims [i, d = 16, j, c = 24] attributes {attn.reference = {i = 100 : i64, j = 40 : i64}} {
  %q = attn.input "q" : <[i, d], f32>
  %z = attn.input "z" : <[j, c], f32>
  %w = attn.input "w" : <[c, d], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %z_1 = attn.read %z [j, c] : (!attn.array<[j, c], f32>) -> !attn.array<[j, c], f32>
  %w_2 = attn.read %w [c, d] : (!attn.array<[c, d], f32>) -> !attn.array<[d, c], f32>
  %0 = attn.map (%z_3 = %z_1 : !attn.array<[j, c], f32>, %w_4 = %w_2 : !attn.array<[d, c], f32>) -> !attn.array<[d, j, c], f32> {
    %3 = arith.mulf %z_3, %w_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [c] %0 : <[d, j, c], f32> -> <[d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_3, %arg1 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %2 : <[i, d, j], f32> -> <[i, j], f32>
  attn.output "s" [i, j] %s as f32 : <[i, j], f32>
}

// CHECK-LABEL: attn.program @one_query
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, c], f32>
// CHECK:         red.fold add over [c]({{.*}} -> !attn.array<[i, j], f32>
attn.program @one_query dims [i, d = 16, j, c = 24] attributes {attn.reference = {i = 1 : i64, j = 40 : i64}} {
  %q = attn.input "q" : <[i, d], f32>
  %z = attn.input "z" : <[j, c], f32>
  %w = attn.input "w" : <[c, d], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %z_1 = attn.read %z [j, c] : (!attn.array<[j, c], f32>) -> !attn.array<[j, c], f32>
  %w_2 = attn.read %w [c, d] : (!attn.array<[c, d], f32>) -> !attn.array<[d, c], f32>
  %0 = attn.map (%z_3 = %z_1 : !attn.array<[j, c], f32>, %w_4 = %w_2 : !attn.array<[d, c], f32>) -> !attn.array<[d, j, c], f32> {
    %3 = arith.mulf %z_3, %w_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [c] %0 : <[d, j, c], f32> -> <[d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_3, %arg1 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %2 : <[i, d, j], f32> -> <[i, j], f32>
  attn.output "s" [i, j] %s as f32 : <[i, j], f32>
}

// CHECK-LABEL: attn.program @no_reference
// CHECK:         red.fold add over [c]({{.*}} -> !attn.array<[d, j], f32>
// CHECK:         red.fold add over [d]({{.*}} -> !attn.array<[i, j], f32>
attn.program @no_reference dims [i, d = 16, j, c = 24] {
  %q = attn.input "q" : <[i, d], f32>
  %z = attn.input "z" : <[j, c], f32>
  %w = attn.input "w" : <[c, d], f32>
  %q_0 = attn.read %q [i, d] : (!attn.array<[i, d], f32>) -> !attn.array<[i, d], f32>
  %z_1 = attn.read %z [j, c] : (!attn.array<[j, c], f32>) -> !attn.array<[j, c], f32>
  %w_2 = attn.read %w [c, d] : (!attn.array<[c, d], f32>) -> !attn.array<[d, c], f32>
  %0 = attn.map (%z_3 = %z_1 : !attn.array<[j, c], f32>, %w_4 = %w_2 : !attn.array<[d, c], f32>) -> !attn.array<[d, j, c], f32> {
    %3 = arith.mulf %z_3, %w_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [c] %0 : <[d, j, c], f32> -> <[d, j], f32>
  %2 = attn.map (%q_3 = %q_0 : !attn.array<[i, d], f32>, %arg1 = %1 : !attn.array<[d, j], f32>) -> !attn.array<[i, d, j], f32> {
    %3 = arith.mulf %q_3, %arg1 : f32
    attn.yield %3 : f32
  }
  %s = attn.reduce add over [d] %2 : <[i, d, j], f32> -> <[i, j], f32>
  attn.output "s" [i, j] %s as f32 : <[i, j], f32>
}
