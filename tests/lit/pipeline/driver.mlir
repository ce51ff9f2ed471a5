// The driver runs the same passes: what it prints after one is what attnc-opt makes of the program as it
// came, and what --emit writes. A pass that fails leaves a file that attnc-opt runs again, to the same
// end. (Names, which derivations cite, are in the locations.)
// RUN: attnc compile causal --target sm_80 --emit attn -o %t.attn
// RUN: attnc compile causal --target sm_80 --emit tile -o %t.tile --print-ir-after choose-schedules \
// RUN:   --mlir-print-ir-after share-arithmetic 2> %t.dump
// RUN: sed -e '/IR Dump After choose-schedules/,/IR Dump After/!d' -e '/IR Dump/d' -e '/^$/d' %t.dump > %t.after
// RUN: attnc compile causal --target sm_80 --emit red | sed '/^$/d' | diff - %t.after
// RUN: attnc-opt %t.after | sed 's/ {red.derivation.*//' > %t.nameless
// RUN: attnc-opt --attnc-pipeline='through=choose-schedules target=sm_80' %t.attn 2> /dev/null \
// RUN:   | sed 's/ {red.derivation.*//' | diff - %t.nameless
// RUN: sed -e '1,/IR Dump After share-arithmetic/d' -e '/^note: /d' -e '/^$/d' %t.dump > %t.last
// RUN: sed '/^$/d' %t.tile | diff - %t.last

// RUN: echo '{"row_tile": 96}' > %t.json
// RUN: not attnc compile causal --target sm_80 --emit tile --schedule %t.json --reproducer %t.again \
// RUN:   2>&1 | FileCheck %s
// RUN: not attnc-opt --run-reproducer %t.again 2>&1 | FileCheck %s
// CHECK: row_tile is 96; with 4 warps it is a multiple of 64

// RUN: not attnc compile causal --emit red --print-ir-after fuse-nest 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: there is no pass 'fuse-nest'
// NAME: fuse-nests
