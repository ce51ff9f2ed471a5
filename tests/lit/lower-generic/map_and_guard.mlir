// RUN: attnc-opt %s --derive-updates --attnc-pipeline=from=lower-nests | FileCheck %s

// A nest without a fold is a map. A read that can fall outside is guarded by one unsigned comparison;
// integers compute as i64 and booleans are stored as bytes.
attn.program @shifted dims [n] {
  %x = attn.input "x" : !attn.array<[n], i32>
  %near = red.nest grid [n] row [] stream [] inner [] : !attn.array<[n], i1> {
    %i = attn.index n : !attn.array<[n], i64>
    %before = attn.map (%a = %i : !attn.array<[n], i64>) -> !attn.array<[n], i64> {
      %one = arith.constant 1 : i64
      %r = arith.subi %a, %one : i64
      attn.yield %r : i64
    }
    %p = attn.read %x[%before] else -5.0 : (!attn.array<[n], i32>, !attn.array<[n], i64>) -> !attn.array<[n], i64>
    %q = attn.read %x[n] : (!attn.array<[n], i32>) -> !attn.array<[n], i64>
    %r = attn.map (%a = %p : !attn.array<[n], i64>, %b = %q : !attn.array<[n], i64>) -> !attn.array<[n], i1> {
      %lt = arith.cmpi slt, %a, %b : i64
      attn.yield %lt : i1
    }
    red.yield %r : !attn.array<[n], i1>
  }
  attn.output "near" [n] %near as i1 : !attn.array<[n], i1>
}

// CHECK-LABEL: tile.kernel @shifted_near
// CHECK-SAME: "x" = %[[X:[a-z0-9]+]]: !tile.ptr<i32>, "near" = %[[NEAR:[a-z0-9]+]]: !tile.ptr<i1>, "size_n" = %[[N:[a-z0-9]+]]: i64
// CHECK: %[[BEFORE:.*]] = arith.subi %{{.*}}, %{{.*}} : i64
// CHECK: %[[FITS:.*]] = arith.cmpi ult, %[[BEFORE]], %[[N]]
// CHECK: %[[P:.*]] = scf.if %[[FITS]] -> (i64)
// CHECK: tile.load %[[X]][%[[BEFORE]]] : <i32> -> i64
// CHECK: else
// CHECK: arith.constant -5 : i64
// CHECK: %[[Q:.*]] = tile.load %[[X]]
// CHECK: %[[LESS:.*]] = arith.cmpi slt, %[[P]], %[[Q]]
// CHECK: tile.store %[[LESS]], %[[NEAR]][%{{.*}}] : i1 -> <i1>
