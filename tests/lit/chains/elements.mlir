// RUN: attnc-opt %s --derive-updates --attnc-pipeline="from=lower-nests target=sm_80" --emit-cuda -o /dev/null | FileCheck %s

// A chain without tiles: an array in shared memory needs no address there.
attn.program @maps dims [b, n = 20] {
  %x = attn.input "x" : !attn.array<[b, n], f32>
  %s = red.nest grid [b, n] row [] stream [] inner [] schedule(#tile.generic<threads = 64, cell_dims = 1>) : !attn.array<[b, n], f32> {
    %0 = attn.read %x[b, n] : (!attn.array<[b, n], f32>) -> !attn.array<[b, n], f32>
    red.yield %0 : !attn.array<[b, n], f32>
  } {red.chain = 0 : i64}
  %o = red.nest grid [b, n] row [] stream [] inner [] schedule(#tile.generic<threads = 64, cell_dims = 1>) : !attn.array<[b, n], f32> {
    %0 = attn.read %s[b, n] : (!attn.array<[b, n], f32>) -> !attn.array<[b, n], f32>
    red.yield %0 : !attn.array<[b, n], f32>
  } {red.chain = 0 : i64}
  attn.output "o" [b, n] %o as f32 : !attn.array<[b, n], f32>
}

// CHECK-NOT: sharedAddress
// CHECK: extern "C" __global__
// CHECK-NOT: sharedAddress
// CHECK: extern __shared__ __align__(1024) unsigned char memory[];
// CHECK-NEXT: f32 *const value = reinterpret_cast<f32 *>(memory + 0);
// CHECK-NEXT: maps_value(x, x_stride0, value, size_b);
// CHECK-NEXT: __syncthreads();
// CHECK-NEXT: maps_o(value, o, o_stride0, size_b);
