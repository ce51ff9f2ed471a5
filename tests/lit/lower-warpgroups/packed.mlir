// Heads that share keys are rows of one tile, 16 rows of each. Tiles have heads of one key head: where
// fewer are left than fit, warps compute the last one again, and rows that they would store begin at the
// extent.
//   p = softmax(j, scale * sum(d, q[h] * k[h // g]))
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 64, "stages": 2, "ping_pong": false, "persistent": true, "pack": 8, "bulk_stores": false
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @packed_o("q_map" = %{{.*}}: !tile.tensor_map<[64, 16, 8], bf16>
// CHECK-SAME:    grid {{\[\[}}"min", ["mul", ["ceildiv", ["size", "i"], 16], ["mul", ["ceildiv", ["size", "h"], [[SHARING:\["max", \["min", \["floordiv", \["size", "h"\], \["size", "hk"\]\], \["size", "h"\]\], 1\]]]], ["ceildiv", [[SHARING]], 8]]], ["multiprocessors"]]]
// CHECK:       %packed_tiles = arith.divsi
// CHECK:       %streams = arith.divui
// CHECK:       tile.role "load"
// CHECK:         %of_stream = arith.divui %cell, %[[TILES:packed_tiles_[0-9]+]]
// CHECK:         %[[NUMBER:.*]] = arith.remui %cell, %[[TILES]]
// CHECK:         %[[FIRST:.*]] = arith.muli %of_stream, %sharing
// CHECK:         %[[BEFORE:.*]] = arith.muli %[[NUMBER]], %c8_i32
// CHECK:         %[[H:.*]] = arith.addi %[[FIRST]], %[[BEFORE]]
// CHECK:         tile.fill %q_pipe{{.*}} from %q_map(%i0, %[[H]])
// CHECK:       tile.role "compute"
// CHECK:         %h_end = arith.minsi
// CHECK:         %[[OWN:.*]] = arith.divui %warp_row, %c16_i32
// CHECK:         %[[HEAD:.*]] = arith.addi %{{.*}}, %[[OWN]]
// CHECK:         %[[THERE:.*]] = arith.cmpi slt, %[[HEAD]], %h_end
// CHECK:         %[[LAST:.*]] = arith.addi %h_end, %c-1_i32
// CHECK:         arith.minsi %[[HEAD]], %[[LAST]]
// CHECK:         %i_stored = arith.select %[[THERE]], %i_begin, %i_end
// CHECK:         tile.store_fragment_rows %{{.*}} from %i_stored to %i_end

attn.program @packed dims [h, i, d = 64, hk, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[hk, j, d], bf16> loc("k")
  %v = attn.input "v" : <[hk, j, e], bf16> loc("v")
  %heads = attn.size h : <[], i64> loc("heads")
  %key_heads = attn.size hk : <[], i64> loc("key_heads")
  %g = attn.map (%x = %heads : !attn.array<[], i64>, %y = %key_heads : !attn.array<[], i64>) -> !attn.array<[], i64> {
    %z = arith.floordivsi %x, %y : i64
    attn.yield %z : i64
  } loc("g")
  %head = attn.index h : <[h], i64> loc("head")
  %key_head = attn.map (%x = %head : !attn.array<[h], i64>, %y = %g : !attn.array<[], i64>) -> !attn.array<[h], i64> {
    %z = arith.floordivsi %x, %y : i64
    attn.yield %z : i64
  } loc("key_head")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_0 = attn.read %k [%key_head, j, d] : (!attn.array<[hk, j, d], bf16>, !attn.array<[h], i64>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%x = %q_0 : !attn.array<[h, i, d], f32>, %y = %k_0 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %s = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32> loc("s")
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_0 = attn.read %v [%key_head, j, e] : (!attn.array<[hk, j, e], bf16>, !attn.array<[h], i64>) -> !attn.array<[h, j, e], f32> loc("v")
  %1 = attn.map (%x = %p : !attn.array<[h, i, j], f32>, %y = %v_0 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %o = attn.reduce add over [j] %1 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
