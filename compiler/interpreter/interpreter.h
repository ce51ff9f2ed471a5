// The tile interpreter: runs tile.kernel on the processor with an adversarial order of warps,
// copies and products, and reports what the order of a real machine could break.
//
// A warp is the unit of interleaving, one op on shared memory or barriers its step. Every access to
// shared memory is checked against all others by vector clocks, so a missing wait or barrier is
// found whichever order the adversary happens to choose; the order decides which values are seen,
// which barriers pass, and whether the block deadlocks. docs/notes/tile-interpreter.md says what is
// modelled.
#ifndef ATTNC_COMPILER_INTERPRETER_INTERPRETER_H
#define ATTNC_COMPILER_INTERPRETER_INTERPRETER_H

#include "dialects/Tile/Tile.h"
#include "runtime/program/launch.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attnc::interpreter {

/// Memory that a kernel may access.
struct GlobalRange {
  std::string name;
  std::byte *data = nullptr;
  size_t bytes = 0;
  bool writable = false;
};

/// One launch. Pointers among the arguments point into `memory`.
struct Launch {
  std::vector<ArgValue> args;
  int64_t blocks = 1;
  std::vector<GlobalRange> memory;
  int64_t first = 0; ///< the number of the first block
};

struct KernelCode;

/// A kernel, translated once. The kernel's IR and its context must outlive it. Safe to run from
/// several threads.
class KernelInterpreter {
public:
  /// Error: an op that the interpreter does not know, or cannot execute where it stands. `text`, if
  /// given, is what the kernel was parsed from: errors then quote its lines.
  static llvm::Expected<KernelInterpreter> compile(tile::KernelOp kernel,
                                                   llvm::StringRef text = "");

  /// Runs all blocks, in an order of ops that `seed` chooses. The first seeds are extremes (all
  /// asynchronous ops as late as possible, each warp as far as it gets); the others are random.
  /// Error: blocks that do not fill their clusters, arguments that are not the kernel's, or the
  /// first fault, with the op, the warp and what was expected.
  llvm::Error run(const Launch &launch, uint64_t seed) const;

  /// False if all orders are the same: a kernel of single threads, which have nothing in common or
  /// only what barriers of the whole block order.
  bool hasOrders() const;

private:
  std::shared_ptr<const KernelCode> code;
};

} // namespace attnc::interpreter

#endif
