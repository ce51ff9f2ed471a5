// logsumexp is max + log(sum exp(x - max)); of an empty row it is -inf + log 0 = -inf.
//   a = logsumexp(j, s)
// RUN: %through-desugar %s | FileCheck %s

// CHECK-NOT: attn.reduce logsumexp
// CHECK:     %a_max = attn.reduce max over [j]
// CHECK:     %a_exp = attn.map ({{.*}} = %a_max :
// CHECK:       attn.sub
// CHECK:       math.exp
// CHECK:     %a_sum = attn.reduce add over [j] %a_exp
// CHECK:     %a = attn.map (%[[M:.*]] = %a_max : {{.*}}, %[[Z:.*]] = %a_sum :
// CHECK:       %[[LOG:.*]] = math.log %[[Z]]
// CHECK:       arith.addf %[[M]], %[[LOG]]

attn.program @logsumexp dims [i, j] {
  %s = attn.input "s" : <[i, j], f32> loc("s")
  %s_0 = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32> loc("s")
  %a = attn.reduce logsumexp over [j] %s_0 : <[i, j], f32> -> <[i], f32> loc("a")
  attn.output "a" [i] %a as f32 : <[i], f32> loc("a")
}
