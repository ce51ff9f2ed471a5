// RUN: attnc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has no key 'group', or has it twice}}
module attributes {tile.a = #tile.warpgroups<group = 2>} {}

// -----

// expected-error @+1 {{has no key 'groups', or has it twice}}
module attributes {tile.a = #tile.warpgroups<groups = 2, groups = 3>} {}

// -----

// expected-error @+1 {{ping_pong is true or false}}
module attributes {tile.a = #tile.warpgroups<ping_pong = 1>} {}

// -----

// expected-error @+1 {{groups is 5; it is 1 to 4}}
module attributes {tile.a = #tile.warpgroups<groups = 5>} {}

// -----

// expected-error @+1 {{stream_tile is 40; it is a multiple of 16 up to 256}}
module attributes {tile.a = #tile.warpgroups<stream_tile = 40>} {}

// -----

// expected-error @+1 {{consumer_registers is 250; it is a multiple of 8 from 24 to 256}}
module attributes {tile.a = #tile.warpgroups<consumer_registers = 250>} {}

// -----

// expected-error @+1 {{head_dim_tile is 80; it is a multiple of 32, or 0 for all}}
module attributes {tile.a = #tile.warpgroups<head_dim_tile = 80>} {}

// -----

// expected-error @+1 {{depth_stages is 0; it is 2 to 16 with a depth, and 0 without}}
module attributes {tile.a = #tile.warpgroups<depth = 64>} {}

// -----

// expected-error @+1 {{row_stages is 2; it is 1, or 2 where blocks are persistent}}
module attributes {tile.a = #tile.warpgroups<row_stages = 2, persistent = false>} {}

// -----

// expected-error @+1 {{ping_pong needs 2 groups or more}}
module attributes {tile.a = #tile.warpgroups<groups = 1>} {}

// -----

// expected-error @+1 {{pack is 5; 128 rows can be shared by 2, 4 or 8 indices}}
module attributes {tile.a = #tile.warpgroups<pack = 5>} {}

// -----

// expected-error @+1 {{resident_inputs is 96; it is a multiple of 64 up to 512, or 0 for tiles that arrive with the stream}}
module attributes {tile.a = #tile.warpgroups<resident_inputs = 96>} {}

// -----

// expected-error @+1 {{resident_inputs is 64; it is a multiple of stream_tile, 128}}
module attributes {tile.a = #tile.warpgroups<resident_inputs = 64>} {}

// -----

// expected-error @+1 {{resident_inputs needs persistent}}
module attributes {tile.a = #tile.warpgroups<resident_inputs = 128, persistent = false>} {}

// -----

// expected-error @+1 {{resident_inputs excludes dynamic_scheduler, pack: leave out the one or the other}}
module attributes {tile.a = #tile.warpgroups<resident_inputs = 128, dynamic_scheduler = true, pack = 2>} {}

// -----

// expected-error @+1 {{warps is 3; it can be 1, 2, 4, 8, 16 or 32}}
module attributes {tile.a = #tile.portable<warps = 3>} {}

// -----

// expected-error @+1 {{row_tile is 32; with 4 warps it is a multiple of 64 up to 4096}}
module attributes {tile.a = #tile.portable<row_tile = 32>} {}

// -----

// expected-error @+1 {{column_warps is 3, which does not divide the 4 warps}}
module attributes {tile.a = #tile.portable<column_warps = 3>} {}

// -----

// expected-error @+1 {{column_warps is 9; it is 2 to 8, or 0 for none}}
module attributes {tile.a = #tile.portable<column_warps = 9>} {}

// -----

// expected-error @+1 {{row_tile is 24; with 4 warps of which 2 share rows it is a multiple of 32 up to 4096}}
module attributes {tile.a = #tile.portable<row_tile = 24, column_warps = 2>} {}

// -----

// expected-error @+1 {{stream_tile is 48; with column_warps 2 it is a multiple of 32}}
module attributes {tile.a = #tile.portable<stream_tile = 48, column_warps = 2>} {}

// -----

// expected-error @+1 {{depth is 0 and head_dim_tile 64; with column_warps they are equal}}
module attributes {tile.a = #tile.portable<head_dim_tile = 64, column_warps = 2>} {}

// -----

// expected-error @+1 {{column_groups is 3, which does not divide the 4 warps}}
module attributes {tile.a = #tile.portable<column_groups = 3>} {}

// -----

// expected-error @+1 {{column_groups excludes column_warps: leave out the one or the other}}
module attributes {tile.a = #tile.portable<column_warps = 2, column_groups = 2>} {}

// -----

// expected-error @+1 {{column_groups excludes depth: leave out the one or the other}}
module attributes {tile.a = #tile.portable<depth = 64, column_groups = 2>} {}

// -----

// expected-error-re @+1 {{rescale_threshold is {{8.5.*}}; it is 0 to 8}}
module attributes {tile.a = #tile.portable<rescale_threshold = 8.5>} {}

// -----

// expected-error @+1 {{threads is 100; it is a multiple of 32 up to 1024}}
module attributes {tile.a = #tile.generic<threads = 100>} {}

// -----

// expected-error @+1 {{row_tile is 2048; it is 1 to 1024, or 0 for the compiler's choice}}
module attributes {tile.a = #tile.cpu<row_tile = 2048>} {}

// -----

// expected-error @+1 {{rows is 33; it is 1 to 32}}
module attributes {tile.a = #tile.rows<rows = 33>} {}

// -----

// expected-error @+1 {{adder_registers excludes persistent: leave out the one or the other}}
module attributes {tile.a = #tile.warpgroups<ping_pong = false, staged_weights = true, adder_registers = 72>} {}
