// A stream in three parts. A part's elements are those of its range; the others are masked, so that
// its bounds follow from the mask. The merge folds the states of the parts by the same operations.
//   p = softmax(j, s)
//   o[i,e] = sum(j, p * v)
// RUN: %through-mask-intervals %s | FileCheck %s

// CHECK:     attn.program @softmax dims [j_part, i, j, e = 16]
// CHECK:       arith.constant 3 : i64
// CHECK:     attn.extent j_part
// CHECK:     %[[PARTS:.*]]:3 = red.nest grid [{{.*}}j_part] row {{.*}} stream [j] inner [e] : !attn.array<[i, j_part], f32>, !attn.array<[i, j_part], f32>, !attn.array<[j_part, i, e], f32>
// CHECK:       %[[LENGTH:.*]] = attn.map
// CHECK:         arith.constant 128 : i64
// CHECK:         arith.floordivsi
// CHECK:       %[[INSIDE:.*]] = attn.map ({{.*}} = %[[LENGTH]] :
// CHECK:         arith.cmpi sge
// CHECK:         arith.cmpi slt
// CHECK:       %[[S:.*]] = attn.map ({{.*}} = %[[INSIDE]] :
// CHECK:         arith.select {{.*}} {red.full = true}
// CHECK:       %[[M:.*]] = red.fold max over [j](%[[S]])
// CHECK:       red.fold add over [j]() exp(%[[S]] - %[[M]])
// CHECK:       red.fold add over [j]({{.*}}) exp(%[[S]] - %[[M]])
// CHECK:     domain
// CHECK:       red.bounds
// CHECK:     red.nest grid {{.*}} row {{.*}} stream [j_part] inner [e] : !attn.array<[i, e], f32>
// CHECK:       %[[MP:.*]] = attn.read %[[PARTS]]#0 [i, j_part]
// CHECK:       %[[ZP:.*]] = attn.read %[[PARTS]]#1 [i, j_part]
// CHECK:       %[[OP:.*]] = attn.read %[[PARTS]]#2 [j_part, i, e]
// CHECK:       %[[MAX:.*]] = red.fold max over [j_part](%[[MP]])
// CHECK:       red.fold add over [j_part](%[[ZP]]) exp(%[[MP]] - %[[MAX]])
// CHECK:       arith.divf
// CHECK:       red.fold add over [j_part](%[[OP]]) exp(%[[MP]] - %[[MAX]])

attn.program @softmax dims [i, j, e = 16] attributes {red.splits = 3 : i64} {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %v = attn.input "v" : <[j, e], f32> loc("v")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %p = attn.softmax over [j] %s_0 : <[i, j], f32> -> <[i, j], f32> loc("p")
  %v_1 = attn.read %v [j, e] : (!attn.array<[j, e], f32>) -> !attn.array<[j, e], f32> loc("v")
  %0 = attn.map (%x = %p : !attn.array<[i, j], f32>, %y = %v_1 : !attn.array<[j, e], f32>) -> !attn.array<[i, j, e], f32> {
    %1 = arith.mulf %x, %y : f32
    attn.yield %1 : f32
  }
  %o = attn.reduce add over [j] %0 : <[i, j, e], f32> -> <[i, e], f32> loc("o")
  attn.output "o" [i, e] %o as f32 : <[i, e], f32> loc("o")
}
