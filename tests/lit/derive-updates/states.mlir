// What each fold says of its scalars: a plain sum, a maximum, a sum that is relative to it, and a
// moment that is relative to a centre besides.
//   s = sum(d, x)   m = max(j, s)   c = sum(j, exp(s - m) * v)   u = sum(j, exp(s - m) * v * (y - m))
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --derive-updates %s | FileCheck %s
// A fold that has its update keeps it; and what is printed can be read.
// RUN: attnc-opt --mlir-use-nameloc-as-prefix --derive-updates %s \
// RUN:   | attnc-opt --mlir-use-nameloc-as-prefix --derive-updates | FileCheck %s

// CHECK:       red.fold add over [d]{{.*}} update {
// CHECK-NEXT:    empty() {
// CHECK-NEXT:      %[[NONE:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      red.return %[[NONE]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    lift(%[[X:.*]]: f32) {
// CHECK-NEXT:      red.return %[[X]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    merge(%[[X:.*]]: f32, %[[Y:.*]]: f32) {
// CHECK-NEXT:      %[[BOTH:.*]] = arith.addf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      red.return %[[BOTH]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  {{.*}} = red.fold max over [j]
// CHECK:         arith.constant 0xFF800000 : f32
// CHECK:         arith.maximumf
// CHECK-NOT:   weight
// CHECK:       red.fold add over [j]{{.*}} exp({{.*}} update {
// CHECK:         lift(%[[V:.*]]: f32, %[[W:.*]]: f32) {
// CHECK-NEXT:      arith.mulf %[[W]], %[[V]] : f32
// CHECK:         weight(%[[X:.*]]: f32, %[[Y:.*]]: f32) {
// CHECK-NEXT:      %[[FAR:.*]] = attn.sub %[[X]], %[[Y]] : f32
// CHECK-NEXT:      math.exp %[[FAR]] : f32
// CHECK:         rescale(%[[C:.*]]: f32, %[[BY:.*]]: f32) {
// CHECK-NEXT:      arith.mulf %[[C]], %[[BY]] : f32
// CHECK:         follow(%{{.*}}: f32, %[[NEXT:.*]]: f32) {
// CHECK-NEXT:      red.return %[[NEXT]] : f32
// CHECK-NOT:   difference
// CHECK:       red.fold add over [j]{{.*}} moment(
// CHECK:         lift(%[[V:.*]]: f32, %[[W:.*]]: f32, %[[D:.*]]: f32) {
// CHECK-NEXT:      %[[WV:.*]] = arith.mulf %[[W]], %[[V]] : f32
// CHECK-NEXT:      arith.mulf %[[WV]], %[[D]] : f32
// CHECK:         rescale(
// CHECK:         difference(%[[X:.*]]: f32, %[[Y:.*]]: f32) {
// CHECK-NEXT:      arith.subf %[[X]], %[[Y]] : f32
// CHECK:         shift(%[[U:.*]]: f32, %[[C:.*]]: f32, %[[BY:.*]]: f32) {
// CHECK-NEXT:      %[[PART:.*]] = arith.mulf %[[BY]], %[[C]] : f32
// CHECK-NEXT:      arith.addf %[[U]], %[[PART]] : f32
// CHECK:         follow_centre(%[[OLD:.*]]: f32, %[[NEXT:.*]]: f32) {
// CHECK-NEXT:      %[[NAN:.*]] = arith.subf %[[NEXT]], %[[NEXT]] : f32
// CHECK:           arith.select %{{.*}}, %[[NEXT]], %[[OLD]] : f32

attn.program @states dims [i, j, d = 4] {
  %x = attn.input "x" : <[i, j, d], f32>
  %v = attn.input "v" : <[j], f32>
  %y = attn.input "y" : <[i, j], f32>
  %r = red.nest grid [] row [i] stream [j] inner [d] : !attn.array<[i], f32> {
    %xr = attn.read %x [i, j, d] : (!attn.array<[i, j, d], f32>) -> !attn.array<[i, j, d], f32>
    %vr = attn.read %v [j] : (!attn.array<[j], f32>) -> !attn.array<[j], f32>
    %yr = attn.read %y [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %s = red.fold add over [d](%xr) : (!attn.array<[i, j, d], f32>) -> !attn.array<[i, j], f32>
    %m = red.fold max over [j](%s) : (!attn.array<[i, j], f32>) -> !attn.array<[i], f32>
    %c = red.fold add over [j](%vr) exp(%s - %m) : (!attn.array<[j], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    %u = red.fold add over [j](%vr) exp(%s - %m) moment(%yr - %m) above(%c) : (!attn.array<[j], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i, j], f32>, !attn.array<[i], f32>, !attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %u : !attn.array<[i], f32>
  }
  attn.output "r" [i] %r as f32 : <[i], f32>
}
