// RUN: attnc-opt %S/../tile/seesaw.mlir --emit-cuda -o /dev/null | FileCheck %s --check-prefix=SEESAW
// RUN: attnc-opt %S/../tile/backward.mlir --emit-cuda -o /dev/null | FileCheck %s --check-prefix=BACKWARD
// RUN: attnc-opt %S/../tile/split-fold.mlir --emit-cuda -o /dev/null | FileCheck %s --check-prefix=SPLIT
// RUN: attnc-opt %S/../tile/cluster.mlir --emit-cuda -o /dev/null | FileCheck %s --check-prefix=CLUSTER

// Each op is one call. Tiles of two kinds in one pipe; weights that pass between groups.
// SEESAW: #include "attnc/exchange.cuh"
// SEESAW: p_pipe0.start(4, 4);
// SEESAW: const auto k_own = choose(group, k_ring0, k_ring1);
// SEESAW: q.columns<128>(0)
// SEESAW: p_peer.await({{.*}});
// SEESAW-NEXT: readVector(m_other, m_peer, warp_row);
// SEESAW: const bool moved = meetAny(own_barrier, 128, anyLane(exceeds));
// SEESAW: scalePacked(p, by_own);
// SEESAW-NEXT: scalePacked(p_in.rows<16>(warp_row), by_other);
// SEESAW: startAB(acc, p_in.columns<32>(0), v_own[{{.*}}]);
// SEESAW: startAB(acc, p.columns<32>(0), v_own[{{.*}}]);
// SEESAW: storeOperand(p_own[next].rows<16>(warp_row), p_next);
// SEESAW-NEXT: writeVector(m_own, warp_row, m_tile);
// SEESAW-NEXT: publishToAsync();
// SEESAW-NEXT: p_own.complete(next);
// SEESAW: p = p_next;
// SEESAW: __syncwarp();
// SEESAW-NEXT: if (lane() == 0) {
// SEESAW: k_own.fillFrom({{.*}}, k_map, {{.*}}, h, b);

// BACKWARD: lse_pipe.fillRow(t, lse + at);
// BACKWARD: ColumnVector<64> lse_columns;
// BACKWARD: exp2(fmaf(s[n], scale_log2, -lse_columns[s.columnSlot(n)]));
// BACKWARD: dp[n] = p[n] * (dp[n] - delta_columns[dp.columnSlot(n)]);
// BACKWARD: } else { // queries
// BACKWARD-NEXT: shrinkRegisters<72>();
// BACKWARD: startAB<kFresh>(dq_2, transposed(ds_tile), {{.*}}.columns<64>(0));
// BACKWARD: waitStoresRead<0>();
// BACKWARD: storeLanes(staging_low, dq_2);
// BACKWARD: addBulk(dq + low, staging_low);
// BACKWARD-NEXT: addBulk(dq + low + 4096, staging_high);
// BACKWARD-NEXT: commitStores();
// BACKWARD: restore({{.*}}, dq_sums + low);

// Registers start from what one block on a multiprocessor leaves to each thread.
// SPLIT: __launch_bounds__(256, 1)
// SPLIT: growRegisters<256>();
// SPLIT: save(partial + acc_at, acc);
// SPLIT: const bool last = isLastBlock(counter + {{.*}}, 4, 1, 128, threadIndex() == 128);

// CLUSTER: __cluster_dims__(2) __launch_bounds__(128)
// CLUSTER: const Barriers<2> received{base + 58112};
// CLUSTER: received.start(1);
// CLUSTER: arriveExpecting(received[0], 16384);
// CLUSTER: meetCluster();
// CLUSTER: sendFragment<128>(sums.base, s, peer, received[0]);
// CLUSTER-NEXT: awaitBarrier(received[0], 0);
// CLUSTER-NEXT: addReceived<128>(s, sums.base);
// CLUSTER: sendTile(mine, theirs, peer, received[1]);
// CLUSTER: storeFragment(out.rows<16>(warp_row), s);
// CLUSTER: storeBox(s_map, out, 0, h, b);
// CLUSTER-NEXT: commitStores();
// CLUSTER-NEXT: waitStores<0>();
