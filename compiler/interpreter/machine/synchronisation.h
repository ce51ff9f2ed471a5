// Barriers: those in shared memory and the numbered ones.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_SYNCHRONISATION_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_SYNCHRONISATION_H

#include "compiler/interpreter/machine/view.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace attnc::interpreter {

struct Warp;

/// A barrier in shared memory (PTX ISA, "mbarrier"): a phase completes when all arrivals have come
/// and no bytes are outstanding.
struct CountingBarrier {
  bool started = false;
  uint32_t agent = 0;                ///< of the copies that complete here
  uint32_t copies = 0;               ///< that have been started
  uint32_t arrived = 0;              ///< of these, the first that have all arrived
  llvm::SmallVector<uint32_t> ahead; ///< copies that have arrived before one with a lower number
  mlir::Operation *lastCopy = nullptr;
  int64_t arrivals = 0, missing = 0;
  int64_t bytes = 0;  ///< expected and not arrived
  uint32_t phase = 0; ///< completed ones
  View current, completed;

  void start(int64_t count, size_t agents);
  /// Returns true if the phase completes.
  bool arrive(int64_t count, const View &view);
  void expect(int64_t count) { bytes += count; }
  bool deliver(int64_t count, uint32_t copy);
  /// Whether the wait for a phase of this parity passes.
  bool passes(uint32_t parity) const { return (phase & 1) != (parity & 1); }

private:
  bool completeIfDone();
};

/// A numbered barrier (PTX ISA, "bar").
struct NumberedBarrier {
  int64_t threads = 0, arrived = 0;
  mlir::Operation *first = nullptr; ///< who has said how many threads
  View view;
  bool any = false;
  llvm::SmallVector<Warp *> waiting;
  uint64_t signals = 0; ///< a bit for each warp that has signalled in this phase
};

} // namespace attnc::interpreter

#endif
