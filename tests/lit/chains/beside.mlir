// Kernels that follow each other, and of which none reads what another one stores, run side by side. All but
// the first do not wait for the launch before them; they end no earlier.
// RUN: attnc-opt %s --derive-updates --attnc-pipeline="from=choose-schedules through=lower-nests target=sm_90a" | FileCheck %s
// RUN: attnc-opt %s --derive-updates --attnc-pipeline="from=choose-schedules target=sm_90a" --emit-cuda -o /dev/null | FileCheck %s --check-prefix=CUDA

// CHECK: tile.kernel @several_value({{.*}} attributes {lets_next
// CHECK-NOT: beside
// CHECK: tile.kernel @several_b({{.*}} attributes {beside, lets_next
// CHECK: tile.kernel @several_c({{.*}} attributes {beside
// CHECK-NOT: lets_next
// CHECK: tile.kernel @several_a2({{.*}} smem 0 {
// CHECK-NOT: beside
// CHECK-NOT: lets_next

// CUDA: several_value(
// CUDA: awaitLaunchBefore();
// CUDA-NEXT: letNextStart();
// CUDA-NOT: awaitLaunchBe
// CUDA: several_b(
// CUDA-NOT: awaitLaunchBefore
// CUDA: letNextStart();
// CUDA-NOT: awaitLaunchBefore
// CUDA: awaitLaunchBeside();
// CUDA-NEXT: }
// CUDA: several_c(
// CUDA-NOT: letNextStart
// CUDA: awaitLaunchBeside();
// CUDA-NEXT: }
// CUDA: several_a2(
// CUDA: awaitLaunchBefore();
// CUDA-NOT: letNextStart
// CUDA-NOT: awaitLaunchBeside
attn.program @several dims [i] {
  %x = attn.input "x" : !attn.array<[i], f32>
  %a = red.nest grid [i] row [] stream [] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %x[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %0 : !attn.array<[i], f32>
  }
  %b = red.nest grid [i] row [] stream [] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %x[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %0 : !attn.array<[i], f32>
  }
  %c = red.nest grid [i] row [] stream [] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %x[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %0 : !attn.array<[i], f32>
  }
  %d = red.nest grid [i] row [] stream [] inner [] : !attn.array<[i], f32> {
    %0 = attn.read %a[i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32>
    red.yield %0 : !attn.array<[i], f32>
  }
  attn.output "a2" [i] %d as f32 : !attn.array<[i], f32>
  attn.output "b" [i] %b as f32 : !attn.array<[i], f32>
  attn.output "c" [i] %c as f32 : !attn.array<[i], f32>
}
