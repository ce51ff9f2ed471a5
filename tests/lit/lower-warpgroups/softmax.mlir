// Two roles. One thread copies: the rows' operand once for each row tile, keys one tile ahead of values.
// Groups compute: the scores of a tile are started before the products of the tile before, which run
// while its weights are computed.
//   p = softmax(j, scale * sum(d, q * k))
//   o[h,i,e] = sum(j, p * v)
// DEFINE: %{schedule} = "groups": 2, "stream_tile": 128, "stages": 2, "producer_registers": 24, "consumer_registers": 232, "ping_pong": false, "persistent": true
// RUN: %through-all %s | FileCheck %s

// CHECK-LABEL: tile.kernel @softmax_o(
// CHECK-SAME:    "q_map" = %{{.*}}: !tile.tensor_map<[64, 128, 1], bf16>, "k_map" = %{{.*}}: !tile.tensor_map<[64, 128, 1], bf16>
// CHECK-SAME:    threads 384
// CHECK:       %q_pipe = tile.pipe {{.*}} users 8 : <1, <128, 64, bf16, panels 128>>
// CHECK:       %k_pipe = tile.pipe {{.*}} users 8 : <2, <128, 64, bf16, panels 128>>
// CHECK:       %v_pipe = tile.pipe {{.*}} users 8 : <2, <128, 64, bf16, panels 128>>
// CHECK:       tile.start_pipes %q_pipe, %k_pipe, %v_pipe

// Tile t goes through slot number N of its ring, the tiles of row tiles before included.
// CHECK:       tile.role "load" warps 0 count 4 registers 24 {
// CHECK-NEXT:    tile.single {
// CHECK:           scf.for %work = {{.*}} iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK:             tile.acquire %k_pipe[%tiles_before]
// CHECK-NEXT:        tile.fill %k_pipe[%tiles_before] from %k_map(%c0_i32, %[[H:[a-z0-9_]+]])
// CHECK:             tile.acquire %q_pipe[%turn]
// CHECK-NEXT:        tile.fill %q_pipe[%turn] from %q_map(%i0, %[[H]])
// CHECK:             scf.for %t = %c1_i32 to %[[END:[a-z0-9_]+]] step
// CHECK-NEXT:          %[[N:[a-z0-9_]+]] = arith.addi %t, %tiles_before
// CHECK-NEXT:          %[[T:[a-z0-9_]+]] = arith.addi %t, %c-1_i32
// CHECK-NEXT:          %[[BEFORE:[a-z0-9_]+]] = arith.addi %[[N]], %c-1_i32
// CHECK-NEXT:          %[[J:[a-z0-9_]+]] = arith.muli %t, %c128_i32
// CHECK-NEXT:          %[[JV:[a-z0-9_]+]] = arith.muli %[[T]], %c128_i32
// CHECK-NEXT:          tile.acquire %k_pipe[%[[N]]]
// CHECK-NEXT:          tile.fill %k_pipe[%[[N]]] from %k_map(%[[J]], %[[H]])
// CHECK-NEXT:          tile.acquire %v_pipe[%[[BEFORE]]]
// CHECK-NEXT:          tile.fill %v_pipe[%[[BEFORE]]] from %v_map(%[[JV]], %[[H]])
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[AFTER:[a-z0-9_]+]] = arith.addi %[[END]], %tiles_before
// CHECK:             %[[LAST:[a-z0-9_]+]] = arith.addi %[[AFTER]], %c-1_i32
// CHECK:             tile.acquire %v_pipe[%[[LAST]]]
// CHECK-NEXT:        tile.fill %v_pipe[%[[LAST]]]
// CHECK:             scf.yield %[[AFTER]],

// Nothing overlaps with the first tile's scores.
// CHECK:       tile.role "compute" warps 4 count 8 registers 232 {
// CHECK-NEXT:    %group = tile.group
// CHECK:         scf.for %work = {{.*}} iter_args(%tiles_before = %c0_i32, %turn = %c0_i32)
// CHECK:           %[[O:[a-z0-9_]+]] = tile.registers all 0.000000e+00 : !tile.fragment<16, 64>
// CHECK:           tile.await %q_pipe[%turn]
// CHECK:           tile.await %k_pipe[%tiles_before]
// CHECK-NEXT:      tile.mma_fence
// CHECK:           %[[ROW:[a-z0-9_]+]] = arith.muli %group, %c64_i32
// CHECK:           %[[Q:[a-z0-9_]+]] = tile.strip %{{[a-z0-9_]+}}[%[[ROW]]] : {{.*}} -> <64, 64, bf16, panels 128>
// CHECK:           %[[K:[a-z0-9_]+]] = tile.stage %k_pipe[%tiles_before]
// CHECK-NEXT:      tile.mma_start %scores, %[[Q]], %[[K]] transposed fresh
// CHECK-NEXT:      tile.mma_commit
// CHECK-NEXT:      tile.mma_wait 0 for %scores
// CHECK-NEXT:      tile.release %k_pipe[%tiles_before]
// CHECK:           tile.reduce_rows max %scores into %p_max :
// CHECK-NEXT:      tile.reduce_quad max %p_max :
// CHECK:           tile.reduce_rows add %scores into %p_sum :
// CHECK-NEXT:      tile.convert %scores to %weights

// CHECK:           scf.for %t = %c1_i32 to %[[TILES:[a-z0-9_]+]] step
// CHECK-NEXT:        %[[N1:[a-z0-9_]+]] = arith.addi %t, %tiles_before
// CHECK-NEXT:        %[[N0:[a-z0-9_]+]] = arith.addi %[[N1]], %c-1_i32
// CHECK:             tile.await %k_pipe[%[[N1]]]
// CHECK-NEXT:        tile.mma_fence
// CHECK:             %[[K1:[a-z0-9_]+]] = tile.stage %k_pipe[%[[N1]]]
// CHECK-NEXT:        tile.mma_start %scores, %{{[a-z0-9_]+}}, %[[K1]] transposed fresh
// CHECK-NEXT:        tile.mma_commit
// CHECK-NEXT:        tile.await %v_pipe[%[[N0]]]
// CHECK-NEXT:        tile.mma_fence
// CHECK-NEXT:        %[[V:[a-z0-9_]+]] = tile.stage %v_pipe[%[[N0]]]
// CHECK-NEXT:        tile.mma_start %[[O]], %weights, %[[V]]
// CHECK-NEXT:        tile.mma_commit
// CHECK-NEXT:        tile.mma_wait 1 for %scores
// CHECK-NEXT:        tile.release %k_pipe[%[[N1]]]
// CHECK:             tile.reduce_rows max %scores into %p_max_top
// CHECK:             %[[MOVED:[a-z0-9_]+]] = tile.any(%p_max_top, %p_max_followed)
// CHECK:             scf.if %[[MOVED]] {
// CHECK-NEXT:          tile.reduce_quad max %p_max_top :
// CHECK:               outs(%rescale : {{.*}}, %p_max : {{.*}})
// CHECK:               outs(%p_max_anchor : {{.*}}, %p_max_followed : {{.*}})

// Exponents of a large reference are differences, not what is left of a rounded product.
// CHECK:               %[[LARGE:[a-z0-9_]+]] = tile.any(%p_max_anchor) :
// CHECK:               scf.if %[[LARGE]] {
// CHECK-NEXT:            tile.map {{.*}} ins(%[[S:[a-z0-9_]+]] = %scores : {{.*}}, %[[M:[a-z0-9_]+]] = %p_max_anchor : {{.*}}) outs(%scores : {{.*}}) {
// CHECK:                   arith.subf %[[S]], %[[M]]
// CHECK:                 tile.map {{.*}} outs(%p_max_anchor : {{.*}}, %p_max_followed : {{.*}}) {
// CHECK:             tile.map {{.*}} ins(%[[A:[a-z0-9_]+]] = %p_max_anchor : {{.*}}) outs(%shift{{[_0-9]*}} : {{.*}}) {
// CHECK:             tile.reduce_rows add %scores into %p_sum

// The operand is overwritten only when the products have read it.
// CHECK-NEXT:        tile.mma_wait 0 for %[[O]], %scores
// CHECK-NEXT:        tile.release %v_pipe[%[[N0]]]
// CHECK-NEXT:        tile.convert %scores to %weights
// CHECK:           }

// The last tile's products.
// CHECK-NEXT:      %[[PASSED:[a-z0-9_]+]] = arith.addi %[[TILES]], %tiles_before
// CHECK-NEXT:      tile.release %q_pipe[%turn]
// CHECK-NEXT:      %[[N2:[a-z0-9_]+]] = arith.addi %[[PASSED]], %c-1_i32
// CHECK:           tile.await %v_pipe[%[[N2]]]
// CHECK-NEXT:      tile.mma_fence
// CHECK:           tile.mma_start %[[O]], %weights
// CHECK-NEXT:      tile.mma_commit
// CHECK-NEXT:      tile.mma_wait 0 for %[[O]]
// CHECK-NEXT:      tile.release %v_pipe[%[[N2]]]
// CHECK:           tile.reduce_quad add %p_sum

attn.program @softmax dims [h, i, d = 64, j, e = 64] {
  %q = attn.input "q" : <[h, i, d], bf16> loc("q")
  %k = attn.input "k" : <[h, j, d], bf16> loc("k")
  %v = attn.input "v" : <[h, j, e], bf16> loc("v")
  %scale = attn.param "scale" {lower = 0.0 : f64, lower_open} -> <[], f32> loc("scale")
  %q_0 = attn.read %q [h, i, d] : (!attn.array<[h, i, d], bf16>) -> !attn.array<[h, i, d], f32> loc("q")
  %k_1 = attn.read %k [h, j, d] : (!attn.array<[h, j, d], bf16>) -> !attn.array<[h, d, j], f32> loc("k")
  %0 = attn.map (%q_3 = %q_0 : !attn.array<[h, i, d], f32>, %k_4 = %k_1 : !attn.array<[h, d, j], f32>) -> !attn.array<[h, i, d, j], f32> {
    %3 = arith.mulf %q_3, %k_4 : f32
    attn.yield %3 : f32
  }
  %1 = attn.reduce add over [d] %0 : <[h, i, d, j], f32> -> <[h, i, j], f32>
  %s = attn.map (%scale_3 = %scale : !attn.array<[], f32>, %arg1 = %1 : !attn.array<[h, i, j], f32>) -> !attn.array<[h, i, j], f32> {
    %3 = arith.mulf %scale_3, %arg1 : f32
    attn.yield %3 : f32
  } loc("s")
  %p = attn.softmax over [j] %s : <[h, i, j], f32> -> <[h, i, j], f32> loc("p")
  %v_2 = attn.read %v [h, j, e] : (!attn.array<[h, j, e], bf16>) -> !attn.array<[h, j, e], f32> loc("v")
  %2 = attn.map (%p_3 = %p : !attn.array<[h, i, j], f32>, %v_4 = %v_2 : !attn.array<[h, j, e], f32>) -> !attn.array<[h, i, j, e], f32> {
    %3 = arith.mulf %p_3, %v_4 : f32
    attn.yield %3 : f32
  }
  %o = attn.reduce add over [j] %2 : <[h, i, j, e], f32> -> <[h, i, e], f32> loc("o")
  attn.output "o" [h, i, e] %o as bf16 : <[h, i, e], f32>
}
