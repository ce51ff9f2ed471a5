// A weight is rounded to the bf16 of what it weighs, unless the products that follow may cancel along
// one of its dims: then that is widened, and products are of f32.
// RUN: sed 's/MARK//' %s | attnc-opt --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s --check-prefix=ROUNDED
// RUN: sed 's/MARK/{red.cancels = ["d"]}/' %s | attnc-opt --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s --check-prefix=WIDE
// RUN: sed 's/MARK/{red.cancels = ["e"]}/' %s | attnc-opt --derive-updates --attnc-pipeline='from=choose-schedules target=sm_80' | FileCheck %s --check-prefix=ROUNDED
// ROUNDED: tile.mma {{.*}}!tile.operand<16, {{[0-9]+}}, bf16>
// WIDE-NOT: !tile.operand<{{.*}}, bf16>
// WIDE: tile.mma {{.*}}, f32>
attn.program @state dims [b, d = 64, j, e = 64] {
  %k = attn.input "k" : !attn.array<[b, j, d], bf16>
  %v = attn.input "v" : !attn.array<[b, j, e], bf16>
  %s = red.nest grid [b] row [d] stream [j] inner [e] : !attn.array<[b, d, e], f32> {
    %kr = attn.read %k[b, j, d] : (!attn.array<[b, j, d], bf16>) -> !attn.array<[b, d, j], f32>
    %x = attn.map (%y = %kr : !attn.array<[b, d, j], f32>) -> !attn.array<[b, d, j], f32> {
      %z = math.exp %y : f32
      attn.yield %z : f32
    }
    %vr = attn.read %v[b, j, e] : (!attn.array<[b, j, e], bf16>) -> !attn.array<[b, j, e], f32>
    %sum = red.fold add over [j] (%x, %vr) MARK : (!attn.array<[b, d, j], f32>, !attn.array<[b, j, e], f32>) -> !attn.array<[b, d, e], f32>
    red.yield %sum : !attn.array<[b, d, e], f32>
  }
  attn.output "s" [b, d, e] %s as f32 : !attn.array<[b, d, e], f32>
}
