// Schedules print every key, but those that say nothing; what is not written has its default.
// RUN: attnc-opt %s | attnc-opt | FileCheck %s

// CHECK: tile.a = #tile.cpu
// CHECK-SAME: tile.b = #tile.cpu<stream_tile = 24>
// CHECK-SAME: tile.c = #tile.generic<threads = 128>
// CHECK-SAME: tile.d = #tile.rows<threads = 96, rows = 2, stream_tile = 64>
// CHECK-SAME: tile.e = #tile.portable<row_tile = 64, stream_tile = 64, warps = 4, stages = 2, rescale_threshold = 8, min_blocks = 1>
// CHECK-SAME: tile.f = #tile.portable<{{.*}}rescale_threshold = 2.5{{.*}}head_dim_tile = 32, depth = 32, column_warps = 2, copy_inputs = true, halves = true>
// CHECK-SAME: tile.g = #tile.warpgroups<groups = 2, stream_tile = 128, stages = 2, row_stages = 1, producer_registers = 24, consumer_registers = 240, ping_pong = true, persistent = true, dynamic_scheduler = false, copy_inputs = true, bulk_stores = false, pack = 1, rescale_threshold = 3>
// CHECK-SAME: tile.h = #tile.warpgroups<{{.*}}head_dim_tile = 256, depth = 64, depth_stages = 8>
// CHECK-SAME: tile.i = #tile.portable<{{.*}}column_groups = 4>
module attributes {
  tile.a = #tile.cpu, tile.b = #tile.cpu<stream_tile = 24>, tile.c = #tile.generic,
  tile.d = #tile.rows<rows = 2, threads = 96>, tile.e = #tile.portable,
  tile.f = #tile.portable<rescale_threshold = 2.5, head_dim_tile = 32, depth = 32, column_warps = 2, copy_inputs = true, halves = true>,
  tile.g = #tile.warpgroups, tile.h = #tile.warpgroups<head_dim_tile = 256, depth = 64, depth_stages = 8>,
  tile.i = #tile.portable<column_groups = 4>} {}
